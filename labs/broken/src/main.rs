//! Payment servers with one mistake each.
//!
//! NOT FOR USE. `cargo xtask torture --variants` runs them to see whether its checker catches the mistakes. They speak the
//! product's API, on the product's tables, and look at no signature.

mod api;
mod ledger;
mod settings;
mod variants;

use std::sync::Arc;

use anyhow::{Context as _, Result};
use confique::Config as _;
use tokio::net::TcpListener;

use crate::ledger::Ledger;
use crate::settings::Settings;

#[tokio::main]
async fn main() -> Result<()> {
    let settings = Settings::builder().env().load().context("the settings are not complete")?;
    let ledger = Arc::new(Ledger::new(&settings.database_url)?);
    let listener = TcpListener::bind(("127.0.0.1", settings.port)).await.context("cannot listen")?;
    axum::serve(listener, api::router(ledger, settings.variant)).await.context("the server broke off")
}
