//! `GET /api/v1/payments/{payment_id}`

use bytes::Bytes;
use http::Request;
use uuid::Uuid;

use crate::support::{Api, Pay};

#[tokio::test]
async fn a_payment_is_read_with_the_bytes_of_its_first_answer() {
    let (api, ledger) = Api::with_ledger().await;
    let paid = api.pay(Pay::new(ledger.t1, "k")).await;

    let read = api.get(ledger.t1, paid.headers["location"].to_str().unwrap()).await;

    assert_eq!((read.status.as_u16(), &read.body), (200, &paid.body));
    assert_eq!(read.headers["content-type"], "application/json");
    assert_eq!(read.round_trips, 1);
    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn a_declined_payment_is_read_as_declined() {
    let (api, ledger) = Api::with_ledger().await;
    let declined = api.pay(Pay::new(ledger.t1, "k").amount(10_001)).await;

    let read = api.get(ledger.t1, &format!("/api/v1/payments/{}", declined.payment_id())).await;

    assert_eq!(read.status, 200);
    assert_eq!(read.json()["status"], "declined");
    assert_eq!(read.json()["amount"], 10_001);
}

#[tokio::test]
async fn c3_a_payment_of_another_tenant_looks_like_one_that_does_not_exist() {
    let (api, ledger) = Api::with_ledger().await;
    let paid = api.pay(Pay::new(ledger.t1, "k")).await;

    let of_another = api.get(ledger.t2, paid.headers["location"].to_str().unwrap()).await;
    let of_nobody = api.get(ledger.t2, &format!("/api/v1/payments/{}", Uuid::new_v4())).await;

    of_another.assert_problem(404, "payment_not_found");
    assert_eq!(of_another.body, of_nobody.body);
}

#[tokio::test]
async fn an_id_that_is_not_a_hyphenated_uuid_is_refused() {
    let (api, ledger) = Api::with_ledger().await;

    for id in ["x", "0f8fad5bd9cb469fa16570867728950e", "%30", "'--", "0f8fad5b-d9cb-469f-a165-70867728950e,"] {
        let answer = api.get(ledger.t1, &format!("/api/v1/payments/{id}")).await;
        answer.assert_problem(400, "payment_id_invalid");
        assert_eq!(answer.round_trips, 0);
    }
}

#[tokio::test]
async fn a_look_up_without_a_tenant_is_refused() {
    let (api, ledger) = Api::with_ledger().await;
    let paid = api.pay(Pay::new(ledger.t1, "k")).await;

    let anonymous = Request::get(paid.headers["location"].to_str().unwrap()).body(Bytes::new()).unwrap();

    api.send(anonymous).await.assert_problem(401, "unauthenticated");
}
