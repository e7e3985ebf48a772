//! `GET /api/v1/payments/{payment_id}`

use bytes::Bytes;
use http::Request;
use http::request::Parts;

use crate::auth::Authenticator;
use crate::domain::{Invocation, PaymentId, hyphenated_uuid};
use crate::ports::{GetPayment, LedgerError, LookUp};
use crate::use_cases::LookUpPayment;

use super::{Code, Endpoint, Problem, Reply, payment_body, request_caller};

/// Answers with one of the tenant's payments.
#[derive(Debug)]
pub struct GetPaymentHandler<L> {
    authenticator: Authenticator,
    use_case: LookUpPayment<L>,
}

impl<L: GetPayment> GetPaymentHandler<L> {
    /// The handler of that use case.
    pub fn new(authenticator: Authenticator, use_case: LookUpPayment<L>) -> Self {
        Self { authenticator, use_case }
    }

    async fn look_up(&self, request: Request<Bytes>, invocation: &Invocation) -> Result<Reply, Problem> {
        let (request, body) = request.into_parts();
        let caller = request_caller::of(&request, &body, &self.authenticator, invocation)?;
        let id = request.uri.path().rsplit('/').next().and_then(hyphenated_uuid).map(PaymentId).ok_or_else(|| {
            Problem::new(Code::PaymentIdInvalid, "The payment id must be a UUID in its hyphenated form.")
        })?;
        let found = self.use_case.by_id(&caller, id, invocation).await;
        Ok(reply(found, &request, &self.authenticator, invocation).about(None, Some(id)))
    }
}

impl<L: GetPayment> Endpoint for GetPaymentHandler<L> {
    const NAME: &'static str = "get_payment";

    async fn respond(&self, request: Request<Bytes>, invocation: &Invocation) -> Reply {
        self.look_up(request, invocation).await.unwrap_or_else(Reply::from)
    }
}

/// The answer to a look-up, by id or by key.
pub(super) fn reply(
    found: Result<LookUp, LedgerError>,
    request: &Parts,
    authenticator: &Authenticator,
    invocation: &Invocation,
) -> Reply {
    match found {
        Ok(LookUp::Found(payment)) => Reply::new("found", payment_body::response(&payment)),
        Ok(LookUp::Unknown) => {
            Problem::new(Code::PaymentNotFound, "No payment of yours is stored under this id or key.").into()
        }
        Ok(LookUp::UnknownCaller) => request_caller::unknown_to_ledger(request, authenticator),
        Err(error) => Problem::from_ledger(&error, invocation).into(),
    }
}
