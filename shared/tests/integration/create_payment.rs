//! `POST /api/v1/payments`: which requests are one payment, and which are not.

use bytes::Bytes;
use http::{HeaderValue, Request};
use uuid::Uuid;

use crate::support::ledger::{create_account, set_default_account};
use crate::support::{Api, Pay};

#[tokio::test]
async fn c1_a_replay_answers_with_the_same_bytes_and_debits_nothing() {
    let (api, ledger) = Api::with_ledger().await;

    let first = api.pay(Pay::new(ledger.t1, "k")).await;
    let second = api.pay(Pay::new(ledger.t1, "k")).await;

    first.assert_executed();
    second.assert_replays(&first);
    ledger.assert_t1(7_500, 1).await;
    assert_eq!((first.round_trips, second.round_trips), (1, 1));
}

#[tokio::test]
async fn c1_the_answer_describes_the_payment_and_names_its_place() {
    let (api, ledger) = Api::with_ledger().await;

    let answer = api.pay(Pay::new(ledger.t1, "k")).await;

    let body = answer.json();
    let created_at = body["created_at"].as_str().unwrap();
    assert_eq!(
        body,
        serde_json::json!({
            "payment_id": answer.payment_id(),
            "status": "succeeded",
            "account_id": ledger.a,
            "recipient_id": crate::support::api::RECIPIENT,
            "amount": 2500,
            "currency": "EUR",
            "created_at": created_at,
        })
    );
    assert_eq!((created_at.len(), &created_at[26..]), (27, "Z"));
    assert_eq!(answer.headers["content-type"], "application/json");
    assert_eq!(answer.headers["cache-control"], "no-store");
    let place = format!("/api/v1/payments/{}", answer.payment_id());
    assert_eq!(answer.headers["location"], place.as_str());
    let request_id: Uuid = answer.headers["x-request-id"].to_str().unwrap().parse().unwrap();
    assert!(!request_id.is_nil());
}

#[tokio::test]
async fn c2_a_key_with_any_other_value_is_refused_and_stays_what_it_was() {
    let (api, ledger) = Api::with_ledger().await;
    let request = Pay::new(ledger.t1, "k");
    let first = api.pay(request.clone()).await;
    let second_account = ledger.second_account().await;

    for other in [
        request.clone().amount(2501),
        request.clone().amount(1),
        request.clone().recipient(Uuid::new_v4()),
        request.clone().currency("USD"),
        request.clone().account(second_account),
        request.clone().account(ledger.z),
        request.clone().account(Uuid::new_v4()),
    ] {
        let answer = api.pay(other).await;
        answer.assert_problem(422, "idempotency_key_reused");
        assert!(!answer.is_replay());
    }

    api.pay(request).await.assert_replays(&first);
    ledger.assert_t1(7_500, 1).await;
    assert_eq!(ledger.balance(second_account).await, 10_000);
    assert_eq!(ledger.balance(ledger.z).await, 10_000);
}

