//! Settings of the server itself; database and authentication are set up as the functions'.

use std::net::SocketAddr;
use std::time::Duration;

use confique::{Config, Layer as _};
use payments::config::{DatabaseConfig, SettingsError, from_env_or, values};

use crate::api::Limits;

/// Connections to the database, unless `POOL_SIZE` says otherwise: a server works on many requests at once.
const POOL_SIZE: usize = 20;
/// Requests at work for each connection, unless `MAX_IN_FLIGHT` says otherwise: one has it, the others wait a moment.
const REQUESTS_PER_CONNECTION: usize = 4;

/// What the server is started with. Times are in milliseconds.
#[derive(Config)]
pub(crate) struct Settings {
    /// Where to listen, plain HTTP.
    #[config(env = "LISTEN_ADDRESS", default = "127.0.0.1:8080")]
    pub(crate) address: SocketAddr,
    /// Open connections of clients, 1 to 100,000; further ones wait in the system's queue.
    #[config(env = "MAX_CONNECTIONS", default = 1024, deserialize_with = values::within::<1, 100_000, _, _>)]
    pub(crate) max_connections: usize,
    /// Requests at work at once, 1 to 100,000; further ones are answered 503. By default four for each connection of the
    /// pool.
    #[config(env = "MAX_IN_FLIGHT", deserialize_with = values::within::<1, 100_000, _, _>)]
    pub(crate) max_in_flight: Option<usize>,
    /// The longest time for an answer, 1,000 to 300,000: with less than half a second left no statement is sent.
    #[config(env = "REQUEST_TIMEOUT_MS", default = 9000, deserialize_with = values::within::<1_000, 300_000, _, _>)]
    pub(crate) request_timeout_ms: u64,
}

impl Settings {
    /// What bounds a request before a database with these settings.
    pub(crate) fn limits(&self, database: &DatabaseConfig) -> Limits {
        let in_flight = self.max_in_flight.unwrap_or(REQUESTS_PER_CONNECTION * database.pool_size);
        Limits { in_flight, time: self.request_timeout() }
    }

    /// The longest time for an answer.
    pub(crate) fn request_timeout(&self) -> Duration {
        Duration::from_millis(self.request_timeout_ms)
    }
}

/// The functions' settings of the database, with a larger pool by default.
pub(crate) fn database_config() -> Result<DatabaseConfig, SettingsError> {
    let mut defaults = <DatabaseConfig as Config>::Layer::empty();
    defaults.pool_size = Some(POOL_SIZE);
    from_env_or(defaults)
}
