//! Forgetting old keys never forgets a payment.

use std::time::Duration;

use futures_util::future::join_all;
use futures_util::join;
use payments::domain::Invocation;
use payments::ports::Purged;
use payments::repositories::PostgresLedger;
use payments::use_cases::PurgeKeys;

use crate::support::ledger::set_default_account;
use crate::support::{Answer, Api, Ledger, Pay, TestDatabase};

async fn purge_within(ledger: &PostgresLedger, budget: Duration) -> Purged {
    let invocation = Invocation::new("purge".to_owned(), budget);
    PurgeKeys::new(ledger.clone()).execute(&invocation).await.unwrap()
}

async fn purge(database: &TestDatabase) -> Purged {
    purge_within(&database.ledger(1), Duration::from_secs(9)).await
}

/// REQ(k) of T1, paid, then forgotten by the purge.
async fn paid_and_purged(request: &Pay) -> (Api, Ledger, Answer) {
    let (api, ledger, database) = Api::with_database().await;
    let request = Pay { tenant: ledger.t1, ..request.clone() };
    let first = api.pay(request).await;
    ledger.age_keys(31).await;
    assert_eq!(purge(&database).await, Purged { keys: 1, nonces: 0, more: false });
    assert_eq!((ledger.payments(ledger.t1).await, ledger.keys(ledger.t1).await), (1, 0));
    (api, ledger, first)
}

/// REQ(k); its tenant is filled in when there is one.
fn request() -> Pay {
    Pay::new(uuid::Uuid::nil(), "k")
}

#[tokio::test]
async fn c12_a_purged_key_replays_the_original_payment_and_debits_nothing() {
    let (api, ledger, first) = paid_and_purged(&request()).await;

    for _ in 0..2 {
        let retry = api.pay(Pay::new(ledger.t1, "k")).await;
        retry.assert_replays(&first);
        assert_eq!(retry.round_trips, 1);
    }

    assert_eq!(ledger.balance(ledger.a).await, 7_500);
    assert_eq!(ledger.payments(ledger.t1).await, 1);
}

#[tokio::test]
async fn c12_a_purged_key_replays_whatever_became_of_the_balance() {
    let (api, ledger, first) = paid_and_purged(&request()).await;

    ledger.top_up(ledger.a, -7_500).await;
    api.pay(Pay::new(ledger.t1, "k")).await.assert_replays(&first);
    ledger.top_up(ledger.a, 1_000_000).await;
    api.pay(Pay::new(ledger.t1, "k")).await.assert_replays(&first);

    assert_eq!(ledger.balance(ledger.a).await, 1_000_000);
    assert_eq!(ledger.payments(ledger.t1).await, 1);
}

#[tokio::test]
async fn c12_a_purged_decline_stays_a_decline_after_a_top_up() {
    let (api, ledger, first) = paid_and_purged(&request().amount(10_001)).await;
    ledger.top_up(ledger.a, 50_000).await;

    api.pay(Pay::new(ledger.t1, "k").amount(10_001)).await.assert_replays(&first);

    assert_eq!(ledger.balance(ledger.a).await, 60_000);
}

#[tokio::test]
async fn c12_a_purged_key_replays_after_the_default_account_moved_or_went() {
    let (api, ledger, first) = paid_and_purged(&request().currency("EUR")).await;
    let retry = Pay::new(ledger.t1, "k").currency("EUR");

    let other = crate::support::ledger::create_account(&ledger.owner, ledger.t1, "JPY", 10_000).await;
    set_default_account(&ledger.owner, ledger.t1, other).await;
    api.pay(retry.clone()).await.assert_replays(&first);
    ledger.owner.execute("UPDATE tenants SET default_account_id = NULL", &[]).await.unwrap();
    api.pay(retry).await.assert_replays(&first);

    assert_eq!(ledger.balance(ledger.a).await, 7_500);
    assert_eq!(ledger.balance(other).await, 10_000);
}

#[tokio::test]
async fn c12_a_purged_key_with_any_other_value_is_still_refused() {
    let (api, ledger, first) = paid_and_purged(&request()).await;
    let second_account = ledger.second_account().await;
    let request = Pay::new(ledger.t1, "k");

    for other in [
        request.clone().amount(2501),
        request.clone().amount(1_000_000),
        request.clone().recipient(uuid::Uuid::new_v4()),
        request.clone().account(second_account),
        request.clone().currency("USD"),
        request.clone().account(ledger.z),
        request.clone().account(uuid::Uuid::new_v4()),
    ] {
        let what = format!("{other:?}");
        let answer = api.pay(other).await;
        assert_eq!((answer.status.as_u16(), answer.code().as_str()), (422, "idempotency_key_reused"), "{what}");
    }

    api.pay(request).await.assert_replays(&first);
    assert_eq!(ledger.balance(ledger.a).await, 7_500);
    assert_eq!(ledger.payments(ledger.t1).await, 1);
}

