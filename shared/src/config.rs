//! Settings, read from the environment once at the start. Each field carries the name of its variable.

use confique::Config;

use crate::auth::AuthMode;

/// How callers are authenticated.
#[derive(Debug, Config)]
pub struct AuthConfig {
    /// `internal`: callers are trusted and name their tenant.
    #[config(env = "AUTH_MODE")]
    pub mode: AuthMode,
}

/// How the database is reached. Times are in milliseconds.
#[derive(Debug, Config)]
pub struct DatabaseConfig {
    /// A libpq connection URL.
    #[config(env = "DATABASE_URL")]
    pub url: String,
    /// Connections of one process: as many as requests it serves at once, so one on Lambda.
    #[config(env = "POOL_SIZE", default = 1)]
    pub pool_size: usize,
    /// The longest wait for a connection, new or from the pool.
    #[config(env = "CONNECT_TIMEOUT_MS", default = 2000)]
    pub connect_timeout_ms: u64,
    /// The longest wait for one statement. Above the role's `statement_timeout`, so that the server ends it first.
    #[config(env = "STATEMENT_TIMEOUT_MS", default = 6000)]
    pub statement_timeout_ms: u64,
}

/// How the schema's owner reaches the database.
#[derive(Debug, Config)]
pub struct MigrationConfig {
    /// The owner's libpq connection URL, of the database itself and not of a proxy.
    #[config(env = "OWNER_DATABASE_URL")]
    pub owner_url: String,
}

/// Reads settings from the environment.
///
/// # Errors
/// Names the variable that is missing or not understood.
pub fn from_env<C: Config>() -> Result<C, confique::Error> {
    C::builder().env().load()
}
