//! The scheduled purge, invoked again and again until nothing is left.

use std::time::{Duration, Instant};

use anyhow::Result;
use payments::domain::Invocation;
use payments::use_cases::PurgeKeys;
use serde::Serialize;

use crate::ledger_load::ledger;

/// As long as one invocation has on Lambda.
const BUDGET: Duration = Duration::from_secs(10);

/// Whose keys.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The application role's URL
    #[arg(long)]
    database_url: String,
}

/// What was deleted.
#[derive(Serialize)]
pub(crate) struct Purged {
    keys: u64,
    invocations: u32,
    seconds: f64,
}

/// Purges.
pub(crate) async fn run(arguments: &Arguments) -> Result<Purged> {
    let purge = PurgeKeys::new(ledger(&arguments.database_url, 1, false)?);
    let started = Instant::now();
    let (mut keys, mut invocations) = (0, 0);
    loop {
        let purged = purge.execute(&Invocation::new("bench".to_owned(), BUDGET)).await?;
        keys += purged.keys;
        invocations += 1;
        if !purged.more {
            return Ok(Purged { keys, invocations, seconds: started.elapsed().as_secs_f64() });
        }
    }
}
