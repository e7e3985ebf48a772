//! What clients wanted, sent and heard. The checker's one source beside the database.
//!
//! Knows the API as its documents describe it; nothing of the product's code.

use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

/// A payment that a client wants, made up before its first try. Its recipient is nobody else's.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Wish {
    /// The idempotency key.
    pub(crate) key: String,
    /// Which of the tenants.
    pub(crate) tenant: usize,
    /// Who pays.
    pub(crate) account: Uuid,
    /// Whether the request names the account; otherwise it is the tenant's default.
    pub(crate) names_account: bool,
    /// Who receives: marks every row that this wish causes.
    pub(crate) recipient: Uuid,
    /// Minor units.
    pub(crate) amount: i64,
}

impl Wish {
    /// The request's body with that amount.
    pub(crate) fn body(&self, amount: i64) -> Value {
        let mut body = json!({ "recipient_id": self.recipient, "amount": amount });
        if let (true, Some(members)) = (self.names_account, body.as_object_mut()) {
            members.insert("account_id".to_owned(), json!(self.account));
        }
        body
    }
}

/// What was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Sent {
    /// The payment, as it was wished for.
    Payment,
    /// The same key with another amount: a client's bug.
    OtherAmount,
    /// A look-up by key.
    LookUp,
}

/// An answer, as far as anybody looks at it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Answer {
    /// The HTTP status.
    pub(crate) status: u16,
    /// Whether it is marked as a replay.
    pub(crate) replayed: bool,
    /// Whether it says when to come back.
    pub(crate) retry_after: bool,
    /// Whether it names the request.
    pub(crate) request_id: bool,
    /// The body.
    pub(crate) body: String,
}

impl Answer {
    /// A member of the JSON body that is a text.
    pub(crate) fn text(&self, member: &str) -> Option<String> {
        let body: Value = serde_json::from_str(&self.body).ok()?;
        body.get(member)?.as_str().map(str::to_owned)
    }
}

/// One try. Times are in milliseconds since the start of the run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Attempt {
    /// What was sent.
    pub(crate) sent: Sent,
    /// When.
    pub(crate) sent_ms: u64,
    /// When the answer was there, or it was clear that none would come.
    pub(crate) heard_ms: u64,
    /// The answer; none if the connection broke or the client's patience ended.
    pub(crate) answer: Option<Answer>,
}

impl Attempt {
    /// Whether it tells the outcome of the payment.
    pub(crate) fn is_final(&self) -> bool {
        self.sent == Sent::Payment && matches!(self.status(), Some(200 | 402))
    }

    /// The answer's status.
    pub(crate) fn status(&self) -> Option<u16> {
        self.answer.as_ref().map(|answer| answer.status)
    }
}

/// A wish and everything that happened to it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Journey {
    /// The wish.
    pub(crate) wish: Wish,
    /// Every try.
    pub(crate) attempts: Vec<Attempt>,
    /// Whether the client kept asking to the end. Another one went away and does not care.
    pub(crate) wants_answer: bool,
}

impl Journey {
    /// When the outcome was first heard.
    pub(crate) fn settled_ms(&self) -> Option<u64> {
        self.attempts.iter().filter(|attempt| attempt.is_final()).map(|attempt| attempt.heard_ms).min()
    }
}
