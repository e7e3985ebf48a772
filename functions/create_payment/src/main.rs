//! The function behind `POST /api/v1/payments`: composition only.

use payments::config::{AuthConfig, DatabaseConfig, from_env};
use payments::handlers::CreatePaymentHandler;
use payments::hosts::lambda::{Error, run_http};
use payments::repositories::{Database, PostgresLedger};
use payments::telemetry;
use payments::use_cases::WithdrawIdempotent;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::init();
    let authenticator = from_env::<AuthConfig>()?.authenticator()?;
    let ledger = PostgresLedger::new(Database::new(&from_env::<DatabaseConfig>()?)?);
    run_http(CreatePaymentHandler::new(authenticator, WithdrawIdempotent::new(ledger))).await
}
