//! The contract for looking a payment up.

use crate::domain::{Caller, Invocation, Payment, PaymentId};

use super::LedgerError;

/// What the ledger says about a payment id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookUp {
    /// The tenant's payment.
    Found(Payment),
    /// The tenant has no such payment.
    Unknown,
    /// There is no such tenant, or its signing key is retired.
    UnknownCaller,
}

/// Looks payments up.
pub trait GetPayment: Send + Sync {
    /// The payment of that id, if the caller's tenant has one.
    ///
    /// An implementation MUST NOT return another tenant's payment, MUST refuse a retired signing key, and MUST see every payment committed before the call.
    fn get_payment(
        &self,
        caller: &Caller,
        payment: PaymentId,
        invocation: &Invocation,
    ) -> impl Future<Output = Result<LookUp, LedgerError>> + Send;
}
