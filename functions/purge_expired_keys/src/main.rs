//! The scheduled function that forgets expired idempotency keys: composition only.

use anyhow::{Error, Result};
use payments::config::{DatabaseConfig, from_env};
use payments::hosts::lambda::run_task;
use payments::ports::LedgerError;
use payments::repositories::{Database, PostgresLedger};
use payments::telemetry::{self, metrics};
use payments::use_cases::PurgeKeys;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    telemetry::init(&from_env()?);
    let purge = PurgeKeys::new(PostgresLedger::new(Database::new(&from_env::<DatabaseConfig>()?)?));
    run_task(async |invocation| {
        let purged = purge.execute(&invocation).await?;
        let metrics = metrics::Purge { purge_runs: 1, purged_keys: purged.keys, purged_nonces: purged.nonces };
        metrics::purge("purge_expired_keys", &metrics);
        Ok::<_, LedgerError>(purged)
    })
    .await
    .map_err(Error::from_boxed)
}
