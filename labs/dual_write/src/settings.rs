//! Settings, read from the environment once at the start.

use confique::Config;

use crate::flows::Flow;

/// What the server is started with. Times are in milliseconds.
#[derive(Config)]
pub(crate) struct Settings {
    /// Which order of steps to run.
    #[config(env = "FLOW")]
    pub(crate) flow: Flow,
    /// The port on 127.0.0.1.
    #[config(env = "PORT")]
    pub(crate) port: u16,
    /// A libpq connection URL.
    #[config(env = "DATABASE_URL")]
    pub(crate) database_url: String,
    /// A Redis connection URL.
    #[config(env = "REDIS_URL")]
    pub(crate) redis_url: String,
    /// How long Redis remembers a key. A day is customary.
    #[config(env = "KEY_TTL_MS", default = 86_400_000)]
    pub(crate) key_ttl_ms: u64,
    /// How long a lock lives whose holder does not release it.
    #[config(env = "LOCK_TTL_MS", default = 30_000)]
    pub(crate) lock_ttl_ms: u64,
}
