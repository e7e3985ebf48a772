//! Rivals: one key at the same moment, and one balance at the same moment.

use futures_util::future::join_all;
use futures_util::{FutureExt, join};
use payments::domain::{IdempotencyKey, TenantId};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::support::api::RECIPIENT;
use crate::support::{Api, Hold, Pay};

#[tokio::test]
async fn c14_fifty_identical_requests_at_once_pay_once_and_nothing_is_rolled_back() {
    let (api, ledger, database) = Api::with_database().await;
    let request = Pay::new(ledger.t1, "k");

    let answers = join_all((0..50).map(|_| api.pay(request.clone()))).await;

    let (replays, executed): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.is_replay());
    assert_eq!((executed.len(), replays.len()), (1, 49));
    executed[0].assert_executed();
    for replay in replays {
        replay.assert_replays(executed[0]);
        assert!(replay.round_trips <= 2, "{replay:?}");
    }
    ledger.assert_t1(7_500, 1).await;

    // A 23505 or a 25P02 would have been a rollback. Sessions report when they end.
    drop(api);
    ledger.until_no_sessions().await;
    let sql = "SELECT xact_commit, xact_rollback FROM pg_stat_database WHERE datname = $1";
    let counted = ledger.owner.query_one(sql, &[&database.name()]).await.unwrap();
    assert!(counted.get::<_, i64>(0) >= 50);
    assert_eq!(counted.get::<_, i64>(1), 0, "rollbacks");
}

#[tokio::test]
async fn c14_different_requests_with_one_key_at_once_pay_one_of_them() {
    let (api, ledger) = Api::with_ledger().await;
    let other_account = ledger.second_account().await;

    // Half of them from another account, so that the key and not the account's row decides.
    let requests = (0..20).map(|i| {
        let request = Pay::new(ledger.t1, "k").amount(100 + i % 4);
        if i % 2 == 0 { request } else { request.account(other_account) }
    });
    let answers = join_all(requests.map(|request| api.pay(request))).await;

    let executed: Vec<_> = answers.iter().filter(|a| a.status == 200 && !a.is_replay()).collect();
    assert_eq!(executed.len(), 1);
    for answer in &answers {
        match answer.status.as_u16() {
            200 => assert_eq!(answer.body, executed[0].body),
            _ => answer.assert_problem(422, "idempotency_key_reused"),
        }
    }
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 5);
    let paid = executed[0].json()["amount"].as_i64().unwrap();
    let left = ledger.balance(ledger.a).await + ledger.balance(other_account).await;
    assert_eq!(left, 20_000 - paid);
    assert_eq!((ledger.payments(ledger.t1).await, ledger.keys(ledger.t1).await), (1, 1));
}

