//! A database with an archetype's schema, the payments' executor on it, and a lock that lines rivals up.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use payments::config::DatabaseConfig;
use payments::domain::Invocation;
use payments::repositories::{Database, Executor, IdempotentOperation, Settled};
use tokio_postgres::{Client, NoTls};
use uuid::Uuid;

/// How many run at once in a race.
pub(crate) const RIVALS: i64 = 20;

/// One test's own database.
pub(crate) struct Stage {
    pub(crate) executor: Executor,
    pub(crate) owner: Client,
    url: String,
}

/// What one execution gave, and the statements that it took.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Execution<A> {
    pub(crate) settled: Settled<A>,
    pub(crate) round_trips: u32,
}

impl Stage {
    /// A fresh database with that schema, and a bounded wait for rivals as the payments' role has it.
    pub(crate) async fn new(schema: &str) -> Self {
        let server = std::env::var("TEST_DATABASE_URL")
            .unwrap_or_else(|_| panic!("TEST_DATABASE_URL is not set: run the tests with `cargo xtask test`"));
        let name = format!("test_{}", Uuid::new_v4().simple());
        let sql = format!("CREATE DATABASE {name}");
        connect(&server).await.batch_execute(&sql).await.unwrap();
        let mut url: url::Url = server.parse().unwrap();
        url.set_path(&name);
        let owner = connect(url.as_str()).await;
        let sql = format!("{schema}; ALTER DATABASE {name} SET lock_timeout = '2s'");
        owner.batch_execute(&sql).await.unwrap();
        Self { executor: executor(url.as_str()), owner, url: url.to_string() }
    }

    /// Runs one operation.
    pub(crate) async fn run<O: IdempotentOperation>(&self, operation: &O) -> Execution<O::Answer> {
        let invocation = Invocation::new("test".to_owned(), Duration::from_secs(20));
        let settled = self.executor.execute(operation, &invocation).await.unwrap();
        Execution { settled, round_trips: invocation.round_trips() }
    }

    /// Runs one operation that is expected to settle.
    pub(crate) async fn settle<O: IdempotentOperation>(&self, operation: &O) -> O::Answer
    where
        O::Answer: Debug,
    {
        match self.run(operation).await.settled {
            Settled::Done(answer) => answer,
            Settled::Busy => panic!("busy"),
        }
    }

    /// Runs all of them at once.
    pub(crate) async fn settle_all<O: IdempotentOperation>(&self, operations: &[O]) -> Vec<O::Answer>
    where
        O::Answer: Debug,
    {
        join_all(operations.iter().map(|operation| self.settle(operation))).await
    }

    /// Runs all of them at once, while a lock that `lock` takes keeps each from its end until all have begun: every loser's
    /// snapshot is then older than the winner's commit.
    pub(crate) async fn race<O: IdempotentOperation>(&self, lock: &str, operations: &[O]) -> Vec<Execution<O::Answer>> {
        let mut holder = connect(&self.url).await;
        let held = holder.transaction().await.unwrap();
        held.batch_execute(lock).await.unwrap();
        let release = async {
            self.until_waiting(i64::try_from(operations.len()).unwrap()).await;
            held.rollback().await.unwrap();
        };
        let all = join_all(operations.iter().map(|operation| self.run(operation)));
        futures_util::join!(all, release).0
    }

    /// Waits until so many sessions wait for a lock.
    pub(crate) async fn until_waiting(&self, sessions: i64) {
        let sql =
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.number(sql).await < sessions {
            assert!(Instant::now() < deadline, "waited in vain for {sessions} sessions to wait");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Forbids the planner some of its ways, in sessions that begin from now on: any order of rows is a legal one.
    pub(crate) async fn plan_without(&self, switches: &[&str]) {
        let name = url::Url::parse(&self.url).unwrap().path().trim_start_matches('/').to_owned();
        for switch in switches {
            let sql = format!("ALTER DATABASE {name} SET {switch} = off");
            self.owner.batch_execute(&sql).await.unwrap();
        }
    }

    /// A second session of the owner.
    pub(crate) async fn second_session(&self) -> Client {
        connect(&self.url).await
    }

    /// The one number that a query gives.
    pub(crate) async fn number(&self, sql: &str) -> i64 {
        self.owner.query_one(sql, &[]).await.unwrap().get(0)
    }
}

fn executor(url: &str) -> Executor {
    let pool_size = usize::try_from(RIVALS).unwrap();
    let config = DatabaseConfig { connect_timeout_ms: 5_000, ..DatabaseConfig::with_url(url.to_owned(), pool_size) };
    Executor::new(Database::new(&config).unwrap())
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}
