//! The contract for forgetting what is no longer needed.

use crate::domain::Invocation;

use super::LedgerError;

/// What a purge did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Purged {
    /// How many keys were deleted.
    pub keys: u64,
    /// How many nonces were deleted.
    pub nonces: u64,
    /// Whether more may be left, because the time was up.
    pub more: bool,
}

/// What a purge forgets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expired {
    /// Idempotency keys older than so many days.
    Keys {
        /// Their retention in days.
        days: i32,
    },
    /// Nonces older than so many minutes.
    Nonces {
        /// Their retention in minutes.
        minutes: i32,
    },
}

/// Deletes what is past its retention.
pub trait PurgeExpiredKeys: Send + Sync {
    /// Deletes at most `batch` of what is expired, the oldest first, and says how many.
    ///
    /// An implementation MUST keep the payments, MUST NOT block a payment for longer than one batch, and MUST be safe to run
    /// twice at once.
    fn purge_batch(
        &self,
        expired: Expired,
        batch: i64,
        invocation: &Invocation,
    ) -> impl Future<Output = Result<u64, LedgerError>> + Send;
}
