//! The caller of a request, or the 401 that it reads.

use http::request::Parts;

use crate::auth::Authenticator;
use crate::domain::{Caller, Invocation};

use super::{Code, Problem, Reply};

/// The caller, once the request has proved it.
pub(super) fn of(
    request: &Parts,
    body: &[u8],
    authenticator: &Authenticator,
    invocation: &Invocation,
) -> Result<Caller, Problem> {
    authenticator.authenticate(request, body).map_err(|reason| {
        tracing::warn!(request_id = invocation.request_id(), %reason, "unauthenticated");
        unknown(request, authenticator)
    })
}

/// The ledger knows no such tenant, or its signing key is retired: the log tells it apart, the client cannot.
pub(super) fn unknown_to_ledger(request: &Parts, authenticator: &Authenticator) -> Reply {
    Reply::new("caller_unknown", unknown(request, authenticator).into_response())
}

/// The caller is nobody known. One wording for every reason: a guess must not be rewarded.
fn unknown(request: &Parts, authenticator: &Authenticator) -> Problem {
    Problem::new(Code::Unauthenticated, "The request does not prove who sent it.")
        .with_challenge(authenticator.challenge(&request.method))
}

/// The signature was used before.
pub(super) fn nonce_reused(request: &Parts, authenticator: &Authenticator) -> Problem {
    Problem::new(Code::NonceReused, "This nonce was used. Sign each try anew, with a fresh nonce and the same key.")
        .with_challenge(authenticator.challenge(&request.method))
}
