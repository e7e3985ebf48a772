//! Problem details (RFC 9457): the one table from what went wrong to what the client reads.

use std::borrow::Cow;
use std::error::Error;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use serde::Serialize;

use crate::domain::{Invocation, PaymentId};
use crate::ports::LedgerError;

/// The header that tells what has to be signed (RFC 9421 §5.1).
const ACCEPT_SIGNATURE: &str = "accept-signature";
/// Seconds after which a client may try again.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("1");

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $status:ident, $retryable:literal, $title:literal;)*) => {
        /// A stable problem code; docs/api.md lists them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Code { $($(#[$doc])* $name,)* }

        impl Code {
            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The code in the `code` member.
            #[must_use]
            pub fn as_str(self) -> &'static str { match self { $(Self::$name => $code,)* } }

            /// The HTTP status it comes with.
            #[must_use]
            pub fn status(self) -> StatusCode { match self { $(Self::$name => StatusCode::$status,)* } }

            /// Whether the same request may succeed later, sent again with the same key.
            #[must_use]
            pub fn retryable(self) -> bool { match self { $(Self::$name => $retryable,)* } }

            fn title(self) -> &'static str { match self { $(Self::$name => $title,)* } }
        }
    };
}

codes! {
    /// No `Idempotency-Key`.
    KeyMissing = "idempotency_key_missing", BAD_REQUEST, false, "The Idempotency-Key is missing";
    /// An `Idempotency-Key` that is not one key.
    KeyInvalid = "idempotency_key_invalid", BAD_REQUEST, false, "The Idempotency-Key is not valid";
    /// The body is not the JSON object that is asked for.
    BodyInvalid = "body_invalid", BAD_REQUEST, false, "The body is not valid";
    /// The amount is out of range.
    AmountInvalid = "amount_invalid", BAD_REQUEST, false, "The amount is not valid";
    /// The recipient is not a UUID.
    RecipientInvalid = "recipient_invalid", BAD_REQUEST, false, "The recipient is not valid";
    /// The account is not a UUID.
    AccountInvalid = "account_invalid", BAD_REQUEST, false, "The account is not valid";
    /// The currency is not an ISO 4217 code.
    CurrencyInvalid = "currency_invalid", BAD_REQUEST, false, "The currency is not valid";
    /// The account has another currency.
    CurrencyMismatch = "currency_mismatch", BAD_REQUEST, false, "The account has another currency";
    /// The payment id in the path is not a UUID.
    PaymentIdInvalid = "payment_id_invalid", BAD_REQUEST, false, "The payment id is not valid";
    /// The query is not exactly one `idempotency_key`.
    QueryInvalid = "query_invalid", BAD_REQUEST, false, "The query is not valid";
    /// The caller did not prove who it is.
    Unauthenticated = "unauthenticated", UNAUTHORIZED, false, "The caller could not be authenticated";
    /// The nonce was used by another request.
    NonceReused = "nonce_reused", UNAUTHORIZED, false, "The signature was used before";
    /// The balance does not cover the amount; remembered for this key.
    InsufficientFunds = "insufficient_funds", PAYMENT_REQUIRED, false, "The balance does not cover the amount";
    /// The tenant has no such payment.
    PaymentNotFound = "payment_not_found", NOT_FOUND, false, "There is no such payment";
    /// The tenant has no such account.
    AccountNotFound = "account_not_found", NOT_FOUND, false, "There is no such account";
    /// No route has this path. Of the server: on AWS the gateway answers.
    RouteNotFound = "route_not_found", NOT_FOUND, false, "There is nothing at this path";
    /// The path's routes have other methods. Of the server: on AWS the gateway answers.
    MethodNotAllowed = "method_not_allowed", METHOD_NOT_ALLOWED, false, "The method is not allowed here";
    /// A rival holds the key or the balance.
    PaymentInProgress = "payment_in_progress", CONFLICT, true, "The payment is still in progress";
    /// The body is over 64 KiB.
    BodyTooLarge = "body_too_large", PAYLOAD_TOO_LARGE, false, "The body is larger than 64 KiB";
    /// The body is not sent as `application/json`.
    MediaTypeUnsupported = "media_type_unsupported", UNSUPPORTED_MEDIA_TYPE, false, "The media type is not supported";
    /// The body is sent with a content coding.
    ContentEncodingUnsupported = "content_encoding_unsupported", UNSUPPORTED_MEDIA_TYPE, false, "The content coding is not supported";
    /// The key belongs to another request.
    KeyReused = "idempotency_key_reused", UNPROCESSABLE_ENTITY, false, "The Idempotency-Key was used for another request";
    /// A defect.
    Internal = "internal_error", INTERNAL_SERVER_ERROR, true, "Something went wrong here";
    /// The ledger cannot be asked now.
    Unavailable = "service_unavailable", SERVICE_UNAVAILABLE, true, "The service is unavailable for the moment";
}

