//! The contract for forgetting old idempotency keys.

use crate::domain::Invocation;

use super::LedgerError;

/// What a purge did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Purged {
    /// How many keys were deleted.
    pub keys: u64,
    /// Whether expired keys are left, because the time was up.
    pub more: bool,
}

/// Deletes idempotency keys whose retention is over.
pub trait PurgeExpiredKeys: Send + Sync {
    /// Deletes at most `batch` keys that are older than `retention_days` days, and says how many.
    ///
    /// An implementation MUST keep the payments, MUST NOT block a payment for longer than one batch, and MUST be safe to run
    /// twice at once.
    fn purge_batch(
        &self,
        retention_days: i32,
        batch: i64,
        invocation: &Invocation,
    ) -> impl Future<Output = Result<u64, LedgerError>> + Send;
}