#[tokio::test]
async fn c2_naming_what_is_the_default_anyway_is_the_same_request() {
    let (api, ledger) = Api::with_ledger().await;
    let request = Pay::new(ledger.t1, "k");
    let first = api.pay(request.clone()).await;

    for same in
        [request.clone().account(ledger.a), request.clone().currency("EUR"), request.account(ledger.a).currency("EUR")]
    {
        api.pay(same).await.assert_replays(&first);
    }
    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn c2_naming_nothing_after_naming_the_defaults_is_the_same_request() {
    let (api, ledger) = Api::with_ledger().await;
    let request = Pay::new(ledger.t1, "k");
    let first = api.pay(request.clone().account(ledger.a).currency("EUR")).await;

    first.assert_executed();
    api.pay(request).await.assert_replays(&first);
    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn c2_a_retry_means_the_default_account_of_the_day_of_the_first_try() {
    let (api, ledger) = Api::with_ledger().await;
    let request = Pay::new(ledger.t1, "k");
    let first = api.pay(request.clone()).await;
    let new_default = ledger.second_account().await;
    set_default_account(&ledger.owner, ledger.t1, new_default).await;

    api.pay(request.clone()).await.assert_replays(&first);
    api.pay(request.clone().account(ledger.a)).await.assert_replays(&first);
    api.pay(request.account(new_default)).await.assert_problem(422, "idempotency_key_reused");
    ledger.assert_t1(7_500, 1).await;
    assert_eq!(ledger.balance(new_default).await, 10_000);
}

#[tokio::test]
async fn c2_a_payment_from_a_named_account_is_not_what_a_request_without_one_asks_for() {
    let (api, ledger) = Api::with_ledger().await;
    let second_account = ledger.second_account().await;
    let first = api.pay(Pay::new(ledger.t1, "k").account(second_account)).await;
    first.assert_executed();

    api.pay(Pay::new(ledger.t1, "k")).await.assert_problem(422, "idempotency_key_reused");
    // Nor does it become so when that account is made the default.
    set_default_account(&ledger.owner, ledger.t1, second_account).await;
    api.pay(Pay::new(ledger.t1, "k")).await.assert_problem(422, "idempotency_key_reused");
    ledger.assert_t1(10_000, 1).await;
    assert_eq!(ledger.balance(second_account).await, 7_500);
}

#[tokio::test]
async fn c3_one_key_of_two_tenants_is_two_payments() {
    let (api, ledger) = Api::with_ledger().await;

    let of_t1 = api.pay(Pay::new(ledger.t1, "k")).await;
    let of_t2 = api.pay(Pay::new(ledger.t2, "k").amount(300)).await;

    of_t1.assert_executed();
    of_t2.assert_executed();
    assert_ne!(of_t1.payment_id(), of_t2.payment_id());
    ledger.assert_t1(7_500, 1).await;
    assert_eq!(ledger.balance(ledger.z).await, 9_700);
    assert_eq!((ledger.payments(ledger.t2).await, ledger.keys(ledger.t2).await), (1, 1));
    api.pay(Pay::new(ledger.t1, "k")).await.assert_replays(&of_t1);
    api.pay(Pay::new(ledger.t2, "k").amount(300)).await.assert_replays(&of_t2);
}

#[tokio::test]
async fn c3_garbage_under_a_key_of_another_tenant_blocks_nobody() {
    let (api, ledger) = Api::with_ledger().await;
    let of_t2 = Pay::new(ledger.t2, "k");

    api.send(of_t2.request_with_body("garbage")).await.assert_problem(400, "body_invalid");
    api.pay(of_t2.clone().account(ledger.a)).await.assert_problem(404, "account_not_found");
    api.pay(of_t2.clone().amount(10_001)).await.assert_declined();

    api.pay(Pay::new(ledger.t1, "k")).await.assert_executed();
    ledger.assert_t1(7_500, 1).await;
    assert_eq!(ledger.balance(ledger.z).await, 10_000);
}

#[tokio::test]
async fn c5_two_keys_with_one_body_are_two_payments() {
    let (api, ledger) = Api::with_ledger().await;

    let first = api.pay(Pay::new(ledger.t1, "k1")).await;
    let second = api.pay(Pay::new(ledger.t1, "k2")).await;

    first.assert_executed();
    second.assert_executed();
    assert_ne!(first.payment_id(), second.payment_id());
    ledger.assert_t1(5_000, 2).await;
}

#[tokio::test]
async fn c7_the_order_of_members_and_white_space_do_not_matter() {
    let (api, ledger) = Api::with_ledger().await;
    let request = Pay::new(ledger.t1, "k");
    let recipient = request.recipient;
    let first = api.pay(request.clone()).await;

    for body in [
        format!(r#"{{"recipient_id":"{recipient}","amount":2500}}"#),
        format!("\r\n{{\t\"amount\" : 2500 ,\n \"recipient_id\":\"{recipient}\" }} \n"),
        format!(r#"{{"\u0061mount":2500,"recipient_id":"{recipient}"}}"#),
        format!(r#"{{"amount":2500,"recipient_id":"{}"}}"#, recipient.to_string().to_uppercase()),
        format!(r#"{{"amount":2500,"recipient_id":"{recipient}","currency":null,"account_id":null}}"#),
    ] {
        api.send(request.request_with_body(body)).await.assert_replays(&first);
    }
    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn c7_headers_that_vary_from_try_to_try_do_not_matter() {
    let (api, ledger) = Api::with_ledger().await;
    let request = Pay::new(ledger.t1, "k");
    let first = api.pay(request.clone()).await;

    for (name, value) in [
        ("user-agent", "another/2.0"),
        ("date", "Tue, 01 Jul 2031 10:00:00 GMT"),
        ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
        ("x-amzn-trace-id", "Root=1-67891233-abcdef012345678912345678"),
        ("x-forwarded-for", "203.0.113.9"),
        ("accept", "text/html"),
        ("content-type", "application/json; charset=utf-8"),
    ] {
        let mut retry: Request<Bytes> = request.request();
        retry.headers_mut().insert(name, HeaderValue::from_static(value));
        api.send(retry).await.assert_replays(&first);
    }
    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn an_amount_of_10_to_the_15_is_paid_to_the_last_minor_unit() {
    let (api, ledger) = Api::with_ledger().await;
    let rich = create_account(&ledger.owner, ledger.t1, "JPY", 1_000_000_000_000_001).await;

    let answer = api.pay(Pay::fresh(ledger.t1).account(rich).amount(1_000_000_000_000_000)).await;

    answer.assert_executed();
    assert_eq!(answer.json()["amount"], 1_000_000_000_000_000_i64);
    assert_eq!(answer.json()["currency"], "JPY");
    assert_eq!(ledger.balance(rich).await, 1);
}
