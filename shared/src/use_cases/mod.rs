//! What the product does, in the words of the domain. Knows its ports, and neither HTTP nor PostgreSQL.

mod create_payment;
mod get_payment;
mod purge_expired_keys;

pub use create_payment::{WithdrawIdempotent, WithdrawOutcome};
pub use get_payment::LookUpPayment;
pub use purge_expired_keys::{KEY_RETENTION_DAYS, NONCE_RETENTION_MINUTES, PurgeKeys};
