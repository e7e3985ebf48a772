//! Brings a database to this version's schema. Runs as the schema's owner, on the database itself and not through a proxy.

use serde::Serialize;
use tokio_postgres::NoTls;

mod embedded {
    refinery::embed_migrations!("../migrations");
}

/// The advisory lock that lets one migration run at a time.
const LOCK: i64 = 0x7061_796d_656e_7473;

/// What a migration did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Migrated {
    /// The migrations that this run applied, in order.
    pub applied: Vec<String>,
    /// The version of the schema now.
    pub version: i32,
}

/// The database could not be migrated. Each migration is a transaction: those before the failed one stay applied.
#[derive(Debug, thiserror::Error)]
pub enum MigrationError {
    /// No connection, or the lock could not be taken.
    #[error("the database cannot be reached")]
    Database(#[from] tokio_postgres::Error),
    /// A migration failed, or an applied one differs from the embedded one.
    #[error("a migration failed")]
    Migration(#[from] refinery::Error),
}

/// Applies what is missing; a second run applies nothing.
///
/// # Errors
/// [`MigrationError`] when the database cannot be reached or a migration fails.
pub async fn run(database_url: &str) -> Result<Migrated, MigrationError> {
    let (mut client, connection) = tokio_postgres::connect(database_url, NoTls).await?;
    let driver = tokio::spawn(connection);
    let migrated = migrate(&mut client).await;
    drop(client);
    // The connection ends with its client; what it says on the way is no news after the result.
    let _ = driver.await;
    migrated
}

async fn migrate(client: &mut tokio_postgres::Client) -> Result<Migrated, MigrationError> {
    client
        .execute_typed(include_str!("sql/lock_migrations.sql"), &[(&LOCK, tokio_postgres::types::Type::INT8)])
        .await?;
    let report = embedded::migrations::runner().run_async(client).await?;
    let version = embedded::migrations::runner().get_last_applied_migration_async(client).await?;
    Ok(Migrated {
        applied: report.applied_migrations().iter().map(ToString::to_string).collect(),
        version: version.map_or(0, |migration| migration.version()),
    })
}
