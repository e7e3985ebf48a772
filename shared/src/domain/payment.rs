//! A payment as it stands in the ledger, settled for ever.

use time::OffsetDateTime;

use super::{AccountId, Currency, MinorUnits, PaymentId, RecipientId, Withdrawal};

/// How a payment ended. Both are final and remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaymentStatus {
    /// The account was debited.
    Succeeded,
    /// The balance did not cover the amount; nothing was debited.
    Declined,
}

impl PaymentStatus {
    /// The word for it in the ledger and in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Declined => "declined",
        }
    }

    /// The status of that name, if there is one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Succeeded, Self::Declined].into_iter().find(|status| status.as_str() == text)
    }
}

/// A payment from the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payment {
    /// Its id.
    pub id: PaymentId,
    /// The account that paid.
    pub account: AccountId,
    /// Whether that was the tenant's default account then.
    pub from_default: bool,
    /// Who receives the money.
    pub recipient: RecipientId,
    /// How much, in minor units of `currency`.
    pub amount: MinorUnits,
    /// The account's currency.
    pub currency: Currency,
    /// How it ended.
    pub status: PaymentStatus,
    /// When it was decided, UTC, to the microsecond.
    pub created_at: OffsetDateTime,
}

impl Payment {
    /// Whether `request` of the same tenant asks for this very payment. Compared with the payment's own columns: no fingerprint, no stored body.
    ///
    /// A request that names no account means the default account of the day it was first sent, whatever the default is today.
    #[must_use]
    pub fn answers(&self, request: &Withdrawal) -> bool {
        let same_account = match request.account {
            Some(account) => account == self.account,
            None => self.from_default,
        };
        same_account
            && request.amount == self.amount
            && request.recipient == self.recipient
            && request.currency.is_none_or(|currency| currency == self.currency)
    }
}
