//! `POST /api/v1/payments`: identity of a payment.

use crate::support::{Api, Pay};

#[tokio::test]
async fn c1_a_replay_answers_with_the_same_bytes_and_debits_nothing() {
    let (api, ledger) = Api::with_ledger().await;

    let first = api.pay(Pay::new(ledger.t1, "k")).await;
    let second = api.pay(Pay::new(ledger.t1, "k")).await;

    assert_eq!(
        (first.status.as_u16(), first.is_replay()),
        (200, false),
        "{first:?}"
    );
    assert_eq!(
        (second.status.as_u16(), second.is_replay()),
        (200, true),
        "{second:?}"
    );
    assert_eq!(first.body, second.body);
    assert_eq!(
        first.headers["location"],
        format!("/api/v1/payments/{}", first.payment_id()).as_str()
    );
    assert_eq!(first.headers["location"], second.headers["location"]);
    assert_eq!(ledger.balance(ledger.a).await, 7_500);
    assert_eq!((first.round_trips, second.round_trips), (1, 1));
}
