//! Brings a database to this version's schema. Runs as the schema's owner, on the database itself and not through a proxy.

use std::time::Duration;

use refinery::Target;
use serde::Serialize;

use crate::config::MigrationConfig;

use super::connector::{ConnectError, Connector, Login};
use super::database::DatabaseError;

mod embedded {
    refinery::embed_migrations!("../migrations");
}

/// The advisory lock that lets one migration run at a time.
const LOCK: i64 = 0x7061_796d_656e_7473;
/// The longest wait for the connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

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
    /// The settings are not usable.
    #[error("the settings do not describe a database")]
    Settings(#[from] DatabaseError),
    /// No connection.
    #[error("the database cannot be reached")]
    Connection(#[from] ConnectError),
    /// The lock could not be taken.
    #[error("the lock of the migrations cannot be taken")]
    Lock(#[from] tokio_postgres::Error),
    /// A migration failed, or an applied one differs from the embedded one.
    #[error("a migration failed")]
    Migration(#[from] refinery::Error),
}

/// Applies what is missing, up to [`MigrationConfig::up_to`]; a second run applies nothing. A schema that is newer than this version stays as it is: after
/// a rollback the older code runs on it.
///
/// # Errors
/// [`MigrationError`] when the database cannot be reached or a migration fails.
pub async fn run(config: &MigrationConfig) -> Result<Migrated, MigrationError> {
    let connector = Connector::new(&Login {
        url: &config.owner_url,
        variable: "OWNER_DATABASE_URL",
        iam_auth: config.iam_auth,
        region: config.region.as_deref(),
        ca_file: config.ca_file.as_deref(),
        connect_timeout: CONNECT_TIMEOUT,
        prepared_statements: false,
    })?;
    let mut session = connector.connect().await?;
    let target = if config.up_to == 0 { Target::Latest } else { Target::Version(config.up_to) };
    let migrated = migrate(&mut session.client, target).await;
    session.close().await;
    migrated
}

async fn migrate(client: &mut tokio_postgres::Client, target: Target) -> Result<Migrated, MigrationError> {
    client
        .execute_typed(include_str!("sql/lock_migrations.sql"), &[(&LOCK, tokio_postgres::types::Type::INT8)])
        .await?;
    let runner = embedded::migrations::runner().set_abort_missing(false).set_target(target);
    let report = runner.run_async(client).await?;
    let version = runner.get_last_applied_migration_async(client).await?;
    Ok(Migrated {
        applied: report.applied_migrations().iter().map(ToString::to_string).collect(),
        version: version.map_or(0, |migration| migration.version()),
    })
}
