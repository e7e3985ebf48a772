//! A database for one test, cloned from a template that is migrated once.

use payments::config::{DatabaseConfig, MigrationConfig};
use payments::repositories::migrations::{self, Migrated};
use payments::repositories::{Database, PostgresLedger};
use tokio::sync::{Mutex, OnceCell};
use tokio_postgres::{Client, NoTls};
use uuid::Uuid;

use super::env;

/// One test's own database; dropped with the server that `cargo xtask test` started.
pub(crate) struct TestDatabase {
    name: String,
}

static TEMPLATE: OnceCell<String> = OnceCell::const_new();
/// Whose turn it is to migrate.
pub(crate) static MIGRATION: Mutex<()> = Mutex::const_new(());

impl TestDatabase {
    /// A fresh database with this version's schema.
    pub(crate) async fn new() -> Self {
        let template = TEMPLATE.get_or_init(create_template).await;
        Self::create(&format!("TEMPLATE {template}")).await
    }

    /// A fresh database without a schema.
    pub(crate) async fn empty() -> Self {
        Self::create("").await
    }

    async fn create(options: &str) -> Self {
        let name = format!("test_{}", Uuid::new_v4().simple());
        create(&name, options).await;
        Self { name }
    }

    /// The URL of the schema's owner.
    pub(crate) fn owner_url(&self) -> String {
        url(&self.name)
    }

    /// The URL that the functions use: the application's role, with its timeouts and privileges.
    pub(crate) fn app_url(&self) -> String {
        as_app(&self.owner_url())
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// A session of the schema's owner.
    pub(crate) async fn owner(&self) -> Client {
        connect(&self.owner_url()).await
    }

    /// A ledger with a pool of `connections`.
    pub(crate) fn ledger(&self, connections: usize) -> PostgresLedger {
        ledger_with(&config(self.app_url(), connections))
    }
}

/// The settings of the functions, with a pool of `connections`.
pub(crate) fn config(url: String, connections: usize) -> DatabaseConfig {
    DatabaseConfig::with_url(url, connections)
}

/// A ledger with these settings.
pub(crate) fn ledger_with(config: &DatabaseConfig) -> PostgresLedger {
    PostgresLedger::new(Database::new(config).unwrap())
}

/// Migrates a database. Roles belong to the whole server: one migration of this process at a time.
pub(crate) async fn migrate(url: &str) -> Migrated {
    let _turn = MIGRATION.lock().await;
    migrations::run(&owner(url)).await.unwrap()
}

/// The settings of a migration at that URL.
pub(crate) fn owner(url: &str) -> MigrationConfig {
    MigrationConfig::with_url(url.to_owned())
}

/// The same server and database, as the application's role.
pub(crate) fn as_app(url: &str) -> String {
    let mut app: url::Url = url.parse().unwrap();
    app.set_username("payments_app").unwrap();
    app.to_string()
}

/// A session at that URL.
pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn create_template() -> String {
    let name = format!("template_{}", Uuid::new_v4().simple());
    create(&name, "").await;
    migrate(&url(&name)).await;
    name
}

async fn create(name: &str, options: &str) {
    let server = connect(&env("TEST_DATABASE_URL")).await;
    server.batch_execute(&format!("CREATE DATABASE {name} {options}")).await.unwrap();
}

fn url(database: &str) -> String {
    let mut url: url::Url = env("TEST_DATABASE_URL").parse().unwrap();
    url.set_path(database);
    url.to_string()
}
