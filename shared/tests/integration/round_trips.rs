//! What a payment costs on the wire: one `Sync` of the PostgreSQL protocol ends each round trip.

use futures_util::join;

use crate::support::database::{config, ledger_with};
use crate::support::{Answer, Api, Hold, Pay, TestDatabase, Wire};

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
