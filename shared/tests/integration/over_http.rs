//! The same scenarios against the running API: real processes, each with its own connection, behind HTTP.
//! Each test brings its own tenant, so a stack in use is not disturbed.

use std::collections::HashSet;

use bytes::Bytes;
use futures_util::future::join_all;
use http::Request;
use reqwest::{Client, RequestBuilder};
use uuid::Uuid;

use crate::support::ledger::{create_account, create_tenant, set_default_account};
use crate::support::signing::{SigningClient, register_signing_key};
use crate::support::{Answer, Pay, database, env};

/// The running API, and a tenant of this test with 10,000 minor units of EUR.
struct Stack {
    client: Client,
    base_url: String,
    ledger: tokio_postgres::Client,
    tenant: Uuid,
    account: Uuid,
    signing: SigningClient,
}

impl Stack {
    async fn with_tenant() -> Self {
        let base_url = env("BASE_URL");
        let ledger = database::connect(&env("LEDGER_URL")).await;
        let tenant = create_tenant(&ledger).await;
        let account = create_account(&ledger, tenant, "EUR", 10_000).await;
        set_default_account(&ledger, tenant, account).await;
        register_signing_key(&ledger, tenant, 1).await;
        let signing = signing_client(tenant);
        Self { client: Client::new(), base_url, ledger, tenant, account, signing }
    }

    async fn pay(&self, pay: &Pay) -> Answer {
        self.send(self.signing.sign(pay.request())).await
    }

    async fn get(&self, tenant: Uuid, path_and_query: &str) -> Answer {
        let request = Request::get(path_and_query).body(Bytes::new()).unwrap();
        self.send(signing_client(tenant).sign(request)).await
    }

    /// Sends a request as it is.
    async fn send(&self, request: Request<Bytes>) -> Answer {
        let (parts, body) = request.into_parts();
        let url = format!("{}{}", self.base_url, parts.uri);
        receive(self.client.request(parts.method, url).headers(parts.headers).body(body)).await
    }

    /// Balance, payments and keys of the tenant.
    async fn state(&self) -> (i64, i64, i64) {
        let sql = "SELECT (SELECT balance FROM accounts WHERE id = $2),
                          (SELECT count(*) FROM payments WHERE tenant_id = $1),
                          (SELECT count(*) FROM idempotency_keys k JOIN payments p ON p.id = k.payment_id WHERE p.tenant_id = $1)";
        let row = self.ledger.query_one(sql, &[&self.tenant, &self.account]).await.unwrap();
        (row.get(0), row.get(1), row.get(2))
    }
}

/// A client with a secret that the running API knows.
fn signing_client(tenant: Uuid) -> SigningClient {
    SigningClient::of_master(&env("MASTER_SECRETS"), tenant, 1)
}

/// Sends a request, and asserts what every answer has.
async fn receive(request: RequestBuilder) -> Answer {
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status(), response.headers().clone());
    let body = response.bytes().await.unwrap();
    let answer = Answer { status, headers, body, round_trips: 0 };
    assert!(!answer.headers["x-request-id"].is_empty(), "{answer:?}");
    assert_eq!(answer.headers["cache-control"], "no-store");
    answer
}

/// Asserts that both are the same answer, the second one a replay. Headers of the connection may differ.
fn assert_replays(replay: &Answer, first: &Answer) {
    assert!(replay.is_replay(), "{replay:?}");
    for name in ["content-type", "location"] {
        assert_eq!(replay.headers.get(name), first.headers.get(name));
    }
    assert_eq!((replay.status, &replay.body), (first.status, &first.body));
}

#[tokio::test]
async fn c1_a_replay_over_http_has_the_same_bytes_and_debits_nothing() {
    let stack = Stack::with_tenant().await;
    let request = Pay::fresh(stack.tenant);

    let first = stack.pay(&request).await;
    let second = stack.pay(&request).await;

    first.assert_executed();
    assert_replays(&second, &first);
    assert_ne!(first.headers["x-request-id"], second.headers["x-request-id"]);
    assert_eq!(stack.state().await, (7_500, 1, 1));
}

#[tokio::test]
async fn c5_two_keys_over_http_are_two_payments() {
    let stack = Stack::with_tenant().await;

    let first = stack.pay(&Pay::fresh(stack.tenant)).await;
    let second = stack.pay(&Pay::fresh(stack.tenant)).await;

    first.assert_executed();
    second.assert_executed();
    assert_ne!(first.payment_id(), second.payment_id());
    assert_eq!(stack.state().await, (5_000, 2, 2));
}

