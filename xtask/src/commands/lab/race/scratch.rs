//! A database for the scenes: the product's schema, and beside it the few tables of a payment as it is often written.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use payments::config::MigrationConfig;
use payments::repositories::migrations;
use tokio_postgres::{Client, Error};
use uuid::Uuid;

use crate::stack::postgres;

/// Minor units of each payment.
pub(super) const AMOUNT: i64 = 2500;
/// Minor units before each scene: enough for every debit of it.
const BALANCE: i64 = 10_000;
const LIMIT: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(5);

const TABLES: &str = "CREATE SCHEMA race;
    CREATE TABLE race.accounts (
        balance bigint NOT NULL CONSTRAINT accounts_balance_not_negative CHECK (balance >= 0));
    CREATE TABLE race.payments (
        id uuid CONSTRAINT payments_pkey PRIMARY KEY,
        invoice text NOT NULL CONSTRAINT payments_invoice_key UNIQUE);
    CREATE TABLE race.keys (
        key uuid CONSTRAINT keys_pkey PRIMARY KEY,
        payment_id uuid NOT NULL);
    INSERT INTO race.accounts VALUES (0)";

/// The database.
pub(super) struct Scratch {
    server_url: String,
    name: String,
    /// The owner's URL.
    pub(super) url: String,
    /// Looks at the workers from outside.
    pub(super) observer: Client,
}

impl Scratch {
    /// Creates it on the server of that URL.
    pub(super) async fn create(server_url: &str) -> Result<Self> {
        let name = format!("lab_race_{}", Uuid::new_v4().simple());
        let server = postgres::connect(server_url).await?;
        server.batch_execute(&format!("CREATE DATABASE {name}")).await?;
        let (base, _) = server_url.rsplit_once('/').context("the database's URL names no database")?;
        let url = format!("{base}/{name}");
        migrations::run(&MigrationConfig::with_url(url.clone())).await.context("cannot migrate the lab's database")?;
        let observer = postgres::connect(&url).await?;
        observer.batch_execute(TABLES).await?;
        Ok(Self { server_url: server_url.to_owned(), name, url, observer })
    }

    /// Removes it.
    pub(super) async fn drop(self) -> Result<()> {
        drop(self.observer);
        let server = postgres::connect(&self.server_url).await?;
        Ok(server.batch_execute(&format!("DROP DATABASE {} WITH (FORCE)", self.name)).await?)
    }

    /// Empty tables, a full account and two fresh workers.
    pub(super) async fn set_up(&self) -> Result<(Worker, Worker)> {
        self.observer.batch_execute("TRUNCATE race.keys, race.payments").await?;
        self.observer.execute("UPDATE race.accounts SET balance = $1", &[&BALANCE]).await?;
        Ok((Worker::connect(&self.url).await?, Worker::connect(&self.url).await?))
    }

    /// Debits since the scene was set up.
    pub(super) async fn debits(&self) -> Result<i64> {
        self.debits_from(BALANCE).await
    }

    /// Debits since there was so much in the account.
    pub(super) async fn debits_from(&self, before: i64) -> Result<i64> {
        let balance: i64 = self.observer.query_one("SELECT balance FROM race.accounts", &[]).await?.try_get(0)?;
        Ok((before - balance) / AMOUNT)
    }

    /// Leaves so much in the account.
    pub(super) async fn leave(&self, balance: i64) -> Result<()> {
        self.observer.execute("UPDATE race.accounts SET balance = $1", &[&balance]).await?;
        Ok(())
    }

    /// Waits until one session is held up by the other, and says how PostgreSQL calls that.
    pub(super) async fn until_blocked(&self, waiting: i32, by: i32) -> Result<String> {
        let question = "SELECT 'waits for A (' || wait_event || ')' FROM pg_stat_activity \
            WHERE pid = $1 AND wait_event_type = 'Lock' AND $2 = ANY (pg_blocking_pids(pid))";
        let deadline = Instant::now() + LIMIT;
        loop {
            if let Some(row) = self.observer.query_opt(question, &[&waiting, &by]).await? {
                return Ok(row.try_get(0)?);
            }
            ensure!(Instant::now() < deadline, "session {waiting} does not wait for {by}");
            tokio::time::sleep(POLL).await;
        }
    }

