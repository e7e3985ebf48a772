//! A subject, running: the counter-example with its Redis, or the product's functions.
//!
//! Makes the same things happen to both: a process that dies, a Redis that forgets, a key that grows too old.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use payments::config::DatabaseConfig;
use payments::domain::Invocation;
use payments::repositories::{Database, PostgresLedger};
use payments::use_cases::PurgeKeys;
use tokio_postgres::Client;

use super::super::subjects::Subject;
use super::row_lock;
use crate::commands::lab::client::Wish;
use crate::commands::lab::stage::View;
use crate::stack::dual_write::{self, DualWrite};
use crate::stack::functions::{AuthMode, Functions, Options};
use crate::stack::ports;
use crate::stack::redis::Redis;

/// The name of the functions' sessions in the database.
const PRODUCT_SESSIONS: &str = "payments";
const POLL: Duration = Duration::from_millis(10);

/// Who pays.
pub(super) enum Actor<'a> {
    /// The server of `labs/dual_write`. It ends before its Redis does.
    CounterExample { server: Box<DualWrite>, redis: Box<Redis> },
    /// The product. It gets a Redis too, which it does not ask.
    Product { stage: &'a View<'a>, redis: Box<Redis> },
}

impl<'a> Actor<'a> {
    /// Starts the subject.
    pub(super) async fn start(stage: &'a View<'a>, subject: &Subject, key_ttl_ms: u64) -> Result<Self> {
        let stack = crate::commands::lab::stage::STACK;
        let redis = Box::new(Redis::start(&stage.tools.redis, stack).await?);
        let Some(flow) = subject.flow else {
            return Ok(Self::Product { stage, redis });
        };
        let options = dual_write::Options {
            stack,
            flow,
            database_url: stage.counter_example_url().await?,
            redis_url: redis.url(),
            key_ttl_ms,
            lock_ttl_ms: subject.lock_ttl_ms,
        };
        Ok(Self::CounterExample { server: Box::new(DualWrite::start(options).await?), redis })
    }

    pub(super) fn port(&self) -> u16 {
        match self {
            Self::CounterExample { server, .. } => server.port(),
            Self::Product { stage, .. } => stage.stack.parts.functions.port(),
        }
    }

    pub(super) fn base_url(&self) -> String {
        match self {
            Self::CounterExample { server, .. } => server.base_url(),
            Self::Product { stage, .. } => stage.stack.parts.functions.base_url().to_owned(),
        }
    }

    /// The name of its sessions in the database.
    pub(super) fn sessions(&self) -> &'static str {
        match self {
            Self::CounterExample { .. } => dual_write::NAME,
            Self::Product { .. } => PRODUCT_SESSIONS,
        }
    }

    /// Waits until none of its sessions works any more.
    pub(super) async fn until_idle(&self, ledger: &Client) -> Result<()> {
        let idle = "SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = $1 AND state <> 'idle'";
        row_lock::until(ledger, idle, &[&self.sessions()]).await
    }

    /// A process of the subject that may be killed: the server itself, or functions beside those that go on serving.
    pub(super) async fn victim(&mut self) -> Result<Victim<'_>> {
        match self {
            Self::CounterExample { server, redis } => Ok(Victim::Server { server, redis }),
            Self::Product { stage, .. } => Ok(Victim::Functions(Some(Box::new(another_host(stage).await?)))),
        }
    }

    /// Waits until Redis does not know the key, for at most `limit`.
    pub(super) async fn until_forgotten(&self, key: &str, limit: Duration) -> Result<()> {
        let (Self::CounterExample { redis, .. } | Self::Product { redis, .. }) = self;
        let deadline = Instant::now() + limit;
        while redis.knows(key).await? && Instant::now() < deadline {
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }

    /// Redis dies and comes back empty.
    pub(super) async fn lose_redis(&mut self) -> Result<()> {
        let (Self::CounterExample { redis, .. } | Self::Product { redis, .. }) = self;
        redis.crash_and_restart().await
    }

    /// Makes keys expire soon. The product's keys are aged instead, see [`Self::outlive`].
    pub(super) async fn shorten_memory(&mut self, key_ttl_ms: u64) -> Result<()> {
        match self {
            Self::CounterExample { server, .. } => server.restart_with_key_ttl(key_ttl_ms).await,
            Self::Product { .. } => Ok(()),
        }
    }

    /// Waits until the key is forgotten; the product's is made 31 days old and purged by the product's own purge.
    pub(super) async fn outlive(&self, wish: Wish) -> Result<()> {
        match self {
            Self::CounterExample { .. } => self.until_forgotten(&wish.key.to_string(), Duration::from_secs(5)).await,
            Self::Product { stage, .. } => purge(stage, wish).await,
        }
    }
}

/// The functions once more, on a host of their own.
async fn another_host(stage: &View<'_>) -> Result<Functions> {
    let options = Options {
        stack: "lab-crash",
        port: ports::free()?,
        concurrency: 1,
        database_url: stage.app_url().await?,
        owner_url: stage.stack.parts.database.owner_url(),
        auth_mode: AuthMode::Hmac,
    };
    Functions::start(&stage.tools.cargo_lambda, &options).await
}

async fn purge(stage: &View<'_>, wish: Wish) -> Result<()> {
    let age = "UPDATE idempotency_keys SET created_at = now() - interval '31 days' \
        WHERE payment_id IN (SELECT id FROM payments WHERE account_id = $1)";
    let aged = stage.stack.ledger.execute(age, &[&wish.account]).await?;
    ensure!(aged == 1, "{aged} keys instead of one");
    let config = DatabaseConfig::with_url(stage.app_url().await?, 1);
    let ledger = PostgresLedger::new(Database::new(&config)?);
    let purged = PurgeKeys::new(ledger).execute(&Invocation::new("lab".to_owned(), Duration::from_secs(10))).await?;
    ensure!(purged.keys >= 1, "the purge left the key");
    Ok(())
}

/// A process in the middle of a payment.
pub(super) enum Victim<'a> {
    Server { server: &'a mut DualWrite, redis: &'a Redis },
    Functions(Option<Box<Functions>>),
}

impl Victim<'_> {
    pub(super) fn base_url(&self) -> String {
        match self {
            Self::Server { server, .. } => server.base_url(),
            Self::Functions(host) => host.as_ref().map(|host| host.base_url().to_owned()).unwrap_or_default(),
        }
    }

    /// Holds the process up between its two writes. The product has one write only.
    pub(super) async fn pause_redis_writes(&self) -> Result<()> {
        match self {
            Self::Server { redis, .. } => redis.pause_writes().await,
            Self::Functions(_) => Ok(()),
        }
    }

    pub(super) async fn resume_redis(&self) -> Result<()> {
        match self {
            Self::Server { redis, .. } => redis.resume().await,
            Self::Functions(_) => Ok(()),
        }
    }

    /// Kills it.
    pub(super) fn crash(&mut self) {
        match self {
            Self::Server { server, .. } => server.crash(),
            Self::Functions(host) => host.take().into_iter().for_each(|host| host.crash()),
        }
    }

    /// Somebody starts it again; the product's other hosts have gone on serving.
    pub(super) async fn recover(&mut self) -> Result<()> {
        match self {
            Self::Server { server, .. } => server.restart().await,
            Self::Functions(_) => Ok(()),
        }
    }
}
