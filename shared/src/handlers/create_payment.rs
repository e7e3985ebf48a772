//! `POST /api/v1/payments`

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};

use crate::auth::Authenticator;
use crate::domain::{Idempotency, Invocation, StoredKey};
use crate::ports::CreatePayment;
use crate::use_cases::{WithdrawIdempotent, WithdrawOutcome};

use super::{Code, Endpoint, Problem, Reply, payment_body, request_body, request_key};

/// Marks the answer of a call that executed nothing because an earlier one had.
const IDEMPOTENT_REPLAYED: &str = "idempotent-replayed";

/// Pays, exactly once for each idempotency key.
#[derive(Debug)]
pub struct CreatePaymentHandler<L> {
    authenticator: Authenticator,
    use_case: WithdrawIdempotent<L>,
}

impl<L: CreatePayment> CreatePaymentHandler<L> {
    /// The handler of that use case.
    pub fn new(authenticator: Authenticator, use_case: WithdrawIdempotent<L>) -> Self {
        Self {
            authenticator,
            use_case,
        }
    }

    /// Size and key first, then who asks, and only then what is asked: a stranger learns nothing from a body.
    async fn pay(
        &self,
        request: Request<Bytes>,
        invocation: &Invocation,
    ) -> Result<Reply, Problem> {
        let (request, body) = request.into_parts();
        request_body::check_size(&body)?;
        let key = request_key::from_headers(&request.headers)?;
        let caller = self.authenticator.authenticate(&request)?;
        request_body::check_media_type(&request.headers)?;
        let withdrawal = request_body::parse(&body, caller.tenant)?;

        let stored_key = key.stored(caller.tenant);
        let idempotency = Idempotency::Keyed(key);
        let reply = match self
            .use_case
            .execute(&withdrawal, &idempotency, invocation)
            .await
        {
            Ok(outcome) => reply(outcome, stored_key),
            Err(error) => Reply::from(Problem::from_ledger(&error, invocation)),
        };
        Ok(reply)
    }
}

impl<L: CreatePayment> Endpoint for CreatePaymentHandler<L> {
    const NAME: &'static str = "create_payment";

    async fn respond(&self, request: Request<Bytes>, invocation: &Invocation) -> Reply {
        self.pay(request, invocation)
            .await
            .unwrap_or_else(Reply::from)
    }
}

/// The one table from the outcome of a withdrawal to its answer.
fn reply(outcome: WithdrawOutcome, key: StoredKey) -> Reply {
    let payment_id = Some(key.payment_id());
    match outcome {
        WithdrawOutcome::Executed(payment) => {
            Reply::new("executed", located(payment_body::response(&payment), &payment.id.to_string()))
        }
        WithdrawOutcome::Replayed(payment) => {
            Reply::new("replayed", replayed(located(payment_body::response(&payment), &payment.id.to_string())))
        }
        WithdrawOutcome::Declined { payment, replayed: false } => {
            Reply::new("declined", Problem::declined(payment.id).into_response())
        }
        WithdrawOutcome::Declined { payment, replayed: true } => {
            Reply::new("decline_replayed", replayed(Problem::declined(payment.id).into_response()))
        }
        WithdrawOutcome::KeyReused => {
            Problem::new(Code::KeyReused, "This key belongs to a payment with other values. Use a new key for a new payment.").into()
        }
        WithdrawOutcome::InProgress => Problem::new(
            Code::PaymentInProgress,
            "The outcome is not known yet: this key or its account is still busy. Retry with the same key.",
        )
        .into(),
        WithdrawOutcome::UnknownTenant => Problem::unauthenticated().into(),
        WithdrawOutcome::UnknownAccount => {
            Problem::new(Code::AccountNotFound, "Nothing was stored: the key is still free.").into()
        }
        WithdrawOutcome::CurrencyMismatch => {
            Problem::new(Code::CurrencyMismatch, "A payment is made in its account's currency. Nothing was stored: the key is still free.")
                .into()
        }
    }
    .about(Some(key), payment_id)
}

fn located(mut response: Response<Bytes>, payment_id: &str) -> Response<Bytes> {
    if let Ok(location) = HeaderValue::try_from(format!("/api/v1/payments/{payment_id}")) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

fn replayed(mut response: Response<Bytes>) -> Response<Bytes> {
    response
        .headers_mut()
        .insert(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"));
    response
}
