//! Connections and single statements: pooled, bounded in time, one round trip each.

use std::fmt;
use std::time::{Duration, Instant};

use deadpool::Runtime;
use deadpool::managed::{self, Object, Timeouts};
use tokio::time::timeout;
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use crate::config::DatabaseConfig;
use crate::domain::Invocation;

use super::connector::{Connector, Login, Sessions};
use super::failure::Failure;
use super::password::PasswordSource;

/// With less time than this left, nothing is started: the answer could not be waited for.
const FLOOR: Duration = Duration::from_millis(500);
/// Kept back from every wait, so that the answer still reaches the client.
const RESERVE: Duration = Duration::from_millis(250);

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
#[derive(Clone)]
pub struct Database {
    pool: managed::Pool<Sessions>,
    statement_timeout: Duration,
    prepared_statements: bool,
}

impl fmt::Debug for Database {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The pool knows a password.
        formatter.debug_struct("Database").field("pool", &self.pool.status()).finish_non_exhaustive()
    }
}

/// The settings do not describe a database.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// The URL is not a libpq connection URL.
    #[error("the database URL is not a PostgreSQL connection URL")]
    Url(#[source] tokio_postgres::Error),
    /// `sslmode=disable` beside IAM tokens.
    #[error("an IAM token must not travel in clear: sslmode=disable cannot be used with it")]
    TokenInClear,
    /// A token is signed for one host name, a port and a user.
    #[error("an IAM token needs a database URL with one host name and a user")]
    TokenTarget,
    /// A token is signed for a region.
    #[error("an IAM token needs AWS_REGION")]
    Region,
    /// The file with further roots cannot be read.
    #[error("DATABASE_CA_FILE cannot be read")]
    CaFile(#[source] std::io::Error),
    /// The roots, or the TLS library, cannot be used.
    #[error("the trusted certificates cannot be used")]
    Certificates(#[source] native_tls::Error),
    /// The pool cannot be built.
    #[error("the connection pool cannot be built")]
    Pool(#[source] managed::BuildError),
}

impl Database {
    /// A database that is not connected yet: one that is down must not stop the process from starting.
    ///
    /// # Errors
    /// [`DatabaseError`] when the settings are not usable.
    pub fn new(config: &DatabaseConfig) -> Result<Self, DatabaseError> {
        Self::with_connector(config, Connector::new(&login(config))?)
    }

    /// The same, with a password from elsewhere for each connection.
    ///
    /// # Errors
    /// [`DatabaseError`] when the settings are not usable.
    pub fn with_passwords(config: &DatabaseConfig, passwords: PasswordSource) -> Result<Self, DatabaseError> {
        Self::with_connector(config, Connector::new(&login(config))?.with_passwords(passwords))
    }

    fn with_connector(config: &DatabaseConfig, connector: Connector) -> Result<Self, DatabaseError> {
        let check_after = Duration::from_millis(config.idle_check_ms);
        let connect_timeout = Duration::from_millis(config.connect_timeout_ms);
        let pool = managed::Pool::builder(Sessions { connector, check_after })
            .max_size(config.pool_size)
            .runtime(Runtime::Tokio1)
            // The manager bounds creating and checking itself.
            .timeouts(Timeouts { wait: Some(connect_timeout), create: None, recycle: None })
            .build()
            .map_err(DatabaseError::Pool)?;
        Ok(Self {
            pool,
            statement_timeout: Duration::from_millis(config.statement_timeout_ms),
            prepared_statements: config.prepared_statements,
        })
    }

    /// Runs one statement as its own transaction, in one round trip.
    pub(super) async fn run(&self, statement: &Statement<'_>, invocation: &Invocation) -> Result<Vec<Row>, Failure> {
        let bound = |limit: Duration| {
            let left = invocation.remaining();
            if left < FLOOR { Err(Failure::NoTime) } else { Ok(limit.min(left.saturating_sub(RESERVE))) }
        };
        let waiting = Instant::now();
        let connection = timeout(bound(Duration::MAX)?, self.pool.get()).await;
        invocation.add_pool_wait(waiting.elapsed());
        let connection = connection.map_err(|_| Failure::NoTime)?.map_err(Failure::no_connection)?;
        let mut lease = Lease(Some(connection));
        let limit = bound(self.statement_timeout)?;
        let query = lease.query(statement, self.prepared_statements, invocation);
        let result = timeout(limit, query).await.unwrap_or(Err(Failure::TimedOut));
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

fn login(config: &DatabaseConfig) -> Login<'_> {
    Login {
        url: &config.url,
        iam_auth: config.iam_auth,
        region: config.region.as_deref(),
        ca_file: config.ca_file.as_deref(),
        connect_timeout: Duration::from_millis(config.connect_timeout_ms),
    }
}

/// A connection on loan. It is closed unless it is given back: after a timeout, a panic or a dropped future
/// nobody knows what is still to come on it.
struct Lease(Option<Object<Sessions>>);

impl Lease {
    async fn query(
        &mut self,
        statement: &Statement<'_>,
        prepared: bool,
        invocation: &Invocation,
    ) -> Result<Vec<Row>, Failure> {
        let Some(connection) = &mut self.0 else {
            return Err(Failure::NoTime);
        };
        let rows = if prepared {
            connection.query_prepared(statement, invocation).await
        } else {
            connection.query_unnamed(statement, invocation).await
        };
        rows.map_err(Failure::statement)
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
