//! Secrets change, keys and payments do not.

use crate::support::signing::{MASTER, OTHER_MASTER, SigningClient, hmac, register_signing_key, retire_signing_key};
use crate::support::{Api, Ledger, Pay, TestDatabase};

async fn api_with_masters(masters: &'static str) -> (Api, Ledger) {
    let database = TestDatabase::new().await;
    let ledger = Ledger::new(database.owner().await).await;
    register_signing_key(&ledger.owner, ledger.t1, 1).await;
    (Api::with_authenticator(&database.ledger(20), || hmac(masters)), ledger)
}

#[tokio::test]
async fn c6_a_retry_signed_with_the_next_secret_replays() {
    let (api, ledger) = api_with_masters(MASTER).await;
    let first = api.send(SigningClient::new(ledger.t1, 1).sign(Pay::new(ledger.t1, "k").request())).await;
    register_signing_key(&ledger.owner, ledger.t1, 2).await;
    retire_signing_key(&ledger.owner, ledger.t1, 1).await;

    let retry = api.send(SigningClient::new(ledger.t1, 2).sign(Pay::new(ledger.t1, "k").request())).await;
    assert_eq!((retry.status.as_u16(), retry.is_replay()), (200, true), "{retry:?}");
    assert_eq!(retry.body, first.body);
    assert_eq!(ledger.balance(ledger.a).await, 7_500);
}

#[tokio::test]
async fn c27_both_secrets_are_valid_until_the_old_one_is_retired() {
    let (api, ledger) = api_with_masters(MASTER).await;
    register_signing_key(&ledger.owner, ledger.t1, 2).await;
    let (old, new) = (SigningClient::new(ledger.t1, 1), SigningClient::new(ledger.t1, 2));
    for client in [&old, &new] {
        assert_eq!(api.send(client.sign(Pay::fresh(ledger.t1).amount(1).request())).await.status.as_u16(), 200);
    }

    retire_signing_key(&ledger.owner, ledger.t1, 1).await;
    let before = counts(&ledger).await;
    api.send(old.sign(Pay::fresh(ledger.t1).request())).await.assert_problem(401, "unauthenticated");
    assert_eq!(counts(&ledger).await, before, "a retired key leaves no row");
    assert_eq!(api.send(new.sign(Pay::fresh(ledger.t1).amount(1).request())).await.status.as_u16(), 200);
}

#[tokio::test]
async fn a_retired_key_is_refused_by_look_ups_and_by_replays() {
    let (api, ledger) = api_with_masters(MASTER).await;
    let client = SigningClient::new(ledger.t1, 1);
    let paid = api.send(client.sign(Pay::new(ledger.t1, "k").request())).await;
    retire_signing_key(&ledger.owner, ledger.t1, 1).await;

    let replay = api.send(client.sign(Pay::new(ledger.t1, "k").request())).await;
    let path = format!("/api/v1/payments/{}", paid.payment_id());
    let look_up = api.send(client.sign(http::Request::get(path).body(bytes::Bytes::new()).unwrap())).await;
    replay.assert_problem(401, "unauthenticated");
    look_up.assert_problem(401, "unauthenticated");
}

#[tokio::test]
async fn the_master_secret_rotates_while_both_are_valid() {
    const BOTH: &str = "QkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkI=,QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE=";
    let (api, ledger) = api_with_masters(BOTH).await;
    let of_old = SigningClient::of_master(MASTER, ledger.t1, 1);
    let of_new = SigningClient::of_master(OTHER_MASTER, ledger.t1, 1);
    for client in [of_old, of_new] {
        assert_eq!(api.send(client.sign(Pay::fresh(ledger.t1).amount(1).request())).await.status.as_u16(), 200);
    }
}

#[tokio::test]
async fn a_master_secret_that_was_taken_out_signs_nothing_any_more() {
    let (api, ledger) = api_with_masters(MASTER).await;
    let leaked = SigningClient::of_master(OTHER_MASTER, ledger.t1, 1);

    let answer = api.send(leaked.sign(Pay::new(ledger.t1, "k").request())).await;

    answer.assert_problem(401, "unauthenticated");
    ledger.assert_noop().await;
}

async fn counts(ledger: &Ledger) -> (i64, i64, i64) {
    let row = ledger.owner.query_one("SELECT count(*) FROM nonces", &[]).await.unwrap();
    (ledger.payments(ledger.t1).await, ledger.keys(ledger.t1).await, row.get(0))
}
