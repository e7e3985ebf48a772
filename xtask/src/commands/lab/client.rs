//! A client as the documents ask for: signs each try anew, and retries with the same key until it is answered.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::signing::Proof;
use crate::stack::functions::AuthMode;
use crate::stack::http;

/// Minor units of each payment.
pub(super) const AMOUNT: i64 = 2500;
const PAUSE: Duration = Duration::from_millis(50);
/// The longest wait for one answer.
const LIMIT: Duration = Duration::from_secs(20);

/// One payment that a client wants to make.
#[derive(Clone, Copy)]
pub(super) struct Wish {
    /// The account that pays.
    pub(super) account: Uuid,
    /// The idempotency key.
    pub(super) key: Uuid,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// The HTTP status.
    pub(super) status: u16,
    /// The payment that it names.
    pub(super) payment: Option<Uuid>,
    /// The body.
    pub(super) body: String,
}

/// What a client heard until it was content or gave up.
#[derive(Clone, Debug)]
pub(super) struct Heard {
    /// Answers other than the last, and cut connections.
    pub(super) retries: u32,
    /// The last answer; none if it was a cut connection.
    pub(super) last: Option<Answer>,
}

impl Heard {
    /// Whether the client knows the outcome.
    pub(super) fn is_settled(&self) -> bool {
        self.last.as_ref().is_some_and(|answer| answer.status == 200)
    }
}

/// Pays through the API; the counter-example does not look at the signature.
pub(super) struct Client {
    http: reqwest::Client,
    proof: Proof,
}

impl Client {
    /// A client of this tenant.
    pub(super) fn of(tenant: Uuid) -> Result<Self> {
        Ok(Self { http: http::client(LIMIT)?, proof: Proof::local(AuthMode::Hmac, tenant)? })
    }

    /// One try.
    pub(super) async fn pay(&self, base_url: &str, wish: Wish) -> Result<Answer> {
        let body = json!({ "account_id": wish.account, "recipient_id": wish.account, "amount": AMOUNT });
        let request = self.http.post(format!("{base_url}/api/v1/payments"));
        let request = request.header("Idempotency-Key", wish.key.to_string()).json(&body).build()?;
        let answer = self.http.execute(self.proof.add_to(request)?).await.context("no answer")?;
        let status = answer.status().as_u16();
        let body = answer.text().await.context("the answer broke off")?;
        let payment = serde_json::from_str::<Value>(&body)
            .ok()
            .and_then(|body| body.get("payment_id").and_then(Value::as_str).and_then(|id| id.parse().ok()));
        Ok(Answer { status, payment, body })
    }

    /// Tries until the outcome is known, or for as long as `patience`.
    pub(super) async fn pay_until_answered(&self, base_url: &str, wish: Wish, patience: Duration) -> Heard {
        let deadline = Instant::now() + patience;
        let mut retries = 0;
        loop {
            let last = self.pay(base_url, wish).await.ok();
            let heard = Heard { retries, last };
            let open = heard.last.as_ref().is_none_or(|answer| answer.status == 409 || answer.status >= 500);
            if !open || Instant::now() > deadline {
                return heard;
            }
            retries += 1;
            tokio::time::sleep(PAUSE).await;
        }
    }
}
