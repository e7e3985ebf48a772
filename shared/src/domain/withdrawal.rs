//! The request to pay, already validated.

use super::{AccountId, Currency, IdempotencyKey, MinorUnits, RecipientId};

/// The request to withdraw an amount from an account in favour of a recipient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withdrawal {
    /// The account that pays; `None` is the tenant's default account.
    pub account: Option<AccountId>,
    /// Who receives the money.
    pub recipient: RecipientId,
    /// How much, in minor units.
    pub amount: MinorUnits,
    /// The expected currency; `None` is the account's.
    pub currency: Option<Currency>,
}

/// Whether a withdrawal is guarded against repetition by its caller's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Idempotency {
    /// Executed at most once for this key, for ever.
    Keyed(IdempotencyKey),
    /// Executed once for each call: internal adjustments, which no HTTP route reaches.
    Unkeyed,
}