/// A problem, ready to be rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What went wrong.
    pub code: Code,
    detail: Cow<'static, str>,
    declined: Option<PaymentId>,
    challenge: Option<HeaderValue>,
}

/// The longest detail in bytes: details may quote what the client sent, and what it sent may be long.
const DETAIL_LIMIT: usize = 256;

impl Problem {
    /// A problem with a sentence for the person who reads it.
    #[must_use]
    pub fn new(code: Code, detail: impl Into<Cow<'static, str>>) -> Self {
        let mut detail = detail.into();
        if detail.len() > DETAIL_LIMIT {
            let end = detail.floor_char_boundary(DETAIL_LIMIT);
            detail = Cow::Owned(format!("{}…", detail.get(..end).unwrap_or_default()));
        }
        Self { code, detail, declined: None, challenge: None }
    }

    /// The same problem, telling the client what to sign in `Accept-Signature` (RFC 9421 §5.1).
    #[must_use]
    pub fn with_challenge(self, challenge: Option<HeaderValue>) -> Self {
        Self { challenge, ..self }
    }

    /// The remembered decline of a payment.
    #[must_use]
    pub fn declined(payment: PaymentId) -> Self {
        let detail = "The decision is final for this key. After a top-up, pay with a new key.";
        Self { declined: Some(payment), ..Self::new(Code::InsufficientFunds, detail) }
    }

    /// The response: `application/problem+json`, never with SQL, panic text or a stack.
    #[must_use]
    pub fn into_response(self) -> Response<Bytes> {
        let status = self.code.status();
        let body = ProblemBody {
            r#type: format!("urn:problem-type:payments:{}", self.code.as_str()),
            title: self.code.title(),
            status: match self.declined {
                Some(_) => StatusMember::Payment("declined"),
                None => StatusMember::Http(status.as_u16()),
            },
            detail: &self.detail,
            code: self.code.as_str(),
            retryable: self.code.retryable(),
            payment_id: self.declined.map(|id| id.to_string()),
        };
        let mut response = Response::new(serde_json::to_vec(&body).unwrap_or_default().into());
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if matches!(status, StatusCode::CONFLICT | StatusCode::SERVICE_UNAVAILABLE) {
            headers.insert(header::RETRY_AFTER, RETRY_AFTER);
        }
        if let Some(challenge) = self.challenge {
            headers.insert(ACCEPT_SIGNATURE, challenge);
        }
        response
    }
}

impl Problem {
    /// What a client reads when the ledger gave no answer; the cause goes to the log and nowhere else.
    #[must_use]
    pub fn from_ledger(error: &LedgerError, invocation: &Invocation) -> Self {
        let cause = error.source().map(chain).unwrap_or_default();
        tracing::error!(request_id = invocation.request_id(), error = %error, cause, "no answer from the ledger");
        match error {
            LedgerError::Unavailable(_) => Self::new(
                Code::Unavailable,
                "Whether the request had an effect is not known here. Retry with the same key: it tells, and never pays twice.",
            ),
            LedgerError::DeadlineTooNear => {
                Self::new(Code::Unavailable, "Too little time was left, and nothing happened. Retry with the same key.")
            }
            LedgerError::Defect(_) => Self::internal(),
        }
    }

    /// A defect; its cause is in the log and nowhere else.
    #[must_use]
    pub fn internal() -> Self {
        Self::new(
            Code::Internal,
            "The cause was logged under the request id. Retry with the same key: it never pays twice.",
        )
    }
}

/// An error and its causes in one line.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[derive(Serialize)]
struct ProblemBody<'a> {
    r#type: String,
    title: &'static str,
    status: StatusMember,
    detail: &'a str,
    code: &'static str,
    retryable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    payment_id: Option<String>,
}

/// The contract gives a declined payment's status in the member that RFC 9457 §3.1.2 uses, advisorily, for the HTTP status.
#[derive(Serialize)]
#[serde(untagged)]
enum StatusMember {
    Http(u16),
    Payment(&'static str),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique() {
        let mut codes: Vec<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), Code::ALL.len());
    }

    #[test]
    fn only_a_reused_key_is_a_422() {
        let with_422: Vec<_> = Code::ALL.iter().filter(|code| code.status() == 422).collect();
        assert_eq!(with_422, [&Code::KeyReused]);
    }

    #[test]
    fn a_long_detail_is_cut_at_a_character() {
        let response = Problem::new(Code::BodyInvalid, "é".repeat(10_000)).into_response();
        let body: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
        assert_eq!(body["detail"].as_str().unwrap().chars().count(), 129);
        assert_eq!(body["status"], 400);
    }
}