#[tokio::test]
async fn c12_a_key_is_kept_for_thirty_days() {
    let (api, ledger, database) = Api::with_database().await;
    let first = api.pay(Pay::new(ledger.t1, "k")).await;

    ledger.age_keys(29).await;
    assert_eq!(purge(&database).await, Purged { keys: 0, nonces: 0, more: false });
    ledger.assert_t1(7_500, 1).await;
    let retry = api.pay(Pay::new(ledger.t1, "k")).await;
    retry.assert_replays(&first);
    assert_eq!(retry.round_trips, 1);

    ledger.age_keys(1).await;
    assert_eq!(purge(&database).await, Purged { keys: 1, nonces: 0, more: false });
}

/// Writes so many expired keys, all of one payment.
async fn write_expired_keys(ledger: &Ledger, api: &Api, keys: i32) {
    let payment = api.pay(Pay::new(ledger.t1, "kept")).await.payment_id();
    let sql = "INSERT INTO idempotency_keys (key, payment_id, status, created_at)
               SELECT gen_random_uuid(), $1, 'succeeded', now() - interval '40 days' - n * interval '1 second'
                 FROM generate_series(1, $2) n";
    ledger.owner.execute(sql, &[&payment, &keys]).await.unwrap();
    ledger.owner.batch_execute("ANALYZE idempotency_keys").await.unwrap();
}

#[tokio::test]
async fn the_purge_deletes_batch_after_batch_until_nothing_expired_is_left() {
    let (api, ledger, database) = Api::with_database().await;
    write_expired_keys(&ledger, &api, 2_500).await;

    assert_eq!(purge(&database).await, Purged { keys: 2_500, nonces: 0, more: false });
    assert_eq!(purge(&database).await, Purged { keys: 0, nonces: 0, more: false });

    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn the_purge_stops_in_time_and_says_that_more_is_left() {
    let (api, ledger, database) = Api::with_database().await;
    write_expired_keys(&ledger, &api, 20_500).await;
    let postgres = database.ledger(1);

    let none = purge_within(&postgres, Duration::from_secs(1)).await;
    assert_eq!(none, Purged { keys: 0, nonces: 0, more: true });
    // The purge keeps two seconds back, so this is time for some of the 21 batches.
    let some = purge_within(&postgres, Duration::from_millis(2_030)).await;
    assert!(some.more, "{some:?}");
    assert_eq!(some.keys % 1_000, 0, "whole batches");

    let rest = purge_within(&postgres, Duration::from_secs(9)).await;
    assert_eq!(rest, Purged { keys: 20_500 - some.keys, nonces: 0, more: false });
    assert_eq!(ledger.keys(ledger.t1).await, 1);
}

#[tokio::test]
async fn two_purges_at_once_share_the_work() {
    let (api, ledger, database) = Api::with_database().await;
    write_expired_keys(&ledger, &api, 6_000).await;

    let (one, other) = join!(purge(&database), purge(&database));

    assert_eq!(one.keys + other.keys, 6_000);
    assert_eq!(ledger.keys(ledger.t1).await, 1);
}

#[tokio::test]
async fn the_purge_finds_expired_keys_by_the_index_on_created_at() {
    let (api, ledger, _database) = Api::with_database().await;
    write_expired_keys(&ledger, &api, 5_000).await;
    let statement = include_str!("../../src/repositories/sql/purge_expired_keys.sql");
    let prepare = format!("PREPARE purge (integer, bigint) AS {statement}");
    ledger.owner.batch_execute(&prepare).await.unwrap();

    let plan = ledger.owner.simple_query("EXPLAIN EXECUTE purge (30, 1000)").await.unwrap();

    let plan = format!("{plan:?}");
    assert!(plan.contains("Index Scan using idempotency_keys_created_at_idx"), "{plan}");
    assert!(!plan.contains("Seq Scan on idempotency_keys"), "{plan}");
}

#[tokio::test]
async fn c13_a_purge_beside_replays_and_claims_never_fails_one_and_never_debits_twice() {
    let (api, ledger, database) = Api::with_database().await;
    let postgres = database.ledger(2);
    let keys: Vec<String> = (0..10).map(|i| format!("k{i}")).collect();
    let mut bodies: Vec<bytes::Bytes> = Vec::new();

    for round in 0..25 {
        let requests = keys.iter().chain(&keys).map(|key| api.pay(Pay::new(ledger.t1, key).amount(100)));
        let purges = async {
            let mut purged = 0;
            for _ in 0..5 {
                ledger.age_keys(31).await;
                purged += purge_within(&postgres, Duration::from_secs(9)).await.keys;
            }
            purged
        };
        let (answers, _) = join!(join_all(requests), purges);
        for answer in &answers {
            assert_eq!(answer.status, 200, "round {round}: {answer:?}");
        }
        let now: Vec<_> = answers.into_iter().map(|answer| answer.body).collect();
        if bodies.is_empty() {
            bodies = now;
        } else {
            assert_eq!(now, bodies, "round {round}");
        }
    }

    assert_eq!(ledger.balance(ledger.a).await, 10_000 - 10 * 100);
    assert_eq!(ledger.payments(ledger.t1).await, 10);
}
