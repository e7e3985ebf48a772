//! The API as a client sees it: requests to the real handlers on a real database, in this process.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use payments::auth::Authenticator;
use payments::config::DatabaseConfig;
use payments::domain::Invocation;
use payments::handlers::{CreatePaymentHandler, FindPaymentHandler, GetPaymentHandler, serve};
use payments::repositories::PostgresLedger;
use payments::use_cases::{LookUpPayment, WithdrawIdempotent};
use serde_json::Value;
use uuid::Uuid;

use super::database::{config, ledger_with};
use super::signing::{MASTER, SigningClient, hmac, register_signing_key};
use super::{Ledger, TestDatabase, Wire};

/// The recipient of every payment whose recipient does not matter.
pub(crate) const RECIPIENT: Uuid = Uuid::from_u128(0x00c0_ffee);

/// How the tests' callers are known.
pub(crate) fn authenticator() -> Authenticator {
    Authenticator::Internal
}

/// The three endpoints.
pub(crate) struct Api {
    create: CreatePaymentHandler<PostgresLedger>,
    get: GetPaymentHandler<PostgresLedger>,
    find: FindPaymentHandler<PostgresLedger>,
}

impl Api {
    /// The API on a ledger, in internal mode.
    pub(crate) fn new(ledger: &PostgresLedger) -> Self {
        Self::with_authenticator(ledger, authenticator)
    }

    /// The API on a ledger.
    pub(crate) fn with_authenticator(ledger: &PostgresLedger, authenticator: impl Fn() -> Authenticator) -> Self {
        Self {
            create: CreatePaymentHandler::new(authenticator(), WithdrawIdempotent::new(ledger.clone())),
            get: GetPaymentHandler::new(authenticator(), LookUpPayment::new(ledger.clone())),
            find: FindPaymentHandler::new(authenticator(), LookUpPayment::new(ledger.clone())),
        }
    }

    /// The API on a fresh database with the fixture of cases.md.
    pub(crate) async fn with_ledger() -> (Self, Ledger) {
        let (api, ledger, _) = Self::with_database().await;
        (api, ledger)
    }

    /// The same, and the database itself.
    pub(crate) async fn with_database() -> (Self, Ledger, TestDatabase) {
        let database = TestDatabase::new().await;
        let ledger = Ledger::new(database.owner().await).await;
        (Self::new(&database.ledger(20)), ledger, database)
    }

    /// The API in hmac mode on a fresh database with the fixture, and T1's client.
    pub(crate) async fn signed() -> (Self, Ledger, SigningClient, TestDatabase) {
        let database = TestDatabase::new().await;
        let ledger = Ledger::new(database.owner().await).await;
        register_signing_key(&ledger.owner, ledger.t1, 1).await;
        let client = SigningClient::new(ledger.t1, 1);
        (Self::with_authenticator(&database.ledger(20), || hmac(MASTER)), ledger, client, database)
    }

    /// The API in internal mode, reached through a wire that can fail, on a pool of one connection.
    pub(crate) async fn behind_wire() -> (Self, Ledger, Wire) {
        let database = TestDatabase::new().await;
        let ledger = Ledger::new(database.owner().await).await;
        let wire = Wire::to(&database.app_url()).await;
        let api = Self::new(&ledger_with(&DatabaseConfig {
            connect_timeout_ms: 300,
            statement_timeout_ms: 500,
            ..config(wire.url(), 1)
        }));
        (api, ledger, wire)
    }

    /// Sends `POST /api/v1/payments`.
    pub(crate) async fn pay(&self, pay: Pay) -> Answer {
        self.send(pay.request()).await
    }

    /// Sends any request to the endpoint that its method and path lead to.
    pub(crate) async fn send(&self, request: Request<Bytes>) -> Answer {
        self.send_within(Duration::from_secs(9), request).await
    }

    /// The same, with that much time for an answer.
    pub(crate) async fn send_within(&self, budget: Duration, request: Request<Bytes>) -> Answer {
        let invocation = Invocation::new(Uuid::new_v4().to_string(), budget);
        let response = if request.method() != "GET" {
            serve(&self.create, request, &invocation).await
        } else if request.uri().path() == "/api/v1/payments" {
            serve(&self.find, request, &invocation).await
        } else {
            serve(&self.get, request, &invocation).await
        };
        let (parts, body) = response.into_parts();
        Answer { status: parts.status, headers: parts.headers, body, round_trips: invocation.round_trips() }
    }

