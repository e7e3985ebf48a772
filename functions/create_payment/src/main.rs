//! The function behind `POST /api/v1/payments`: composition only.

use anyhow::{Error, Result};
use payments::config::{AuthConfig, DatabaseConfig, from_env};
use payments::handlers::CreatePaymentHandler;
use payments::hosts::lambda::run_http;
use payments::repositories::{Database, PostgresLedger};
use payments::telemetry;
use payments::use_cases::WithdrawIdempotent;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    telemetry::init(&from_env()?);
    let authenticator = from_env::<AuthConfig>()?.authenticator()?;
    let ledger = PostgresLedger::new(Database::new(&from_env::<DatabaseConfig>()?)?);
    run_http(CreatePaymentHandler::new(authenticator, WithdrawIdempotent::new(ledger))).await.map_err(Error::from_boxed)
}
