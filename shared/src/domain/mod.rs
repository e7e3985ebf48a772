//! The words of the business and their rules. Knows no HTTP, no SQL, no serialization and no clock of its own.

mod caller;
mod currency;
mod idempotency_key;
mod ids;
mod invocation;
mod minor_units;
mod payment;
mod withdrawal;

pub use caller::{Caller, Signature, StoredNonce};
pub use currency::{Currency, CurrencyError};
pub use idempotency_key::{IdempotencyKey, KeyError};
pub use ids::{AccountId, PaymentId, RecipientId, StoredKey, TenantId, hyphenated_uuid};
pub use invocation::Invocation;
pub use minor_units::{MinorUnits, MinorUnitsError};
pub use payment::{Payment, PaymentStatus};
pub use withdrawal::{Idempotency, Withdrawal};
