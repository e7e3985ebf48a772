//! The use case that answers "what became of it?", by payment id or by idempotency key.

use crate::domain::{IdempotencyKey, Invocation, Payment, PaymentId, TenantId};
use crate::ports::{GetPayment, LedgerError};

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
        tenant: TenantId,
        payment: PaymentId,
        invocation: &Invocation,
    ) -> Result<Option<Payment>, LedgerError> {
        self.ledger.get_payment(tenant, payment, invocation).await
    }

    /// The payment that the tenant's key stands for, also after the key was purged: its id is derived from the key.
    ///
    /// # Errors
    /// [`LedgerError`] when the ledger gave no answer.
    pub async fn by_key(
        &self,
        tenant: TenantId,
        key: &IdempotencyKey,
        invocation: &Invocation,
    ) -> Result<Option<Payment>, LedgerError> {
        self.by_id(tenant, key.stored(tenant).payment_id(), invocation)
            .await
    }
}
