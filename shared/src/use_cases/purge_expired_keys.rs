//! The use case that forgets idempotency keys and nonces after their retention. The payments stay, and with them the
//! guarantee.

use std::time::{Duration, Instant};

use crate::domain::Invocation;
use crate::ports::{Expired, LedgerError, PurgeExpiredKeys, Purged};

/// How long a key is kept, in days.
pub const KEY_RETENTION_DAYS: i32 = 30;
/// How long a nonce is kept, in minutes. A signature made up to 5 minutes ahead of our clock can be used for 10 minutes;
/// the rest is for the difference between our clock and the database's.
pub const NONCE_RETENTION_MINUTES: i32 = 15;
/// Rows deleted in one transaction: large enough to be quick, small enough to hold no payment up.
const BATCH: i64 = 1_000;
/// How long the purge rests after a full batch, in times that it took.
const REST: u32 = 4;
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
            let started = Instant::now();
            let deleted = self.ledger.purge_batch(expired, BATCH, invocation).await?;
            total += deleted;
            if deleted < BATCH.unsigned_abs() {
                return Ok((total, false));
            }
            // Payments come first, and the keys have waited for 30 days.
            let left = invocation.remaining().saturating_sub(FLOOR);
            tokio::time::sleep((started.elapsed() * REST).min(left)).await;
        }
        Ok((total, true))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

    use super::*;

    const OF_ONE_BATCH: Duration = Duration::from_millis(20);

    /// Five full batches of keys and no nonces.
    #[derive(Default)]
    struct Slow(AtomicU32);

    impl PurgeExpiredKeys for Slow {
        async fn purge_batch(&self, expired: Expired, batch: i64, _: &Invocation) -> Result<u64, LedgerError> {
            let left = matches!(expired, Expired::Keys { .. }) && self.0.fetch_add(1, SeqCst) < 5;
            tokio::time::sleep(OF_ONE_BATCH).await;
            Ok(if left { batch.unsigned_abs() } else { 0 })
        }
    }

    #[tokio::test]
    async fn the_purge_rests_after_each_full_batch_for_four_times_as_long_as_it_took() {
        let purge = PurgeKeys::new(Slow::default());
        let started = Instant::now();

        let purged = purge.execute(&Invocation::new(String::new(), Duration::from_mins(1))).await.unwrap();

        assert_eq!(purged, Purged { keys: 5_000, nonces: 0, more: false });
        // One batch finds no nonce, six look for keys, five of them full.
        assert!(started.elapsed() >= OF_ONE_BATCH * (1 + 6 + 5 * 4));
    }
}
