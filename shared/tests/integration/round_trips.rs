//! What a payment costs on the wire: one `Sync` of the PostgreSQL protocol ends each round trip.

use std::io::Write as _;

use futures_util::join;

use crate::support::database::{config, ledger_with};
use crate::support::signing::{MASTER, SigningClient, hmac, register_signing_key};
use crate::support::{Answer, Api, Hold, Ledger, Pay, TestDatabase, Wire};

/// Sends a payment, and asserts that wire and invocation counted the same round trips.
async fn pay(api: &Api, wire: &Wire, request: Pay, round_trips: u32) -> Answer {
    let before = wire.round_trips();
    let answer = api.pay(request).await;
    let counted = (wire.round_trips() - before, answer.round_trips);
    assert_eq!(counted, (round_trips, round_trips), "{answer:?}");
    answer
}

#[tokio::test]
async fn a_new_payment_a_replay_and_a_decline_are_one_round_trip_each() {
    let (api, ledger, wire) = Api::behind_wire().await;

    // The first one connects as well: connecting sends no Sync.
    let first = pay(&api, &wire, Pay::new(ledger.t1, "k"), 1).await;
    first.assert_executed();
    pay(&api, &wire, Pay::new(ledger.t1, "k"), 1).await.assert_replays(&first);
    pay(&api, &wire, Pay::new(ledger.t1, "new"), 1).await.assert_executed();
    let declined = pay(&api, &wire, Pay::new(ledger.t1, "poor").amount(10_000), 1).await;
    declined.assert_declined();
    pay(&api, &wire, Pay::new(ledger.t1, "poor").amount(10_000), 1).await.assert_replays(&declined);
    pay(&api, &wire, Pay::new(ledger.t1, "k").amount(1), 1).await.assert_problem(422, "idempotency_key_reused");
    pay(&api, &wire, Pay::new(ledger.t1, "z").account(ledger.z), 1).await.assert_problem(404, "account_not_found");
}

#[tokio::test]
async fn a_purged_key_is_one_round_trip_like_any_replay() {
    let (api, ledger, wire) = Api::behind_wire().await;
    let first = pay(&api, &wire, Pay::new(ledger.t1, "k"), 1).await;
    ledger.owner.execute("DELETE FROM idempotency_keys", &[]).await.unwrap();

    pay(&api, &wire, Pay::new(ledger.t1, "k"), 1).await.assert_replays(&first);
}

#[tokio::test]
async fn a_lost_race_is_two_round_trips() {
    let database = TestDatabase::new().await;
    let ledger = crate::support::Ledger::new(database.owner().await).await;
    let wire = Wire::to(&database.app_url()).await;
    let loser = Api::new(&ledger_with(&config(wire.url(), 1)));
    let winner = Api::new(&database.ledger(1));
    let request = Pay::new(ledger.t1, "k");
    let hold = Hold::new(&ledger).await;

    let lost = async {
        hold.until_held(1).await;
        pay(&loser, &wire, request.clone(), 2).await
    };
    let release = async {
        hold.until_rivals_wait(1).await;
        hold.release().await;
    };
    let (won, lost, ()) = join!(winner.pay(request.clone()), lost, release);

    won.assert_executed();
    lost.assert_replays(&won);
}

/// The API in hmac mode behind a wire, and T1's client.
async fn signed_api_behind_wire() -> (Api, Ledger, Wire, SigningClient, TestDatabase) {
    let database = TestDatabase::new().await;
    let ledger = Ledger::new(database.owner().await).await;
    register_signing_key(&ledger.owner, ledger.t1, 1).await;
    let wire = Wire::to(&database.app_url()).await;
    let api = Api::with_authenticator(&ledger_with(&config(wire.url(), 1)), || hmac(MASTER));
    let client = SigningClient::new(ledger.t1, 1);
    (api, ledger, wire, client, database)
}

#[tokio::test]
async fn signed_payments_cost_the_same_round_trips_and_say_so() {
    let (api, ledger, wire, client, database) = signed_api_behind_wire().await;
    let send = async |request: Pay| {
        let before = wire.round_trips();
        let answer = api.send(client.sign(request.request())).await;
        (answer, wire.round_trips() - before)
    };
    let (first, new) = send(Pay::new(ledger.t1, "k")).await;
    let (second, replay) = send(Pay::new(ledger.t1, "k")).await;
    let (_, decline) = send(Pay::new(ledger.t1, "poor").amount(10_000)).await;

    // The rival's payment is held before its commit, until ours waits for it.
    let winner = Api::new(&database.ledger(1));
    let request = Pay::new(ledger.t1, "raced").amount(100);
    let hold = Hold::new(&ledger).await;
    let lost = async {
        hold.until_held(1).await;
        send(request.clone()).await
    };
    let release = async {
        hold.until_rivals_wait(1).await;
        hold.release().await;
    };
    let (_, (raced, lost_race), ()) = join!(winner.pay(request.clone()), lost, release);

    first.assert_executed();
    second.assert_replays(&first);
    assert_eq!((raced.status.as_u16(), raced.is_replay()), (200, true));
    // Straight to the stream, so that the figures are seen also when the test passes.
    let figures = format!("round trips, signed: new {new}, replay {replay}, decline {decline}, lost race {lost_race}");
    writeln!(std::io::stderr(), "{figures}").unwrap();
    assert_eq!((new, replay, decline, lost_race), (1, 1, 1, 2));
}

#[tokio::test]
async fn c20_a_signed_call_whose_reply_is_lost_finds_its_own_nonce_and_payment() {
    let (api, ledger, wire, client, _) = signed_api_behind_wire().await;
    wire.lose_replies(1);
    let request = client.sign(Pay::new(ledger.t1, "k").request());

    let answer = api.send(request.clone()).await;

    assert_eq!(answer.status.as_u16(), 200, "{answer:?}");
    ledger.assert_t1(7_500, 1).await;
    api.send(request).await.assert_problem(401, "nonce_reused");
}
