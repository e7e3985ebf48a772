//! What the use cases need from the outside. Each contract says what an implementation must do; none names a technology.

mod create_payment;
mod get_payment;
mod purge_expired_keys;

pub use create_payment::{CreatePayment, LedgerAnswer};
pub use get_payment::{GetPayment, LookUp};
pub use purge_expired_keys::{Expired, PurgeExpiredKeys, Purged};

use std::error::Error;

/// Why the ledger gave no answer. Nothing of it reaches a client but its kind.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The ledger could not be reached, or its answer did not arrive in time. What was asked may or may not have happened.
    #[error("the ledger is unavailable")]
    Unavailable(#[source] Box<dyn Error + Send + Sync>),
    /// Too little time was left to start safely. Nothing was sent.
    #[error("too little time is left")]
    DeadlineTooNear,
    /// The ledger refused what it should not, or answered what this version does not understand: a defect.
    #[error("the ledger refused or was not understood")]
    Defect(#[source] Box<dyn Error + Send + Sync>),
}
