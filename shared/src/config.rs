//! Settings, read from the environment once at the start. Each field carries the name of its variable and what it may
//! hold. A variable that is empty counts as not set.

pub mod values;

use std::path::PathBuf;

use confique::meta::{FieldKind, LeafKind};
use confique::{Config, Layer as _};
use tracing::level_filters::LevelFilter;
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
    #[config(env = "MASTER_SECRETS", deserialize_with = values::filled)]
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
    #[config(env = "DATABASE_URL", deserialize_with = values::filled)]
    pub url: String,
    /// Whether the password of each connection is a fresh IAM token. Such a connection is always encrypted.
    #[config(env = "DATABASE_IAM_AUTH", default = false)]
    pub iam_auth: bool,
    /// The region that IAM tokens are signed for.
    #[config(env = "AWS_REGION", deserialize_with = values::filled)]
    pub region: Option<String>,
    /// A PEM file with roots to trust beside Amazon's.
    #[config(env = "DATABASE_CA_FILE", deserialize_with = values::filled)]
    pub ca_file: Option<PathBuf>,
    /// Connections of one process, 1 to 1,000: as many as requests it serves at once, so one on Lambda.
    #[config(env = "POOL_SIZE", default = 1, deserialize_with = values::within::<1, 1_000, _, _>)]
    pub pool_size: usize,
    /// The longest wait for a connection, new or from the pool; 100 to 60,000.
    #[config(env = "CONNECT_TIMEOUT_MS", default = 2000, deserialize_with = values::within::<100, 60_000, _, _>)]
    pub connect_timeout_ms: u64,
    /// The longest wait for one statement; 100 to 300,000. Above the role's `statement_timeout`, so that the server ends
    /// it first.
    #[config(env = "STATEMENT_TIMEOUT_MS", default = 6000, deserialize_with = values::within::<100, 300_000, _, _>)]
    pub statement_timeout_ms: u64,
    /// A connection that was idle for this long is checked by one more round trip before it is used; 0, each time, to
    /// 3,600,000.
    #[config(env = "IDLE_CHECK_MS", default = 5000, deserialize_with = values::within::<0, 3_600_000, _, _>)]
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
    #[config(env = "OWNER_DATABASE_URL", deserialize_with = values::filled)]
    pub owner_url: String,
    /// Whether the owner's password is an IAM token.
    #[config(env = "OWNER_IAM_AUTH", default = false)]
    pub iam_auth: bool,
    /// The region that the token is signed for.
    #[config(env = "AWS_REGION", deserialize_with = values::filled)]
    pub region: Option<String>,
    /// A PEM file with roots to trust beside Amazon's.
    #[config(env = "DATABASE_CA_FILE", deserialize_with = values::filled)]
    pub ca_file: Option<PathBuf>,
    /// The last migration to apply, up to 9,999; 0 for all. Holds back a contracting one while the release before it still
    /// serves.
    #[config(env = "MIGRATE_UP_TO", default = 0, deserialize_with = values::within::<0, 9_999, _, _>)]
    pub up_to: i32,
}

impl MigrationConfig {
    /// The owner of a database, without IAM and further roots.
    #[must_use]
    pub fn with_url(owner_url: String) -> Self {
        Self { owner_url, iam_auth: false, region: None, ca_file: None, up_to: 0 }
    }
}

/// What the log shows.
#[derive(Config)]
pub struct LogConfig {
    /// The least level shown: `error`, `warn`, `info`, `debug` or `trace`.
    #[config(env = "LOG_LEVEL", default = "info", deserialize_with = values::level)]
    pub level: LevelFilter,
}

/// The process cannot start with these settings.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A variable without a default.
    #[error("{0} is not set")]
    Missing(&'static str),
    /// Names the variable, and what it may hold.
    #[error(transparent)]
    Unusable(#[from] confique::Error),
}

/// Reads settings from the environment.
///
/// # Errors
/// Names the variable that is missing, or not usable and why.
pub fn from_env<C: Config>() -> Result<C, SettingsError> {
    from_env_or(C::Layer::empty())
}

/// Reads settings from the environment, with defaults that differ from the usual ones.
///
/// # Errors
/// As [`from_env`].
pub fn from_env_or<C: Config>(defaults: C::Layer) -> Result<C, SettingsError> {
    let missing = required::<C>().find(|name| std::env::var_os(name).is_none_or(|text| text.is_empty()));
    match missing {
        Some(name) => Err(SettingsError::Missing(name)),
        None => Ok(C::builder().env().preloaded(defaults).load()?),
    }
}

/// The variables without a default: the loader would call them by their fields' names.
fn required<C: Config>() -> impl Iterator<Item = &'static str> {
    C::META.fields.iter().filter_map(|field| match field.kind {
        FieldKind::Leaf { env, kind: LeafKind::Required { default: None } } => env,
        _ => None,
    })
}
