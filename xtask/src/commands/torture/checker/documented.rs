//! Which answers a client of this run may hear at all, by `docs/api.md`, and what none may contain.

use super::{Findings, Flaw};
use crate::commands::torture::history::{Answer, Attempt, Journey, Sent};

/// Problems that a correct client may meet under faults: status, code, whether it must say when to come back.
const PROBLEMS: [(u16, &str, bool); 6] = [
    (401, "nonce_reused", false),
    (401, "unauthenticated", false),
    (402, "insufficient_funds", false),
    (409, "payment_in_progress", true),
    (422, "idempotency_key_reused", false),
    (503, "service_unavailable", true),
];
/// What a gateway says of its own accord when it has too much to do, or the function behind it is gone.
const GATEWAY: [u16; 4] = [429, 502, 503, 504];
/// Words of the inside, in lower case.
const INSIDE: [&str; 10] = [
    "select ",
    "insert ",
    "delete from",
    "update account",
    "_pkey",
    "sqlstate",
    "duplicate key",
    "tokio_postgres",
    "panicked",
    "src/",
];

/// SQLSTATEs, as words of their own: the digits alone happen to be in an id now and then.
const STATES: [&str; 2] = ["23505", "25p02"];

/// Judges every answer of a journey.
pub(super) fn check(journey: &Journey, findings: &mut Findings) {
    let key = &journey.wish.key;
    for attempt in &journey.attempts {
        let Some(answer) = &attempt.answer else { continue };
        if !is_documented(attempt, answer) {
            findings.add(Flaw::Undocumented, key, format!("{} {} is not documented", answer.status, answer.body));
        }
        let body = answer.body.to_lowercase();
        let inside = INSIDE.iter().find(|word| body.contains(*word));
        let mut words = body.split(|at: char| !at.is_ascii_alphanumeric());
        if let Some(word) = inside.copied().or_else(|| words.find(|word| STATES.contains(word))) {
            findings.add(Flaw::Undocumented, key, format!("an answer with `{word}` in it: {}", answer.body));
        }
    }
}

/// Whether the gateway gave that answer itself: the product names every request.
pub(super) fn is_of_gateway(answer: &Answer) -> bool {
    !answer.request_id && GATEWAY.contains(&answer.status)
}

fn is_documented(attempt: &Attempt, answer: &Answer) -> bool {
    if is_of_gateway(answer) {
        return true;
    }
    if !answer.request_id {
        return false;
    }
    if answer.status == 200 {
        return true;
    }
    let code = answer.text("code").unwrap_or_default();
    let not_found = attempt.sent == Sent::LookUp && (answer.status, code.as_str()) == (404, "payment_not_found");
    not_found
        || PROBLEMS.iter().any(|(status, name, retry_after)| {
            *status == answer.status && *name == code && (!retry_after || answer.retry_after)
        })
}
