//! The `Idempotency-Key` header, from the request to the ledger.

use bytes::Bytes;
use http::{HeaderValue, Request};

use crate::support::{Answer, Api, Ledger, Pay};

/// REQ with these values of the header, in this order.
fn with_keys(ledger: &Ledger, values: &[&[u8]]) -> Request<Bytes> {
    let mut request = Pay::new(ledger.t1, "replaced").request();
    request.headers_mut().remove("idempotency-key");
    for value in values {
        let value = HeaderValue::from_bytes(value).unwrap();
        request.headers_mut().append("idempotency-key", value);
    }
    request
}

async fn pay(api: &Api, ledger: &Ledger, key: &str) -> Answer {
    api.send(with_keys(ledger, &[key.as_bytes()])).await
}

#[tokio::test]
async fn c8_the_bare_and_the_quoted_form_of_a_key_are_one_payment() {
    let (api, ledger) = Api::with_ledger().await;

    let first = pay(&api, &ledger, "order-42").await;

    first.assert_executed();
    for same in ["\"order-42\"", " order-42\t", "  \"order-42\" "] {
        pay(&api, &ledger, same).await.assert_replays(&first);
    }
    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn uuid_shaped_keys_ignore_case_and_all_others_do_not() {
    let (api, ledger) = Api::with_ledger().await;

    let upper = pay(&api, &ledger, "0F8FAD5B-D9CB-469F-A165-70867728950E").await;
    let lower = pay(&api, &ledger, "0f8fad5b-d9cb-469f-a165-70867728950e").await;
    let order = pay(&api, &ledger, "order").await;
    let other_order = pay(&api, &ledger, "Order").await;

    lower.assert_replays(&upper);
    order.assert_executed();
    other_order.assert_executed();
    ledger.assert_t1(2_500, 3).await;
}

#[tokio::test]
async fn c8_what_is_not_exactly_one_key_is_refused() {
    let (api, ledger) = Api::with_ledger().await;

    for malformed in [
        "\"k",
        "k\"",
        "\"",
        "\"k\"x",
        "\"k\";p=1",
        "\"a\", \"b\"",
        "\"a\"\"b\"",
        "a,b",
        "a, b",
        "\"a,b\"",
        "a b",
        "\"a b\"",
        r#""k\""#,
        r#""k\x""#,
        r#""k\"l""#,
    ] {
        pay(&api, &ledger, malformed).await.assert_problem(400, "idempotency_key_invalid");
    }
    ledger.assert_noop().await;
}

#[tokio::test]
async fn c8_a_repeated_header_is_refused_even_when_its_values_agree() {
    let (api, ledger) = Api::with_ledger().await;

    for values in [&[b"k", b"l"], &[b"k", b"k"]] {
        let values: Vec<&[u8]> = values.iter().map(|value| &value[..]).collect();
        api.send(with_keys(&ledger, &values)).await.assert_problem(400, "idempotency_key_invalid");
    }
    // As API Gateway delivers a repeated header.
    pay(&api, &ledger, "k,k").await.assert_problem(400, "idempotency_key_invalid");
    ledger.assert_noop().await;
}

#[tokio::test]
async fn c9_a_missing_or_blank_key_is_refused_and_none_is_invented() {
    let (api, ledger) = Api::with_ledger().await;

    let missing = api.send(with_keys(&ledger, &[])).await;
    missing.assert_problem(400, "idempotency_key_missing");
    for blank in ["", " ", "\t \t", "\"\""] {
        pay(&api, &ledger, blank).await.assert_problem(400, "idempotency_key_missing");
    }
    assert_eq!(missing.round_trips, 0);
    ledger.assert_noop().await;
}

#[tokio::test]
async fn c9_a_key_has_at_most_255_characters() {
    let (api, ledger) = Api::with_ledger().await;
    let (longest, too_long) = ("k".repeat(255), "k".repeat(256));

    pay(&api, &ledger, &too_long).await.assert_problem(400, "idempotency_key_invalid");
    pay(&api, &ledger, &format!("\"{too_long}\"")).await.assert_problem(400, "idempotency_key_invalid");
    ledger.assert_noop().await;

    let first = pay(&api, &ledger, &longest).await;
    first.assert_executed();
    pay(&api, &ledger, &format!("\"{longest}\"")).await.assert_replays(&first);
    // Two long keys that differ in their last character are two keys.
    pay(&api, &ledger, &format!("{}l", "k".repeat(254))).await.assert_executed();
    ledger.assert_t1(5_000, 2).await;
}

#[tokio::test]
async fn c9_bytes_outside_visible_ascii_are_refused_without_a_panic() {
    let (api, ledger) = Api::with_ledger().await;

    for bytes in [&b"k\xff"[..], "ключ".as_bytes(), b"\xc3\x28", b"k\tl", b"\"\x80\""] {
        api.send(with_keys(&ledger, &[bytes])).await.assert_problem(400, "idempotency_key_invalid");
    }
    ledger.assert_noop().await;
}
