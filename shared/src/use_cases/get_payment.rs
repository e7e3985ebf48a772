//! The use case that answers "what became of it?", by payment id or by idempotency key.

use crate::domain::{Caller, IdempotencyKey, Invocation, PaymentId};
use crate::ports::{GetPayment, LedgerError, LookUp};

/// Looks a tenant's payment up.
#[derive(Debug)]
pub struct LookUpPayment<L> {
    ledger: L,
}

impl<L: GetPayment> LookUpPayment<L> {
    /// The use case on that ledger.
    pub fn new(ledger: L) -> Self {
        Self { ledger }
    }

    /// The tenant's payment of that id.
    ///
    /// # Errors
    /// [`LedgerError`] when the ledger gave no answer.
    pub async fn by_id(
        &self,
        caller: &Caller,
        payment: PaymentId,
        invocation: &Invocation,
    ) -> Result<LookUp, LedgerError> {
        self.ledger.get_payment(caller, payment, invocation).await
    }

    /// The payment that the tenant's key stands for, also after the key was purged: its id is derived from the key.
    ///
    /// # Errors
    /// [`LedgerError`] when the ledger gave no answer.
    pub async fn by_key(
        &self,
        caller: &Caller,
        key: &IdempotencyKey,
        invocation: &Invocation,
    ) -> Result<LookUp, LedgerError> {
        self.by_id(caller, key.stored(caller.tenant).payment_id(), invocation).await
    }
}
