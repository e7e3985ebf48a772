//! The function that brings the database to this version's schema: composition only.

use anyhow::{Error, Result};
use payments::config::{MigrationConfig, from_env};
use payments::hosts::lambda::run_task;
use payments::repositories::migrations;
use payments::telemetry;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    telemetry::init(&from_env()?);
    let config: MigrationConfig = from_env()?;
    run_task(async |_| migrations::run(&config).await).await.map_err(Error::from_boxed)
}
