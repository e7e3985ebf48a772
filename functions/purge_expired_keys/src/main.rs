//! The scheduled function that forgets expired idempotency keys: composition only.

use payments::config::{DatabaseConfig, from_env};
use payments::hosts::lambda::{Error, run_task};
use payments::repositories::{Database, PostgresLedger};
use payments::telemetry;
use payments::use_cases::PurgeKeys;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::init();
    let purge = PurgeKeys::new(PostgresLedger::new(Database::new(&from_env::<DatabaseConfig>()?)?));
    run_task(async |invocation| purge.execute(&invocation).await).await
}
