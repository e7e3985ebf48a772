//! Opens connections to PostgreSQL, and keeps those of the pool usable. Each is encrypted as its URL demands, has a
//! password of its own, and notices a peer that is gone.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use deadpool::managed::{Manager, Metrics, RecycleError, RecycleResult};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, Config, NoTls, Row};

use crate::domain::Invocation;

use super::database::{DatabaseError, Statement};
use super::password::{self, PasswordSource};
use super::tls::{self, Encryption};

/// A peer that acknowledges nothing for this long is gone; without it a half-open connection hangs for minutes.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(3);
/// An idle connection is probed after this long, so that a NAT or a proxy in between does not forget it.
const KEEPALIVE: Duration = Duration::from_secs(30);
/// The longest wait for the answer of a connection that was idle. One that is alive answers within milliseconds.
const CHECK_TIMEOUT: Duration = Duration::from_secs(1);
/// For prepared statements: one plan for all parameters. By itself PostgreSQL may go on planning each call, for an estimate
/// that is no better in a statement which reads by primary key alone.
/// <https://www.postgresql.org/docs/current/runtime-config-query.html#GUC-PLAN-CACHE-MODE>
const KEEP_PLANS: &str = "-c plan_cache_mode=force_generic_plan";

/// Where and how to log in.
pub(super) struct Login<'a> {
    pub(super) url: &'a str,
    /// The variable that holds the URL, for whoever has to mend it.
    pub(super) variable: &'static str,
    pub(super) iam_auth: bool,
    pub(super) region: Option<&'a str>,
    pub(super) ca_file: Option<&'a Path>,
    pub(super) connect_timeout: Duration,
    pub(super) prepared_statements: bool,
}

