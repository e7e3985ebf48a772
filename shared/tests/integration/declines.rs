//! Declines: decided once, remembered for their key.

use futures_util::future::join_all;

use crate::support::{Api, Pay};

#[tokio::test]
async fn c11_a_decline_is_final_for_its_key_and_a_new_key_decides_anew() {
    let (api, ledger) = Api::with_ledger().await;
    let request = Pay::new(ledger.t1, "k").amount(10_001);

    let declined = api.pay(request.clone()).await;
    declined.assert_declined();
    ledger.assert_t1(10_000, 1).await;

    ledger.top_up(ledger.a, 5_000).await;
    let again = api.pay(request.clone()).await;
    again.assert_replays(&declined);
    ledger.assert_t1(15_000, 1).await;
    assert_eq!((declined.round_trips, again.round_trips), (1, 1));

    api.pay(Pay::new(ledger.t1, "new").amount(10_001)).await.assert_executed();
    ledger.assert_t1(4_999, 2).await;
}

#[tokio::test]
async fn c11_a_decline_names_its_payment_and_says_that_a_retry_is_vain() {
    let (api, ledger) = Api::with_ledger().await;

    let body = api.pay(Pay::new(ledger.t1, "k").amount(10_001)).await.json();

    assert_eq!(body["retryable"], false);
    let found = api.get(ledger.t1, "/api/v1/payments?idempotency_key=k").await;
    assert_eq!(body["payment_id"], found.json()["payment_id"]);
}

#[tokio::test]
async fn c11_the_key_of_a_decline_with_another_body_is_refused() {
    let (api, ledger) = Api::with_ledger().await;
    let request = Pay::new(ledger.t1, "k").amount(10_001);
    let declined = api.pay(request.clone()).await;

    // Affordable, and still not what this key stands for.
    api.pay(request.clone().amount(100)).await.assert_problem(422, "idempotency_key_reused");

    api.pay(request).await.assert_replays(&declined);
    ledger.assert_t1(10_000, 1).await;
}

#[tokio::test]
async fn a_balance_can_be_spent_to_the_last_minor_unit_and_no_further() {
    let (api, ledger) = Api::with_ledger().await;

    api.pay(Pay::fresh(ledger.t1).amount(10_000)).await.assert_executed();
    api.pay(Pay::fresh(ledger.t1).amount(1)).await.assert_declined();

    ledger.assert_t1(0, 2).await;
}

#[tokio::test]
async fn c15_twenty_parallel_payments_cannot_overdraw_a_balance() {
    let (api, ledger) = Api::with_ledger().await;
    ledger.top_up(ledger.a, 100 - 10_000).await;

    let pay = |i: i32| api.pay(Pay::new(ledger.t1, &format!("k{i}")).amount(80));
    let answers = join_all((0..20).map(pay)).await;

    let with_status = |status: u16| answers.iter().filter(|answer| answer.status == status).count();
    assert_eq!((with_status(200), with_status(402)), (1, 19));
    ledger.assert_t1(20, 20).await;
}
