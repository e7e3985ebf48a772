//! `GET /api/v1/payments?idempotency_key=K`: did it happen?

use bytes::Bytes;
use http::Request;

use crate::support::{Api, Pay};

#[tokio::test]
async fn the_key_finds_its_payment_with_the_bytes_of_the_first_answer() {
    let (api, ledger) = Api::with_ledger().await;
    let paid = api.pay(Pay::new(ledger.t1, "order-42")).await;

    for key in ["order-42", "%22order-42%22", "order%2D42", "+order-42"] {
        let found = api.get(ledger.t1, &format!("/api/v1/payments?idempotency_key={key}")).await;
        assert_eq!((found.status.as_u16(), &found.body), (200, &paid.body), "{key}");
        assert_eq!(found.round_trips, 1);
    }
    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn a_key_that_was_never_used_finds_nothing_and_stays_free() {
    let (api, ledger) = Api::with_ledger().await;

    let found = api.get(ledger.t1, "/api/v1/payments?idempotency_key=k").await;

    found.assert_problem(404, "payment_not_found");
    ledger.assert_noop().await;
    api.pay(Pay::new(ledger.t1, "k")).await.assert_executed();
}

#[tokio::test]
async fn a_decline_is_found_as_declined() {
    let (api, ledger) = Api::with_ledger().await;
    let declined = api.pay(Pay::new(ledger.t1, "k").amount(10_001)).await;

    let found = api.get(ledger.t1, "/api/v1/payments?idempotency_key=k").await;

    assert_eq!(found.status, 200);
    assert_eq!(found.json()["status"], "declined");
    assert_eq!(found.payment_id(), declined.payment_id());
}

#[tokio::test]
async fn c3_the_key_of_another_tenant_finds_nothing() {
    let (api, ledger) = Api::with_ledger().await;
    api.pay(Pay::new(ledger.t1, "k")).await.assert_executed();

    let found = api.get(ledger.t2, "/api/v1/payments?idempotency_key=k").await;

    found.assert_problem(404, "payment_not_found");
}

#[tokio::test]
async fn c12_a_purged_key_still_finds_its_payment() {
    let (api, ledger) = Api::with_ledger().await;
    let paid = api.pay(Pay::new(ledger.t1, "k")).await;
    ledger.owner.execute("DELETE FROM idempotency_keys", &[]).await.unwrap();

    let found = api.get(ledger.t1, "/api/v1/payments?idempotency_key=k").await;

    assert_eq!((found.status.as_u16(), &found.body), (200, &paid.body));
}

#[tokio::test]
async fn a_query_that_is_not_one_key_is_refused() {
    let (api, ledger) = Api::with_ledger().await;

    for (query, code) in [
        ("", "query_invalid"),
        ("?", "query_invalid"),
        ("?key=k", "query_invalid"),
        ("?idempotency_key=k&idempotency_key=k", "query_invalid"),
        ("?idempotency_key=k&limit=1", "query_invalid"),
        ("?idempotency_key=", "idempotency_key_missing"),
        ("?idempotency_key=a%2Cb", "idempotency_key_invalid"),
        ("?idempotency_key=a%20b", "idempotency_key_invalid"),
        ("?idempotency_key=%22k", "idempotency_key_invalid"),
        ("?idempotency_key=%00", "idempotency_key_invalid"),
        ("?idempotency_key=%FF", "idempotency_key_invalid"),
    ] {
        let answer = api.get(ledger.t1, &format!("/api/v1/payments{query}")).await;
        answer.assert_problem(400, code);
        assert_eq!(answer.round_trips, 0);
    }
}

#[tokio::test]
async fn a_search_without_a_tenant_is_refused() {
    let (api, _ledger) = Api::with_ledger().await;

    let anonymous = Request::get("/api/v1/payments?idempotency_key=k").body(Bytes::new()).unwrap();

    api.send(anonymous).await.assert_problem(401, "unauthenticated");
}