/// No connection could be opened.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// No password could be made.
    #[error("no token for the database could be signed")]
    Password(#[source] Box<dyn Error + Send + Sync>),
    /// The TLS library cannot be used.
    #[error("connections cannot be encrypted")]
    Encryption(#[source] native_tls::Error),
    /// The server was not reached, is not who it should be, does not encrypt, or refused the login.
    #[error("no session with the database")]
    Session(#[source] tokio_postgres::Error),
    /// All of it took too long.
    #[error("connecting took too long")]
    TimedOut,
}

/// Opens connections.
pub(super) struct Connector {
    config: Config,
    encryption: Option<Encryption>,
    passwords: Option<PasswordSource>,
    connect_timeout: Duration,
}

/// An open connection. Dropping it closes the socket at once, whatever the server still has to say.
pub(super) struct Session {
    pub(super) client: Client,
    driver: JoinSet<()>,
    /// What was prepared on this connection, by its text: a handful.
    prepared: Vec<(&'static str, tokio_postgres::Statement)>,
}

impl Connector {
    /// A connector for a login. Opens nothing yet.
    pub(super) fn new(login: &Login<'_>) -> Result<Self, DatabaseError> {
        let mut config = parse(login)?;
        tls::settle(&mut config, login.iam_auth)?;
        config
            .application_name("payments")
            .connect_timeout(login.connect_timeout)
            .tcp_user_timeout(TCP_USER_TIMEOUT)
            .keepalives_idle(KEEPALIVE)
            .keepalives_interval(TCP_USER_TIMEOUT)
            .keepalives_retries(2);
        if login.prepared_statements {
            let options =
                config.get_options().map_or_else(|| KEEP_PLANS.to_owned(), |own| format!("{KEEP_PLANS} {own}"));
            config.options(options);
        }
        let encryption = match config.get_ssl_mode() {
            SslMode::Disable => None,
            _ => Some(Encryption::new(&config, login.ca_file)?),
        };
        let passwords = if login.iam_auth { Some(password::iam_tokens(&config, login.region)?) } else { None };
        Ok(Self { config, encryption, passwords, connect_timeout: login.connect_timeout })
    }

    /// The same connector with other passwords.
    pub(super) fn with_passwords(self, passwords: PasswordSource) -> Self {
        Self { passwords: Some(passwords), ..self }
    }

    /// Opens a connection, within the connector's time.
    pub(super) async fn connect(&self) -> Result<Session, ConnectError> {
        // Boxed, so that every statement's future is not as large as a handshake's.
        timeout(self.connect_timeout, Box::pin(self.open())).await.unwrap_or(Err(ConnectError::TimedOut))
    }

    async fn open(&self) -> Result<Session, ConnectError> {
        let mut config = self.config.clone();
        if let Some(passwords) = &self.passwords {
            config.password(passwords().await.map_err(ConnectError::Password)?);
        }
        let mut driver = JoinSet::new();
        let client = if let Some(encryption) = &self.encryption {
            let tls = encryption.connector().await.map_err(ConnectError::Encryption)?;
            let (client, connection) = config.connect(tls).await.map_err(ConnectError::Session)?;
            driver.spawn(drive(connection));
            client
        } else {
            let (client, connection) = config.connect(NoTls).await.map_err(ConnectError::Session)?;
            driver.spawn(drive(connection));
            client
        };
        Ok(Session { client, driver, prepared: Vec::new() })
    }
}

/// A URL without a host or a user is refused here: it would be well formed, and no connection would ever come about.
fn parse(login: &Login<'_>) -> Result<Config, DatabaseError> {
    // The reason is not kept: it may quote a piece of the URL, and so of a password.
    let config: Config = login.url.parse().map_err(|_| DatabaseError::Url(login.variable))?;
    let has_host = !config.get_hosts().is_empty() || !config.get_hostaddrs().is_empty();
    if has_host && config.get_user().is_some_and(|user| !user.is_empty()) {
        Ok(config)
    } else {
        Err(DatabaseError::Url(login.variable))
    }
}

async fn drive(connection: impl Future<Output = Result<(), tokio_postgres::Error>>) {
    if let Err(error) = connection.await {
        tracing::warn!(cause = ?error, "a database connection broke");
    }
}

impl Session {
    /// Runs a statement as its own transaction, unnamed and with given types: one round trip, through any proxy.
    pub(super) async fn query_unnamed(
        &self,
        statement: &Statement<'_>,
        invocation: &Invocation,
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        invocation.count_round_trip();
        self.client.query_typed(statement.sql, &statement.parameters).await
    }

    /// Runs a statement as its own transaction, by the name under which this connection knows it; preparing it costs a
    /// round trip once.
    pub(super) async fn query_prepared(
        &mut self,
        statement: &Statement<'_>,
        invocation: &Invocation,
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        let known = self.prepared.iter().find(|(sql, _)| std::ptr::eq(*sql, statement.sql));
        let prepared = if let Some((_, prepared)) = known {
            prepared.clone()
        } else {
            invocation.count_round_trip();
            let types: Vec<_> = statement.parameters.iter().map(|(_, of)| of.clone()).collect();
            let prepared = self.client.prepare_typed(statement.sql, &types).await?;
            self.prepared.push((statement.sql, prepared.clone()));
            prepared
        };
        let values: Vec<_> = statement.parameters.iter().map(|(value, _)| *value).collect();
        invocation.count_round_trip();
        self.client.query(&prepared, &values).await
    }

    /// Says good-bye and waits until the server has heard it.
    pub(super) async fn close(self) {
        let Self { client, mut driver, .. } = self;
        drop(client);
        driver.join_next().await;
    }
}

/// Opens the connections of a pool, and looks after those that were idle.
pub(super) struct Sessions {
    pub(super) connector: Connector,
    /// A connection that was idle for this long has to prove that it is alive: a frozen process notices neither a
    /// restart of the database nor a time-out in between.
    pub(super) check_after: Duration,
}

impl Manager for Sessions {
    type Type = Session;
    type Error = ConnectError;

    async fn create(&self) -> Result<Session, ConnectError> {
        self.connector.connect().await
    }

    async fn recycle(&self, session: &mut Session, metrics: &Metrics) -> RecycleResult<ConnectError> {
        let alive = if session.client.is_closed() {
            false
        } else if metrics.last_used() < self.check_after {
            true
        } else {
            timeout(CHECK_TIMEOUT, Box::pin(session.client.check_connection())).await.is_ok_and(|answer| answer.is_ok())
        };
        if alive {
            return Ok(());
        }
        tracing::info!(idle_ms = metrics.last_used().as_millis(), "an idle connection was dead and is replaced");
        Err(RecycleError::message("dead"))
    }
}