    /// Waits for the one session that waits for this kind of lock.
    pub(super) async fn until_waiting(&self, event: &str) -> Result<i32> {
        let question = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() \
            AND wait_event_type = 'Lock' AND wait_event = $1";
        let deadline = Instant::now() + LIMIT;
        loop {
            if let Some(row) = self.observer.query_opt(question, &[&event]).await? {
                return Ok(row.try_get(0)?);
            }
            ensure!(Instant::now() < deadline, "no session waits for a lock of kind {event}");
            tokio::time::sleep(POLL).await;
        }
    }
}

/// A worker with its own session.
pub(super) struct Worker {
    /// The session; shared with the task of a statement that waits.
    pub(super) session: Arc<Client>,
    /// The session's process in PostgreSQL.
    pub(super) pid: i32,
}

impl Worker {
    async fn connect(url: &str) -> Result<Self> {
        let session = postgres::connect(url).await?;
        session.batch_execute("SET search_path = race").await?;
        let pid = session.query_one("SELECT pg_backend_pid()", &[]).await?.try_get(0)?;
        Ok(Self { session: Arc::new(session), pid })
    }

    /// A statement without parameters and rows, such as BEGIN.
    pub(super) async fn says(&self, statement: &str) -> String {
        outcome(self.session.batch_execute(statement).await.map(|()| None))
    }

    /// `INSERT` of the key. `tail` may say what a conflict does.
    pub(super) async fn claim(&self, key: Uuid, payment: Uuid, tail: &str) -> String {
        claim(&self.session, key, payment, tail).await
    }

    /// The same, while a rival holds the key: goes on in the background.
    pub(super) fn claim_later(&self, key: Uuid, payment: Uuid, tail: &'static str) -> tokio::task::JoinHandle<String> {
        let session = Arc::clone(&self.session);
        tokio::spawn(async move { claim(&session, key, payment, tail).await })
    }

    /// Takes the money.
    pub(super) async fn debit(&self) -> String {
        let rows = self.session.execute("UPDATE accounts SET balance = balance - $1", &[&AMOUNT]).await;
        outcome(rows.map(Some))
    }

    /// Records the payment.
    pub(super) async fn insert_payment(&self, payment: Uuid, invoice: &str) -> String {
        let rows = self.session.execute("INSERT INTO payments VALUES ($1, $2)", &[&payment, &invoice]).await;
        outcome(rows.map(Some))
    }

    /// `SELECT` by key: `payment P`, `0 rows`, or an error's code.
    pub(super) async fn look_up(&self, key: Uuid, p: Uuid) -> String {
        match self.session.query_opt("SELECT payment_id FROM keys WHERE key = $1", &[&key]).await {
            Ok(Some(row)) if row.try_get::<_, Uuid>(0).is_ok_and(|found| found == p) => "payment P".to_owned(),
            Ok(Some(_)) => "another payment".to_owned(),
            Ok(None) => "0 rows".to_owned(),
            Err(error) => outcome(Err(error)),
        }
    }
}

async fn claim(session: &Client, key: Uuid, payment: Uuid, tail: &str) -> String {
    let statement = format!("INSERT INTO keys VALUES ($1, $2) {tail}");
    outcome(session.execute(&statement, &[&key, &payment]).await.map(Some))
}

/// `ok`, `1 row`, `0 rows`, or the SQLSTATE with the constraint that an error names.
fn outcome(result: Result<Option<u64>, Error>) -> String {
    match result {
        Ok(None) => "ok".to_owned(),
        Ok(Some(1)) => "1 row".to_owned(),
        Ok(Some(rows)) => format!("{rows} rows"),
        Err(error) => match error.as_db_error() {
            Some(error) => match error.constraint() {
                Some(constraint) => format!("{} on {constraint}", error.code().code()),
                None => error.code().code().to_owned(),
            },
            None => error.to_string(),
        },
    }
}
