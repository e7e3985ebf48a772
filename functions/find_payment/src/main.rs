//! The function behind `GET /api/v1/payments?idempotency_key=K`: composition only.

use payments::config::{AuthConfig, DatabaseConfig, from_env};
use payments::handlers::FindPaymentHandler;
use payments::hosts::lambda::{Error, run_http};
use payments::repositories::{Database, PostgresLedger};
use payments::telemetry;
use payments::use_cases::LookUpPayment;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::init();
    let authenticator = from_env::<AuthConfig>()?.authenticator()?;
    let ledger = PostgresLedger::new(Database::new(&from_env::<DatabaseConfig>()?)?);
    run_http(FindPaymentHandler::new(authenticator, LookUpPayment::new(ledger))).await
}
