//! The use case that pays: idempotency is its own knowledge, not a filter in front of it.

use crate::domain::{Caller, Idempotency, Invocation, Payment, PaymentStatus, Withdrawal};
use crate::ports::{CreatePayment, LedgerAnswer, LedgerError};

/// How a withdrawal ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WithdrawOutcome {
    /// This call debited the account.
    Executed(Payment),
    /// An earlier call with this key debited the account; this is the same payment.
    Replayed(Payment),
    /// The balance did not cover the amount. `replayed` when an earlier call with this key decided it.
    Declined {
        /// The remembered decision.
        payment: Payment,
        /// Whether it was decided by an earlier call.
        replayed: bool,
    },
    /// The key belongs to a payment that this request does not describe.
    KeyReused,
    /// A rival did not finish within the bounded wait; the same key will tell.
    InProgress,
    /// The tenant has no such account.
    UnknownAccount,
    /// The account has another currency than the request expects.
    CurrencyMismatch,
    /// There is no such tenant, or its signing key is retired.
    UnknownCaller,
    /// The nonce was used by another call.
    NonceReused,
}

/// Withdraws an amount exactly once for each idempotency key.
#[derive(Debug)]
pub struct WithdrawIdempotent<L> {
    ledger: L,
}

impl<L: CreatePayment> WithdrawIdempotent<L> {
    /// The use case on that ledger.
    pub fn new(ledger: L) -> Self {
        Self { ledger }
    }

    /// Withdraws, or returns what an earlier call with the same key decided, without deciding it again.
    ///
    /// # Errors
    /// [`LedgerError`] when the ledger gave no answer. The caller then retries with the same key.
    pub async fn execute(
        &self,
        caller: &Caller,
        withdrawal: &Withdrawal,
        idempotency: &Idempotency,
        invocation: &Invocation,
    ) -> Result<WithdrawOutcome, LedgerError> {
        let answer = self.ledger.create_payment(caller, withdrawal, idempotency, invocation).await?;
        Ok(match answer {
            LedgerAnswer::Created(payment) => settled(payment, false),
            LedgerAnswer::Found(payment) if payment.answers(withdrawal) => settled(payment, true),
            LedgerAnswer::Found(_) => WithdrawOutcome::KeyReused,
            LedgerAnswer::InProgress => WithdrawOutcome::InProgress,
            LedgerAnswer::UnknownCaller => WithdrawOutcome::UnknownCaller,
            LedgerAnswer::NonceReused => WithdrawOutcome::NonceReused,
            LedgerAnswer::UnknownAccount => WithdrawOutcome::UnknownAccount,
            LedgerAnswer::CurrencyMismatch => WithdrawOutcome::CurrencyMismatch,
        })
    }
}

fn settled(payment: Payment, replayed: bool) -> WithdrawOutcome {
    match (payment.status, replayed) {
        (PaymentStatus::Succeeded, false) => WithdrawOutcome::Executed(payment),
        (PaymentStatus::Succeeded, true) => WithdrawOutcome::Replayed(payment),
        (PaymentStatus::Declined, replayed) => WithdrawOutcome::Declined { payment, replayed },
    }
}