#[tokio::test]
async fn c14_fifty_identical_requests_to_parallel_processes_pay_once() {
    let stack = Stack::with_tenant().await;
    let request = Pay::fresh(stack.tenant);

    let answers = join_all((0..50).map(|_| stack.pay(&request))).await;

    let (replays, executed): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.is_replay());
    assert_eq!((executed.len(), replays.len()), (1, 49), "{answers:?}");
    executed[0].assert_executed();
    for replay in replays {
        assert_replays(replay, executed[0]);
    }
    let requests: HashSet<_> = answers.iter().map(|answer| &answer.headers["x-request-id"]).collect();
    assert_eq!(requests.len(), 50, "each request has its own id");
    assert_eq!(stack.state().await, (7_500, 1, 1));
}

#[tokio::test]
async fn c15_parallel_processes_cannot_overdraw_a_balance() {
    let stack = Stack::with_tenant().await;
    let requests: Vec<_> = (0..20).map(|_| Pay::fresh(stack.tenant).amount(8_000)).collect();

    let answers = join_all(requests.iter().map(|request| stack.pay(request))).await;

    let with_status = |status: u16| answers.iter().filter(|answer| answer.status == status).count();
    assert_eq!((with_status(200), with_status(402)), (1, 19), "{answers:?}");
    assert_eq!(stack.state().await, (2_000, 20, 20));
}

#[tokio::test]
async fn look_ups_over_http_answer_for_the_own_tenant_only() {
    let stack = Stack::with_tenant().await;
    let other = create_tenant(&stack.ledger).await;
    register_signing_key(&stack.ledger, other, 1).await;
    let request = Pay::fresh(stack.tenant);
    let paid = stack.pay(&request).await;
    let by_id = paid.headers["location"].to_str().unwrap();
    let by_key = format!("/api/v1/payments?idempotency_key={}", request.key);

    for path in [by_id, &by_key] {
        let found = stack.get(stack.tenant, path).await;
        assert_eq!((found.status.as_u16(), &found.body), (200, &paid.body));
        stack.get(other, path).await.assert_problem(404, "payment_not_found");
    }
    stack.get(stack.tenant, "/api/v1/payments/x").await.assert_problem(400, "payment_id_invalid");
    stack.get(stack.tenant, "/api/v1/payments").await.assert_problem(400, "query_invalid");
}

#[tokio::test]
async fn bad_input_over_http_is_a_clear_problem_and_leaves_nothing() {
    let stack = Stack::with_tenant().await;
    let request = Pay::fresh(stack.tenant);
    let with = |name: &'static str, value: &'static str| {
        let mut changed = request.request();
        changed.headers_mut().insert(name, value.parse().unwrap());
        changed
    };
    let body = request.body();

    for (sent, status, code) in [
        (request.request_with_body("garbage"), 400, "body_invalid"),
        (request.request_with_body(body.replace("2500", "0")), 400, "amount_invalid"),
        (request.request_with_body(body.replace("2500", "25.0")), 400, "body_invalid"),
        (request.request_with_body(" ".repeat(64 * 1024 + 1)), 413, "body_too_large"),
        (with("content-encoding", "gzip"), 415, "content_encoding_unsupported"),
        (with("content-type", "text/plain"), 415, "media_type_unsupported"),
        (with("idempotency-key", "\"\""), 400, "idempotency_key_missing"),
        (with("idempotency-key", "a,b"), 400, "idempotency_key_invalid"),
    ] {
        stack.send(stack.signing.sign(sent)).await.assert_problem(status, code);
    }
    let unsigned = stack.send(request.request()).await;
    unsigned.assert_problem(401, "unauthenticated");
    assert!(unsigned.headers.contains_key("accept-signature"));

    assert_eq!(stack.state().await, (10_000, 0, 0));
    stack.pay(&request).await.assert_executed();
}

#[tokio::test]
async fn c11_a_decline_over_http_is_final_for_its_key() {
    let stack = Stack::with_tenant().await;
    let request = Pay::fresh(stack.tenant).amount(10_001);

    let declined = stack.pay(&request).await;
    declined.assert_declined();
    let sql = "UPDATE accounts SET balance = balance + 10000 WHERE id = $1";
    stack.ledger.execute(sql, &[&stack.account]).await.unwrap();

    assert_replays(&stack.pay(&request).await, &declined);
    assert_eq!(stack.state().await, (20_000, 1, 1));
}