#[tokio::test]
async fn c16_while_the_first_try_is_open_its_duplicate_hears_409_and_later_the_answer() {
    let (api, ledger, database) = Api::with_database().await;
    let duplicates = Api::new(&database.ledger(1));
    let request = Pay::new(ledger.t1, "k");
    let hold = Hold::new(&ledger).await;

    let first = api.pay(request.clone());
    let meanwhile = async {
        hold.until_held(1).await;
        let duplicate = duplicates.pay(request.clone()).await;
        duplicate.assert_problem(409, "payment_in_progress");
        duplicate.assert_asks_for_a_retry();
        // The first try is still open: the duplicate gave up by itself, and its only connection works.
        hold.until_held(1).await;
        let other = duplicates.get(ledger.t1, &format!("/api/v1/payments/{}", Uuid::new_v4())).await;
        other.assert_problem(404, "payment_not_found");
        assert_eq!(other.round_trips, 1);
        hold.release().await;
    };
    let (first, ()) = join!(first, meanwhile);

    first.assert_executed();
    duplicates.pay(request).await.assert_replays(&first);
    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn c16_an_open_claim_of_the_key_from_another_account_is_waited_for_as_long_and_no_longer() {
    let (api, ledger) = Api::with_ledger().await;
    let other_account = ledger.second_account().await;
    let request = Pay::new(ledger.t1, "k");
    let hold = Hold::new(&ledger).await;

    let first = api.pay(request.clone());
    let meanwhile = async {
        hold.until_held(1).await;
        // The account's row is free: only the claim stands in the way.
        let duplicate = api.pay(request.clone().account(other_account)).await;
        duplicate.assert_problem(409, "payment_in_progress");
        hold.until_held(1).await;
        hold.release().await;
    };
    let (first, ()) = join!(first, meanwhile);

    first.assert_executed();
    let reused = api.pay(request.account(other_account)).await;
    reused.assert_problem(422, "idempotency_key_reused");
    ledger.assert_t1(7_500, 1).await;
    assert_eq!(ledger.balance(other_account).await, 10_000);
}

#[tokio::test]
async fn c16_a_locked_account_makes_a_new_payment_wait_and_then_free_its_key() {
    let (api, ledger, database) = Api::with_database().await;
    let mut owner = database.owner().await;
    let lock = owner.transaction().await.unwrap();
    let sql = "SELECT FROM accounts WHERE id = $1 FOR UPDATE";
    lock.execute(sql, &[&ledger.a]).await.unwrap();

    api.pay(Pay::new(ledger.t1, "k")).await.assert_problem(409, "payment_in_progress");
    ledger.assert_noop().await;

    lock.rollback().await.unwrap();
    api.pay(Pay::new(ledger.t1, "k")).await.assert_executed();
    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn a_lost_race_costs_a_second_round_trip_and_replays_the_winner() {
    let (api, ledger) = Api::with_ledger().await;
    let request = Pay::new(ledger.t1, "k");
    let hold = Hold::new(&ledger).await;

    let loser = async {
        hold.until_held(1).await;
        api.pay(request.clone()).await
    };
    let release = async {
        hold.until_rivals_wait(1).await;
        hold.release().await;
    };
    let (winner, loser, ()) = join!(api.pay(request.clone()), loser, release);

    winner.assert_executed();
    loser.assert_replays(&winner);
    assert_eq!((winner.round_trips, loser.round_trips), (1, 2));
    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn a_rival_that_is_rolled_back_leaves_the_payment_to_its_duplicate() {
    let (api, ledger) = Api::with_ledger().await;
    let request = Pay::new(ledger.t1, "k");
    let hold = Hold::new(&ledger).await;

    let duplicate = async {
        hold.until_held(1).await;
        api.pay(request.clone()).await
    };
    let rollback = async {
        hold.until_rivals_wait(1).await;
        hold.cancel().await;
        // Now it is the duplicate that is held.
        hold.until_held(1).await;
        hold.release().await;
    };
    let (cancelled, duplicate, ()) = join!(api.pay(request.clone()), duplicate, rollback);

    cancelled.assert_unavailable();
    duplicate.assert_executed();
    assert_eq!(duplicate.round_trips, 1);
    api.pay(request).await.assert_replays(&duplicate);
    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn c13_a_payment_whose_key_was_purged_meanwhile_is_recognized_by_its_own_primary_key() {
    let (api, ledger, database) = Api::with_database().await;
    let payment = IdempotencyKey::parse(b"k").unwrap().stored(TenantId(ledger.t1)).payment_id();
    let mut owner = database.owner().await;
    let lock = owner.transaction().await.unwrap();
    let sql = "SELECT FROM accounts WHERE id = $1 FOR UPDATE";
    lock.execute(sql, &[&ledger.a]).await.unwrap();

    // The request has taken its snapshot and waits for the account when its rival's payment appears, without a key.
    let rival = async {
        ledger.until_waiting(1, &["transactionid", "tuple"]).await;
        let sql =
            "INSERT INTO payments (id, tenant_id, account_id, from_default, recipient_id, amount, currency, status)
                   VALUES ($1, $2, $3, true, $4, 2500, 'EUR', 'succeeded')";
        let values: [&(dyn ToSql + Sync); 4] = [&payment.0, &ledger.t1, &ledger.a, &RECIPIENT];
        ledger.owner.execute(sql, &values).await.unwrap();
        lock.rollback().await.unwrap();
    };
    let (answer, ()) = join!(api.pay(Pay::new(ledger.t1, "k")), rival);

    assert_eq!((answer.status.as_u16(), answer.is_replay(), answer.round_trips), (200, true, 2), "{answer:?}");
    assert_eq!(answer.payment_id(), payment.0);
    assert_eq!(ledger.balance(ledger.a).await, 10_000, "this request debits nothing");
    assert_eq!((ledger.payments(ledger.t1).await, ledger.keys(ledger.t1).await), (1, 0));
}

#[tokio::test]
async fn a_request_whose_client_left_does_not_spoil_the_next_one_on_the_pool() {
    let (api, ledger, database) = Api::with_database().await;
    let single = Api::new(&database.ledger(1));
    let request = Pay::new(ledger.t1, "k");
    let hold = Hold::new(&ledger).await;

    let mut abandoned = Box::pin(single.pay(request.clone())).fuse();
    futures_util::select_biased! {
        answer = abandoned => panic!("answered while held: {answer:?}"),
        () = Box::pin(hold.until_held(1)).fuse() => {}
    }
    drop(abandoned);
    // On the same pool of one connection, while the abandoned statement is still running.
    let found = single.get(ledger.t1, "/api/v1/payments?idempotency_key=k").await;
    found.assert_problem(404, "payment_not_found");
    assert_eq!(found.round_trips, 1);
    hold.release().await;

    single.pay(Pay::fresh(ledger.t1).amount(100)).await.assert_executed();
    let settled = single.pay(request.clone()).await;
    assert_eq!(settled.status, 200, "{settled:?}");
    api.pay(request).await.assert_replays(&settled);
    ledger.assert_t1(7_400, 2).await;
}
