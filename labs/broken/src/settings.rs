//! Settings, read from the environment once at the start.

use confique::Config;

use crate::variants::Variant;

/// What the server is started with.
#[derive(Config)]
pub(crate) struct Settings {
    /// Which mistake to make.
    #[config(env = "VARIANT")]
    pub(crate) variant: Variant,
    /// The port on 127.0.0.1.
    #[config(env = "PORT")]
    pub(crate) port: u16,
    /// A libpq connection URL.
    #[config(env = "DATABASE_URL")]
    pub(crate) database_url: String,
}
