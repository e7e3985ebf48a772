//! A reference of `cargo xtask bench`: the course's flow as a careful team writes it, a statement at a time, in axum and
//! tokio-postgres. Not for use: it trusts its callers, and keeps none of the product's further promises.

mod api;
mod ledger;

use std::sync::Arc;

use anyhow::{Context as _, Result};
use confique::Config;
use tokio::net::TcpListener;

use crate::ledger::Ledger;

/// What the server is started with.
#[derive(Config)]
struct Settings {
    /// The port on 127.0.0.1.
    #[config(env = "PORT")]
    port: u16,
    /// A libpq connection URL.
    #[config(env = "DATABASE_URL")]
    database_url: String,
    /// Connections to the database.
    #[config(env = "POOL_SIZE", default = 50)]
    pool_size: usize,
}

#[tokio::main]
async fn main() -> Result<()> {
    let settings = Settings::builder().env().load().context("the settings are not complete")?;
    let ledger = Ledger::new(&settings.database_url, settings.pool_size)?;
    let listener = TcpListener::bind(("127.0.0.1", settings.port)).await.context("cannot listen")?;
    let listener = axum::serve::ListenerExt::tap_io(listener, |stream| {
        // An answer is one small packet; it must not wait.
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, api::router(Arc::new(ledger))).await.context("the server broke off")
}