    /// Sends `GET` to a path and query as a tenant.
    pub(crate) async fn get(&self, tenant: Uuid, path_and_query: &str) -> Answer {
        let request = Request::get(path_and_query).header("tenant-id", tenant.to_string()).body(Bytes::new()).unwrap();
        self.send(request).await
    }
}

/// What a client received.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Statements that were sent to the database for it.
    pub(crate) round_trips: u32,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The member `code` of a problem.
    pub(crate) fn code(&self) -> String {
        assert_eq!(self.headers["content-type"], "application/problem+json", "{self:?}");
        self.json()["code"].as_str().unwrap().to_owned()
    }

    pub(crate) fn payment_id(&self) -> Uuid {
        self.json()["payment_id"].as_str().unwrap().parse().unwrap()
    }

    pub(crate) fn is_replay(&self) -> bool {
        self.headers.get("idempotent-replayed").is_some_and(|value| value == "true")
    }

    /// Asserts that this very call paid.
    pub(crate) fn assert_executed(&self) {
        assert_eq!((self.status.as_u16(), self.is_replay()), (200, false), "{self:?}");
    }

    /// Asserts that this is the answer `first` again: status, bytes and headers, but for the mark and the request id.
    pub(crate) fn assert_replays(&self, first: &Self) {
        assert!(self.is_replay(), "{self:?}");
        let essence = |answer: &Self| {
            let mut headers = answer.headers.clone();
            headers.remove("idempotent-replayed");
            headers.remove("x-request-id");
            (answer.status, headers, answer.body.clone())
        };
        assert_eq!(essence(self), essence(first));
    }

    /// Asserts a new, remembered decline.
    pub(crate) fn assert_declined(&self) {
        self.assert_problem(402, "insufficient_funds");
        assert_eq!((&self.json()["status"], self.is_replay()), (&Value::from("declined"), false));
    }

    /// Asserts that the service asks to try again later.
    pub(crate) fn assert_unavailable(&self) {
        self.assert_problem(503, "service_unavailable");
        self.assert_asks_for_a_retry();
    }

    /// Asserts `Retry-After` in seconds, and a problem that says it may be retried.
    pub(crate) fn assert_asks_for_a_retry(&self) {
        let seconds: u32 = self.headers["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((1..=60).contains(&seconds), "{self:?}");
        assert_eq!(self.json()["retryable"], true);
    }

    /// Asserts status and problem code.
    pub(crate) fn assert_problem(&self, status: u16, code: &str) {
        assert_eq!((self.status.as_u16(), self.code().as_str()), (status, code), "{self:?}");
    }
}

/// `POST /api/v1/payments`, by default REQ(k) of cases.md: amount 2500, a fixed recipient.
#[derive(Clone, Debug)]
pub(crate) struct Pay {
    pub(crate) tenant: Uuid,
    pub(crate) key: String,
    pub(crate) amount: i64,
    pub(crate) recipient: Uuid,
    pub(crate) currency: Option<&'static str>,
    pub(crate) account: Option<Uuid>,
}

impl Pay {
    /// REQ(key) of a tenant.
    pub(crate) fn new(tenant: Uuid, key: &str) -> Self {
        Self { tenant, key: key.to_owned(), amount: 2500, recipient: RECIPIENT, currency: None, account: None }
    }

    /// REQ with a fresh key.
    pub(crate) fn fresh(tenant: Uuid) -> Self {
        Self::new(tenant, &Uuid::new_v4().to_string())
    }

    pub(crate) fn amount(self, amount: i64) -> Self {
        Self { amount, ..self }
    }

    pub(crate) fn recipient(self, recipient: Uuid) -> Self {
        Self { recipient, ..self }
    }

    pub(crate) fn currency(self, currency: &'static str) -> Self {
        Self { currency: Some(currency), ..self }
    }

    pub(crate) fn account(self, account: Uuid) -> Self {
        Self { account: Some(account), ..self }
    }

    /// The body as JSON.
    pub(crate) fn body(&self) -> String {
        let mut body = serde_json::json!({ "amount": self.amount, "recipient_id": self.recipient });
        if let Some(currency) = self.currency {
            body["currency"] = currency.into();
        }
        if let Some(account) = self.account {
            body["account_id"] = account.to_string().into();
        }
        body.to_string()
    }

    /// The request with another body.
    pub(crate) fn request_with_body(&self, body: impl Into<Bytes>) -> Request<Bytes> {
        Request::post("/api/v1/payments")
            .header("tenant-id", self.tenant.to_string())
            .header("idempotency-key", &self.key)
            .header("content-type", "application/json")
            .body(body.into())
            .unwrap()
    }

    pub(crate) fn request(&self) -> Request<Bytes> {
        self.request_with_body(self.body())
    }
}
