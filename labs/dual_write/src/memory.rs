//! What Redis remembers: which key led to which payment, and who holds a lock. Knows no money.

use std::time::Duration;

use anyhow::{Context as _, Result};
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::cmd;
use uuid::Uuid;

/// The longest wait for Redis.
const LIMIT: Duration = Duration::from_secs(2);

/// Deletes a lock only while it is still the caller's: the form that Redis' own documentation recommends.
const RELEASE: &str = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

/// A Redis server; the connection is made again when it is lost.
pub(crate) struct Memory {
    connection: ConnectionManager,
}

impl Memory {
    /// Connects.
    pub(crate) async fn connect(url: &str) -> Result<Self> {
        let config =
            ConnectionManagerConfig::new().set_response_timeout(Some(LIMIT)).set_connection_timeout(Some(LIMIT));
        let client = redis::Client::open(url).context("REDIS_URL is not usable")?;
        let connection = client.get_connection_manager_with_config(config).await.context("no connection to Redis")?;
        Ok(Self { connection })
    }

    /// `GET key`
    pub(crate) async fn payment_of(&self, key: &str) -> Result<Option<Uuid>> {
        let found: Option<String> = cmd("GET").arg(key).query_async(&mut self.connection.clone()).await?;
        found.map(|text| text.parse().context("Redis holds no payment id under the key")).transpose()
    }

    /// `SET key payment PX ttl`
    pub(crate) async fn remember(&self, key: &str, payment: Uuid, ttl_ms: u64) -> Result<()> {
        let mut set = cmd("SET");
        set.arg(key).arg(payment.to_string()).arg("PX").arg(ttl_ms);
        Ok(set.query_async(&mut self.connection.clone()).await?)
    }

    /// `SET key value NX PX ttl`. False: somebody else was first.
    pub(crate) async fn remember_first(&self, key: &str, value: Uuid, ttl_ms: u64) -> Result<bool> {
        let mut set = cmd("SET");
        set.arg(key).arg(value.to_string()).arg("NX").arg("PX").arg(ttl_ms);
        let set: Option<String> = set.query_async(&mut self.connection.clone()).await?;
        Ok(set.is_some())
    }

    /// `DEL key`
    pub(crate) async fn forget(&self, key: &str) -> Result<()> {
        Ok(cmd("DEL").arg(key).query_async(&mut self.connection.clone()).await?)
    }

    /// Releases the lock if its holder is still `token`.
    pub(crate) async fn release(&self, lock: &str, token: Uuid) -> Result<()> {
        let mut eval = cmd("EVAL");
        eval.arg(RELEASE).arg(1).arg(lock).arg(token.to_string());
        Ok(eval.query_async(&mut self.connection.clone()).await?)
    }
}
