//! The function that brings the database to this version's schema: composition only.

use payments::config::{MigrationConfig, from_env};
use payments::hosts::lambda::{Error, run_task};
use payments::repositories::migrations;
use payments::telemetry;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::init();
    let config: MigrationConfig = from_env()?;
    run_task(async |_| migrations::run(&config).await).await
}
