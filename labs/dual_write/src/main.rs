//! A payments server as it is often written: Redis remembers the key, PostgreSQL holds the money.
//!
//! NOT FOR USE. `cargo xtask lab dual-write` runs it to count how often it pays. It speaks the product's API and looks
//! at no signature, so that the same client can drive both.

mod api;
mod flows;
mod ledger;
mod memory;
mod settings;

use std::sync::Arc;

use anyhow::{Context as _, Result};
use confique::Config as _;
use tokio::net::TcpListener;

use crate::flows::Parts;
use crate::ledger::Ledger;
use crate::memory::Memory;
use crate::settings::Settings;

#[tokio::main]
async fn main() -> Result<()> {
    let settings = Settings::builder().env().load().context("the settings are not complete")?;
    let parts = Parts {
        ledger: Ledger::new(&settings.database_url)?,
        memory: Memory::connect(&settings.redis_url).await?,
        key_ttl_ms: settings.key_ttl_ms,
        lock_ttl_ms: settings.lock_ttl_ms,
    };
    let listener = TcpListener::bind(("127.0.0.1", settings.port)).await.context("cannot listen")?;
    axum::serve(listener, api::router(Arc::new(parts), settings.flow)).await.context("the server broke off")
}
