//! The use case that forgets idempotency keys after their retention. The payments stay, and with them the guarantee.

use std::time::Duration;

use crate::domain::Invocation;
use crate::ports::{LedgerError, PurgeExpiredKeys, Purged};

/// How long a key is kept, in days.
pub const KEY_RETENTION_DAYS: i32 = 30;
/// Keys deleted in one transaction: large enough to be quick, small enough to hold no payment up.
const BATCH: i64 = 1_000;
/// No further batch starts with less time than this left.
const FLOOR: Duration = Duration::from_secs(2);

/// Purges expired keys in bounded batches.
#[derive(Debug)]
pub struct PurgeKeys<L> {
    ledger: L,
}

impl<L: PurgeExpiredKeys> PurgeKeys<L> {
    /// The use case on that ledger.
    pub fn new(ledger: L) -> Self {
        Self { ledger }
    }

    /// Deletes batch after batch until nothing is left or the time is nearly up.
    ///
    /// # Errors
    /// [`LedgerError`] when a batch failed; the batches before it stay deleted, and the next run goes on.
    pub async fn execute(&self, invocation: &Invocation) -> Result<Purged, LedgerError> {
        let mut keys = 0;
        while invocation.remaining() > FLOOR {
            let deleted = self
                .ledger
                .purge_batch(KEY_RETENTION_DAYS, BATCH, invocation)
                .await?;
            keys += deleted;
            if deleted < BATCH.unsigned_abs() {
                return Ok(Purged { keys, more: false });
            }
        }
        Ok(Purged { keys, more: true })
    }
}
