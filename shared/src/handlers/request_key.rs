//! The `Idempotency-Key` of a request.

use http::HeaderMap;

use crate::domain::{IdempotencyKey, KeyError};

use super::{Code, Problem};

/// The header field (draft-ietf-httpapi-idempotency-key-header-07 §2).
const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// The one key of the request.
pub(super) fn from_headers(headers: &HeaderMap) -> Result<IdempotencyKey, Problem> {
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => parse(value.as_bytes()),
        (None, _) => Err(missing()),
        (Some(_), Some(_)) => Err(Problem::new(Code::KeyInvalid, "Send exactly one Idempotency-Key.")),
    }
}

/// A key from its text, as in a header or a query.
pub(super) fn parse(text: &[u8]) -> Result<IdempotencyKey, Problem> {
    IdempotencyKey::parse(text).map_err(|error| match error {
        KeyError::Empty => missing(),
        error => Problem::new(Code::KeyInvalid, error.to_string()),
    })
}

fn missing() -> Problem {
    Problem::new(Code::KeyMissing, "Make a key before the first try, store it, and send it with every try.")
}
