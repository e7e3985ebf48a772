//! The contract for moving money.

use crate::domain::{Caller, Idempotency, Invocation, Payment, Withdrawal};

use super::LedgerError;

/// What the ledger says about a withdrawal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LedgerAnswer {
    /// This call decided the payment, succeeded or declined, and committed it.
    Created(Payment),
    /// The key was already settled by an earlier call; this is its payment.
    Found(Payment),
    /// A rival held the key or the balance for longer than the bounded wait. This call changed nothing.
    InProgress,
    /// There is no such tenant, or its signing key is retired. Nothing was changed.
    UnknownCaller,
    /// The nonce was used by another call. Nothing was changed.
    NonceReused,
    /// The tenant has no such account. Nothing was changed.
    UnknownAccount,
    /// The account has another currency. Nothing was changed.
    CurrencyMismatch,
}

/// Moves money.
pub trait CreatePayment: Send + Sync {
    /// Claims the key, debits the account and records the payment.
    ///
    /// An implementation MUST do the three in one atomic step, or none of them; MUST let at most one call ever debit for
    /// one key, also after the key was purged; MUST return the stored payment of a settled key without deciding anything
    /// again; MUST wait for a live rival only for a bounded time; MUST NOT report `Created` before the step is durable; MUST refuse a retired signing key
    /// and a nonce that another call has brought, and remember the nonce in the same step.
    fn create_payment(
        &self,
        caller: &Caller,
        withdrawal: &Withdrawal,
        idempotency: &Idempotency,
        invocation: &Invocation,
    ) -> impl Future<Output = Result<LedgerAnswer, LedgerError>> + Send;
}
