//! `POST /api/v1/payments`

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Request, Response, header};

use crate::auth::Authenticator;
use crate::domain::{Idempotency, Invocation, Payment};
use crate::ports::CreatePayment;
use crate::use_cases::{WithdrawIdempotent, WithdrawOutcome};

use super::{Code, Endpoint, Problem, Reply, payment_body, request_body, request_caller, request_key};

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
        Self { authenticator, use_case }
    }

    /// Syntax first, then who asks, and only then what is asked: a stranger learns nothing from a body.
    async fn pay(&self, request: Request<Bytes>, invocation: &Invocation) -> Result<Reply, Problem> {
        let (request, body) = request.into_parts();
        request_body::check_size(&body)?;
        request_body::check_media_type_is_given(&request.headers)?;
        let key = request_key::from_headers(&request.headers)?;
        let caller = request_caller::of(&request, &body, &self.authenticator, invocation)?;
        request_body::check_media_type(&request.headers)?;
        let withdrawal = request_body::parse(&body)?;

        let stored_key = key.stored(caller.tenant);
        let outcome = self.use_case.execute(&caller, &withdrawal, &Idempotency::Keyed(key), invocation).await;
        let reply = match outcome {
            Ok(outcome) => self.reply(outcome, &request),
            Err(error) => Problem::from_ledger(&error, invocation).into(),
        };
        Ok(reply.about(Some(stored_key), Some(stored_key.payment_id())))
    }

    /// The one table from the outcome of a withdrawal to its answer.
    fn reply(&self, outcome: WithdrawOutcome, request: &Parts) -> Reply {
        match outcome {
            WithdrawOutcome::Executed(payment) => Reply::new("executed", paid(&payment)),
            WithdrawOutcome::Replayed(payment) => Reply::new("replayed", replayed(paid(&payment))),
            WithdrawOutcome::Declined { payment, replayed: false } => {
                Reply::new("declined", Problem::declined(payment.id).into_response())
            }
            WithdrawOutcome::Declined { payment, replayed: true } => {
                Reply::new("decline_replayed", replayed(Problem::declined(payment.id).into_response()))
            }
            WithdrawOutcome::KeyReused => Problem::new(
                Code::KeyReused,
                "This key belongs to a payment with other values. Use a new key for a new payment.",
            )
            .into(),
            WithdrawOutcome::InProgress => Problem::new(
                Code::PaymentInProgress,
                "The outcome is not known yet: this key or its account is still busy. Retry with the same key.",
            )
            .into(),
            WithdrawOutcome::UnknownAccount => {
                Problem::new(Code::AccountNotFound, "Nothing was stored: the key is still free.").into()
            }
            WithdrawOutcome::CurrencyMismatch => Problem::new(
                Code::CurrencyMismatch,
                "A payment is made in its account's currency. Nothing was stored: the key is still free.",
            )
            .into(),
            WithdrawOutcome::UnknownCaller => request_caller::unknown_to_ledger(request, &self.authenticator),
            WithdrawOutcome::NonceReused => request_caller::nonce_reused(request, &self.authenticator).into(),
        }
    }
}

impl<L: CreatePayment> Endpoint for CreatePaymentHandler<L> {
    const NAME: &'static str = "create_payment";

    async fn respond(&self, request: Request<Bytes>, invocation: &Invocation) -> Reply {
        self.pay(request, invocation).await.unwrap_or_else(Reply::from)
    }
}

fn paid(payment: &Payment) -> Response<Bytes> {
    let mut response = payment_body::response(payment);
    if let Ok(location) = HeaderValue::try_from(format!("/api/v1/payments/{}", payment.id)) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

fn replayed(mut response: Response<Bytes>) -> Response<Bytes> {
    response.headers_mut().insert(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"));
    response
}
