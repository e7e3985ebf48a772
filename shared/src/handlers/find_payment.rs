//! `GET /api/v1/payments?idempotency_key=K`: did it happen?

use bytes::Bytes;
use http::Request;

use crate::auth::Authenticator;
use crate::domain::{IdempotencyKey, Invocation};
use crate::ports::GetPayment;
use crate::use_cases::LookUpPayment;

use super::{Code, Endpoint, Problem, Reply, get_payment, request_caller, request_key};

/// Answers with the payment that one of the tenant's keys stands for.
#[derive(Debug)]
pub struct FindPaymentHandler<L> {
    authenticator: Authenticator,
    use_case: LookUpPayment<L>,
}

impl<L: GetPayment> FindPaymentHandler<L> {
    /// The handler of that use case.
    pub fn new(authenticator: Authenticator, use_case: LookUpPayment<L>) -> Self {
        Self { authenticator, use_case }
    }

    async fn find(&self, request: Request<Bytes>, invocation: &Invocation) -> Result<Reply, Problem> {
        let (request, body) = request.into_parts();
        let caller = request_caller::of(&request, &body, &self.authenticator, invocation)?;
        let key = key_of(request.uri.query().unwrap_or_default())?;
        let stored = key.stored(caller.tenant);
        let found = self.use_case.by_key(&caller, &key, invocation).await;
        let reply = get_payment::reply(found, &request, &self.authenticator, invocation);
        Ok(reply.about(Some(stored), Some(stored.payment_id())))
    }
}

impl<L: GetPayment> Endpoint for FindPaymentHandler<L> {
    const NAME: &'static str = "find_payment";

    async fn respond(&self, request: Request<Bytes>, invocation: &Invocation) -> Reply {
        self.find(request, invocation).await.unwrap_or_else(Reply::from)
    }
}

fn key_of(query: &str) -> Result<IdempotencyKey, Problem> {
    let mut parameters = form_urlencoded::parse(query.as_bytes());
    match (parameters.next(), parameters.next()) {
        (Some((name, value)), None) if name == "idempotency_key" => request_key::parse(value.as_bytes()),
        _ => Err(Problem::new(Code::QueryInvalid, "Ask with exactly one parameter, idempotency_key.")),
    }
}
