//! Every route of the API in one process, for containers and workstations: composition only.

mod admission;
mod api;
mod host;
mod open_files;
mod refusal;
mod request_body;
mod route;
mod settings;
mod workers;

use std::sync::Arc;

use anyhow::{Context as _, Result};
use payments::config::{AuthConfig, from_env};
use payments::repositories::{Database, PostgresLedger};
use payments::telemetry;
use tokio::net::TcpListener;

use crate::api::Api;
use crate::settings::{Settings, database_config};
use crate::workers::Workers;

#[tokio::main]
async fn main() -> Result<()> {
    telemetry::init(&from_env()?);
    let settings: Settings = from_env()?;
    let database = database_config()?;
    open_files::require(settings.max_connections, database.pool_size)?;
    let ledger = PostgresLedger::new(Database::new(&database)?);
    let api = Api::new(&ledger, &from_env::<AuthConfig>()?, settings.limits(&database), Workers::start()?)?;
    let listener = TcpListener::bind(settings.address).await.context("cannot listen on LISTEN_ADDRESS")?;
    tracing::info!(address = %listener.local_addr()?, "listening");
    host::serve(listener, Arc::new(api), &settings, host::signal()?).await;
    Ok(())
}
