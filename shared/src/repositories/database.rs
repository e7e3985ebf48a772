//! Connections and single statements: pooled, bounded in time, one round trip each.

use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime, Timeouts};
use tokio::time::timeout;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{NoTls, Row};

use crate::config::DatabaseConfig;
use crate::domain::Invocation;

use super::failure::Failure;

/// With less time than this left, nothing is started: the answer could not be waited for.
const FLOOR: Duration = Duration::from_millis(500);
/// Kept back from every wait, so that the answer still reaches the client.
const RESERVE: Duration = Duration::from_millis(250);
/// A peer that acknowledges nothing for this long is gone; without it a half-open connection hangs for minutes.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(3);

/// Parameters and their types, in the order of their numbers.
pub type Typed<'a> = Vec<(&'a (dyn ToSql + Sync), Type)>;

/// A statement and its typed parameters.
pub struct Statement<'a> {
    /// One SQL statement. It returns built-in types only: any other type costs a round trip to ask for its definition.
    pub sql: &'static str,
    /// The values of `$1`, `$2`, … with their types.
    pub parameters: Typed<'a>,
}

/// A PostgreSQL database, reached through a pool that connects when it is first asked.
#[derive(Clone, Debug)]
pub struct Database {
    pool: Pool,
    statement_timeout: Duration,
}

/// The settings do not describe a database.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// The URL is not a libpq connection URL.
    #[error("DATABASE_URL is not a PostgreSQL connection URL")]
    Url(#[source] tokio_postgres::Error),
    /// The pool cannot be built.
    #[error("the connection pool cannot be built")]
    Pool(#[source] deadpool_postgres::BuildError),
}

impl Database {
    /// A database that is not connected yet: one that is down must not stop the process from starting.
    ///
    /// # Errors
    /// [`DatabaseError`] when the settings are not usable.
    pub fn new(config: &DatabaseConfig) -> Result<Self, DatabaseError> {
        let connect_timeout = Duration::from_millis(config.connect_timeout_ms);
        let mut postgres: tokio_postgres::Config = config.url.parse().map_err(DatabaseError::Url)?;
        postgres.connect_timeout(connect_timeout).tcp_user_timeout(TCP_USER_TIMEOUT).application_name("payments");
        let manager = Manager::from_config(postgres, NoTls, ManagerConfig { recycling_method: RecyclingMethod::Fast });
        let pool = Pool::builder(manager)
            .max_size(config.pool_size)
            .runtime(Runtime::Tokio1)
            .timeouts(Timeouts {
                wait: Some(connect_timeout),
                create: Some(connect_timeout),
                recycle: Some(connect_timeout),
            })
            .build()
            .map_err(DatabaseError::Pool)?;
        Ok(Self { pool, statement_timeout: Duration::from_millis(config.statement_timeout_ms) })
    }

    /// Runs one statement as its own transaction, in one round trip.
    ///
    /// The statement is unnamed and its types are given, so it works through a transaction-pooling proxy.
    pub(super) async fn run(&self, statement: &Statement<'_>, invocation: &Invocation) -> Result<Vec<Row>, Failure> {
        let bound = |limit: Duration| {
            let left = invocation.remaining();
            if left < FLOOR { Err(Failure::NoTime) } else { Ok(limit.min(left.saturating_sub(RESERVE))) }
        };
        let connection = timeout(bound(Duration::MAX)?, self.pool.get())
            .await
            .map_err(|_| Failure::NoTime)?
            .map_err(Failure::NoConnection)?;
        let lease = Lease(Some(connection));
        let limit = bound(self.statement_timeout)?;
        invocation.count_round_trip();
        let result = timeout(limit, lease.query(statement)).await.unwrap_or(Err(Failure::TimedOut));
        if !matches!(&result, Err(failure) if failure.spoils_connection()) {
            lease.give_back();
        }
        result
    }

    /// Closes the idle connections: after a failover or a restart they all lead to the same dead end.
    pub(super) fn discard_idle_connections(&self) {
        self.pool.retain(|_, _| false);
    }
}

/// A connection on loan. It is closed unless it is given back: after a timeout, a panic or a dropped future
/// nobody knows what is still to come on it.
struct Lease(Option<Object>);

impl Lease {
    async fn query(&self, statement: &Statement<'_>) -> Result<Vec<Row>, Failure> {
        match &self.0 {
            Some(connection) => {
                connection.query_typed(statement.sql, &statement.parameters).await.map_err(Failure::Statement)
            }
            None => Err(Failure::NoTime),
        }
    }

    fn give_back(mut self) {
        drop(self.0.take());
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(connection) = self.0.take() {
            drop(Object::take(connection));
        }
    }
}
