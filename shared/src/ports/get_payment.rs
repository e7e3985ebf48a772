//! The contract for looking a payment up.

use crate::domain::{Invocation, Payment, PaymentId, TenantId};

use super::LedgerError;

/// Looks payments up.
pub trait GetPayment: Send + Sync {
    /// The payment of that id, if the tenant has one.
    ///
    /// An implementation MUST NOT return another tenant's payment, and MUST see every payment committed before the call.
    fn get_payment(
        &self,
        tenant: TenantId,
        payment: PaymentId,
        invocation: &Invocation,
    ) -> impl Future<Output = Result<Option<Payment>, LedgerError>> + Send;
}
