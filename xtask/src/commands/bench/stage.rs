//! What the measurements stand on: release builds, one PostgreSQL with durable commits, the product's database and the
//! course's, accounts with money.

use std::path::PathBuf;

use anyhow::{Context, Result};
use payments::config::MigrationConfig;
use payments::repositories::migrations;
use tokio_postgres::Client;

use super::Pace;
use super::driver::Driver;
use crate::stack::ports;
use crate::stack::postgres::{self, Cluster, Postgres};
use crate::{fixtures, tools, workspace};

/// The stack whose logs folder is used.
pub(crate) const STACK: &str = "bench";
/// Clients, and connections to the database, of every load unless it says otherwise.
pub(crate) const CONNECTIONS: u32 = 50;
/// Connections that pgx opens by itself on a machine with up to four processors.
pub(crate) const PGX_DEFAULT: u32 = 4;
/// Accounts that a spread load pays from; account 0 beside them is the hot one.
pub(crate) const ACCOUNTS: u32 = 10_000;
/// Into how many slots the hot account's balance is split.
pub(crate) const HOT_ACCOUNT_SLOTS: u16 = 64;
/// Minor units of each account: more than any run pays.
const BALANCE: i64 = 1_000_000_000_000;
/// The product's database.
pub(crate) const DATABASE: &str = "payments";
/// The course's database.
const COURSE: &str = "course";

const PACKAGES: [&str; 5] = ["server", "create_payment", "driver", "course_flow", "hello_world"];

/// Everything that the measurements need, running.
pub(crate) struct Stage {
    /// How often and how long.
    pub(crate) pace: Pace,
    /// The load generator.
    pub(crate) driver: Driver,
    /// The server of both databases.
    pub(crate) postgres: Postgres,
    /// The server's port.
    pub(crate) port: u16,
    /// The server's version and place, for a person.
    pub(crate) origin: String,
    /// PostgreSQL's own load generator.
    pub(crate) pgbench: PathBuf,
    /// Where the release builds lie.
    pub(crate) release: PathBuf,
    /// The course's flow in Go.
    pub(crate) course_flow_go: PathBuf,
    /// A session of the owner of the product's database.
    pub(crate) owner: Client,
    /// The application role's URL of the product's database.
    pub(crate) app_url: String,
}

impl Stage {
    /// Builds, starts and fills everything.
    pub(crate) async fn start(pace: Pace) -> Result<Self> {
        println!("tools");
        let binaries = tools::postgres::provide_with_tls()?;
        let pgbench = tools::postgres::pgbench(&binaries)?;
        let release = build()?;
        let course_flow_go = release.join("course_flow_go");
        tools::go::build(&workspace::root().join("bench/course_flow_go"), &course_flow_go)?;
        println!("stack\n  {}", binaries.origin);
        let port = ports::free()?;
        let cluster = Cluster { name: "bench-postgres", stack: STACK, port, durable: true, keep: false };
        let mut postgres = Postgres::start(&binaries, &cluster).await?;
        settle(&mut postgres).await?;
        let app_url = create_database(&postgres, DATABASE).await?;
        create_course(&postgres).await?;
        let owner = postgres::connect(&postgres.url(DATABASE)).await?;
        println!("  {ACCOUNTS} accounts in each of two databases; fsync and synchronous_commit on");
        let driver = Driver { program: release.join("driver"), pace };
        let origin = binaries.origin;
        Ok(Self { pace, driver, postgres, port, origin, pgbench, release, course_flow_go, owner, app_url })
    }

    /// The owner's URL of the course's database.
    pub(crate) fn course_url(&self) -> String {
        self.postgres.url(COURSE)
    }
}

/// Release builds of all that is measured and of what measures it.
fn build() -> Result<PathBuf> {
    println!("release builds");
    let packages = PACKAGES.iter().flat_map(|package| ["--package", package]);
    workspace::build(std::iter::once("--release").chain(packages))?;
    Ok(workspace::target()?.join("release"))
}

/// No checkpoint in the middle of a measurement, and its pages written before it.
async fn settle(postgres: &mut Postgres) -> Result<()> {
    let owner = postgres::connect(&postgres.url("postgres")).await?;
    for setting in ["max_wal_size = '16GB'", "checkpoint_timeout = '1h'", "shared_buffers = '1GB'"] {
        owner.batch_execute(&format!("ALTER SYSTEM SET {setting}")).await?;
    }
    postgres.restart().await
}

/// A database with the product's schema, its tenant and its accounts; returns the application role's URL.
pub(crate) async fn create_database(postgres: &Postgres, name: &str) -> Result<String> {
    postgres.ensure_database(name).await?;
    let owner_url = postgres.url(name);
    migrations::run(&MigrationConfig::with_url(owner_url.clone())).await.context("cannot migrate the database")?;
    let owner = postgres::connect(&owner_url).await?;
    owner.batch_execute(&product_accounts()).await.context("cannot create the accounts")?;
    let split = format!("UPDATE accounts SET slots = {HOT_ACCOUNT_SLOTS} WHERE id = {}", account("0"));
    owner.batch_execute(&split).await.context("cannot split the hot account")?;
    owner.batch_execute("VACUUM ANALYZE").await?;
    fixtures::app_url(&owner, &owner_url, fixtures::APP_PASSWORD).await
}

async fn create_course(postgres: &Postgres) -> Result<()> {
    postgres.ensure_database(COURSE).await?;
    let owner = postgres::connect(&postgres.url(COURSE)).await?;
    let schema = std::fs::read_to_string(workspace::root().join("bench/course_flow/schema.sql"))?;
    owner.batch_execute(&schema).await?;
    let accounts = format!(
        "INSERT INTO accounts (id, currency, balance) SELECT {}, 'EUR', {BALANCE} FROM generate_series(0, {ACCOUNTS}) i",
        account("i")
    );
    owner.batch_execute(&accounts).await?;
    Ok(owner.batch_execute("VACUUM ANALYZE").await?)
}

fn product_accounts() -> String {
    let (tenant, first) = (tenant(), account("1"));
    format!(
        "INSERT INTO tenants (id, name) VALUES ({tenant}, 'bench');
         INSERT INTO signing_keys (tenant_id, version) VALUES ({tenant}, 1);
         INSERT INTO accounts (id, tenant_id, currency, balance)
             SELECT {}, {tenant}, 'EUR', {BALANCE} FROM generate_series(0, {ACCOUNTS}) i;
         UPDATE tenants SET default_account_id = {first} WHERE id = {tenant}",
        account("i")
    )
}

/// The id of an account in SQL, by the rule of the driver.
pub(crate) fn account(number: &str) -> String {
    format!("('00000000-0000-4000-8000-' || lpad(to_hex({number}::bigint), 12, '0'))::uuid")
}

/// The tenant's id in SQL.
pub(crate) fn tenant() -> String {
    account("281474976710655")
}

/// The recipient's id in SQL.
pub(crate) fn recipient() -> String {
    account("281474976710654")
}
