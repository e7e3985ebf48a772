//! Settings, read from the environment once at the start. Each field carries the name of its variable.

use std::path::PathBuf;

use confique::Config;
use zeroize::Zeroizing;

use crate::auth::http_signature::{MasterSecrets, SecretError};
use crate::auth::{AuthMode, Authenticator};

/// How callers are authenticated. Has no `Debug`: it holds secrets.
#[derive(Config)]
pub struct AuthConfig {
    /// `hmac`: requests are signed. `internal`: callers are trusted and name their tenant.
    #[config(env = "AUTH_MODE", default = "hmac")]
    pub mode: AuthMode,
    /// In `hmac` mode: one or more master secrets in base64, separated by commas. New client secrets come from the first.
    #[config(env = "MASTER_SECRETS")]
    pub master_secrets: Option<Zeroizing<String>>,
}

/// Authentication cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum AuthConfigError {
    /// The mode needs what is not there.
    #[error("AUTH_MODE is hmac, but MASTER_SECRETS is not set")]
    MasterSecretsMissing,
    /// A master secret is not usable.
    #[error("MASTER_SECRETS is not usable")]
    MasterSecretsInvalid(#[from] SecretError),
}

impl AuthConfig {
    /// The authenticator that these settings describe.
    ///
    /// # Errors
    /// [`AuthConfigError`] says which setting is missing or wrong, and never what it holds.
    pub fn authenticator(&self) -> Result<Authenticator, AuthConfigError> {
        match (self.mode, &self.master_secrets) {
            (AuthMode::Internal, _) => Ok(Authenticator::Internal),
            (AuthMode::Hmac, Some(secrets)) => Ok(Authenticator::hmac(secrets.parse::<MasterSecrets>()?)),
            (AuthMode::Hmac, None) => Err(AuthConfigError::MasterSecretsMissing),
        }
    }
}

/// How the database is reached. Times are in milliseconds. Has no `Debug`: the URL may hold a password.
#[derive(Config)]
pub struct DatabaseConfig {
    /// A libpq connection URL. `sslmode=require` encrypts and verifies chain and host name; `disable` is plain; without
    /// it a connection is plain to this machine and encrypted to any other.
    #[config(env = "DATABASE_URL")]
    pub url: String,
    /// Whether the password of each connection is a fresh IAM token. Such a connection is always encrypted.
    #[config(env = "DATABASE_IAM_AUTH", default = false)]
    pub iam_auth: bool,
    /// The region that IAM tokens are signed for.
    #[config(env = "AWS_REGION")]
    pub region: Option<String>,
    /// A PEM file with roots to trust beside Amazon's.
    #[config(env = "DATABASE_CA_FILE")]
    pub ca_file: Option<PathBuf>,
    /// Connections of one process: as many as requests it serves at once, so one on Lambda.
    #[config(env = "POOL_SIZE", default = 1)]
    pub pool_size: usize,
    /// The longest wait for a connection, new or from the pool.
    #[config(env = "CONNECT_TIMEOUT_MS", default = 2000)]
    pub connect_timeout_ms: u64,
    /// The longest wait for one statement. Above the role's `statement_timeout`, so that the server ends it first.
    #[config(env = "STATEMENT_TIMEOUT_MS", default = 6000)]
    pub statement_timeout_ms: u64,
    /// A connection that was idle for this long is checked by one more round trip before it is used.
    #[config(env = "IDLE_CHECK_MS", default = 5000)]
    pub idle_check_ms: u64,
    /// Whether each connection prepares a statement once, by name, and PostgreSQL keeps its plan. It saves most of the
    /// database's work for a replay, and needs a connection of one's own: a transaction-pooling proxy breaks it.
    #[config(env = "PREPARED_STATEMENTS", default = false)]
    pub prepared_statements: bool,
}

impl DatabaseConfig {
    /// A database at that URL with a pool of `pool_size`, and the defaults for everything else.
    #[must_use]
    pub fn with_url(url: String, pool_size: usize) -> Self {
        Self {
            url,
            iam_auth: false,
            region: None,
            ca_file: None,
            pool_size,
            connect_timeout_ms: 2_000,
            statement_timeout_ms: 6_000,
            idle_check_ms: 5_000,
            prepared_statements: false,
        }
    }
}

/// How the schema's owner reaches the database. Has no `Debug`: the URL may hold a password.
#[derive(Config)]
pub struct MigrationConfig {
    /// The owner's libpq connection URL, of the database itself and not of a proxy.
    #[config(env = "OWNER_DATABASE_URL")]
    pub owner_url: String,
    /// Whether the owner's password is an IAM token.
    #[config(env = "OWNER_IAM_AUTH", default = false)]
    pub iam_auth: bool,
    /// The region that the token is signed for.
    #[config(env = "AWS_REGION")]
    pub region: Option<String>,
    /// A PEM file with roots to trust beside Amazon's.
    #[config(env = "DATABASE_CA_FILE")]
    pub ca_file: Option<PathBuf>,
    /// The last migration to apply; 0 for all. Holds back a contracting one while the release before it still serves.
    #[config(env = "MIGRATE_UP_TO", default = 0)]
    pub up_to: i32,
}

impl MigrationConfig {
    /// The owner of a database, without IAM and further roots.
    #[must_use]
    pub fn with_url(owner_url: String) -> Self {
        Self { owner_url, iam_auth: false, region: None, ca_file: None, up_to: 0 }
    }
}

/// Reads settings from the environment.
///
/// # Errors
/// Names the variable that is missing or not understood.
pub fn from_env<C: Config>() -> Result<C, confique::Error> {
    C::builder().env().load()
}
