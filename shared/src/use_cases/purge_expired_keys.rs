//! The use case that forgets idempotency keys and nonces after their retention. The payments stay, and with them the
//! guarantee.

use std::time::Duration;

use crate::domain::Invocation;
use crate::ports::{Expired, LedgerError, PurgeExpiredKeys, Purged};

/// How long a key is kept, in days.
pub const KEY_RETENTION_DAYS: i32 = 30;
/// How long a nonce is kept, in minutes. A signature made up to 5 minutes ahead of our clock can be used for 10 minutes;
/// the rest is for the difference between our clock and the database's.
pub const NONCE_RETENTION_MINUTES: i32 = 15;
/// Rows deleted in one transaction: large enough to be quick, small enough to hold no payment up.
const BATCH: i64 = 1_000;
/// No further batch starts with less time than this left.
const FLOOR: Duration = Duration::from_secs(2);

/// Purges expired keys and nonces in bounded batches.
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
        let nonces = Expired::Nonces { minutes: NONCE_RETENTION_MINUTES };
        let keys = Expired::Keys { days: KEY_RETENTION_DAYS };
        let (nonces, more_nonces) = self.purge(nonces, invocation).await?;
        let (keys, more_keys) = self.purge(keys, invocation).await?;
        Ok(Purged { keys, nonces, more: more_nonces || more_keys })
    }

    /// How many were deleted, and whether more may be left.
    async fn purge(&self, expired: Expired, invocation: &Invocation) -> Result<(u64, bool), LedgerError> {
        let mut total = 0;
        while invocation.remaining() > FLOOR {
            let deleted = self.ledger.purge_batch(expired, BATCH, invocation).await?;
            total += deleted;
            if deleted < BATCH.unsigned_abs() {
                return Ok((total, false));
            }
        }
        Ok((total, true))
    }
}
