//! A process looks first for what it has seen settled: cheaper, and never another answer.

use crate::support::signing::{MASTER, SigningClient, hmac, register_signing_key, retire_signing_key};
use crate::support::{Api, Ledger, Pay, TestDatabase};

/// From now on a claim fails, and a look-up does not.
async fn forbid_claims(ledger: &Ledger) {
    ledger.owner.batch_execute("REVOKE INSERT ON idempotency_keys FROM payments_app").await.unwrap();
}

#[tokio::test]
async fn a_process_replays_what_it_settled_or_found_without_a_claim() {
    let (api, ledger, database) = Api::with_database().await;
    let paid = api.pay(Pay::new(ledger.t1, "k")).await;
    let declined = api.pay(Pay::new(ledger.t1, "poor").amount(10_001)).await;
    let third = Api::new(&database.ledger(1));
    third.pay(Pay::new(ledger.t1, "k")).await.assert_replays(&paid);
    let stranger = Api::new(&database.ledger(1));
    forbid_claims(&ledger).await;

    for process in [&api, &third] {
        let replay = process.pay(Pay::new(ledger.t1, "k")).await;
        replay.assert_replays(&paid);
        assert_eq!(replay.round_trips, 1);
        process.pay(Pay::new(ledger.t1, "k").amount(1)).await.assert_problem(422, "idempotency_key_reused");
    }
    api.pay(Pay::new(ledger.t1, "poor").amount(10_001)).await.assert_replays(&declined);
    // Who has not seen it claims.
    stranger.pay(Pay::new(ledger.t1, "k")).await.assert_unavailable();
    ledger.assert_t1(7_500, 2).await;
}

#[tokio::test]
async fn the_key_of_another_tenant_is_not_found_in_what_was_settled() {
    let (api, ledger) = Api::with_ledger().await;
    api.pay(Pay::new(ledger.t1, "k")).await.assert_executed();

    let other = api.pay(Pay::new(ledger.t2, "k")).await;

    other.assert_executed();
    assert_eq!(other.round_trips, 1);
}

#[tokio::test]
async fn a_payment_that_is_gone_costs_one_round_trip_more_and_is_paid_again() {
    let (api, ledger) = Api::with_ledger().await;
    api.pay(Pay::new(ledger.t1, "k")).await.assert_executed();
    // As after a restore of the database to a point before it.
    ledger.owner.batch_execute("DELETE FROM idempotency_keys; DELETE FROM payments").await.unwrap();

    let again = api.pay(Pay::new(ledger.t1, "k")).await;

    again.assert_executed();
    assert_eq!(again.round_trips, 2);
    ledger.assert_t1(5_000, 1).await;
}

#[tokio::test]
async fn a_signed_replay_spends_its_nonce_and_a_captured_one_is_refused_without_a_claim() {
    let (api, ledger, client, _) = Api::signed().await;
    let paid = api.send(client.sign(Pay::new(ledger.t1, "k").request())).await;
    forbid_claims(&ledger).await;
    let replay = client.sign(Pay::new(ledger.t1, "k").request());

    api.send(replay.clone()).await.assert_replays(&paid);
    api.send(replay).await.assert_problem(401, "nonce_reused");

    let nonces: i64 = ledger.owner.query_one("SELECT count(*) FROM nonces", &[]).await.unwrap().get(0);
    assert_eq!(nonces, 2);
}

#[tokio::test]
async fn a_retired_key_replays_nothing_that_was_seen_and_leaves_no_nonce() {
    let database = TestDatabase::new().await;
    let ledger = Ledger::new(database.owner().await).await;
    register_signing_key(&ledger.owner, ledger.t1, 1).await;
    let api = Api::with_authenticator(&database.ledger(1), || hmac(MASTER));
    let client = SigningClient::new(ledger.t1, 1);
    api.send(client.sign(Pay::new(ledger.t1, "k").request())).await.assert_executed();
    retire_signing_key(&ledger.owner, ledger.t1, 1).await;

    api.send(client.sign(Pay::new(ledger.t1, "k").request())).await.assert_problem(401, "unauthenticated");

    let nonces: i64 = ledger.owner.query_one("SELECT count(*) FROM nonces", &[]).await.unwrap().get(0);
    assert_eq!(nonces, 1);
}
