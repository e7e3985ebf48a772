//! A database that is down, silent, or has no time: 503, nothing happened, and later all is well.

use std::time::{Duration, Instant};

use futures_util::join;
use payments::config::DatabaseConfig;

use crate::support::api::RECIPIENT;
use crate::support::database::{config, ledger_with, migrate};
use crate::support::{Api, Hold, Ledger, Log, Pay, TestDatabase, Wire};

#[tokio::test]
async fn c10_a_database_that_is_down_is_a_503_and_the_retry_pays() {
    let (api, ledger, wire) = Api::behind_wire().await;
    wire.take_down().await;

    api.pay(Pay::new(ledger.t1, "k")).await.assert_unavailable();
    api.get(ledger.t1, "/api/v1/payments?idempotency_key=k").await.assert_unavailable();
    ledger.assert_noop().await;

    wire.bring_up().await;
    api.pay(Pay::new(ledger.t1, "k")).await.assert_executed();
    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn c10_a_database_that_accepts_and_says_nothing_is_a_503_within_the_bound() {
    let (api, ledger, wire) = Api::behind_wire().await;
    wire.fall_silent();

    let started = Instant::now();
    api.pay(Pay::new(ledger.t1, "k")).await.assert_unavailable();
    // Two connections of at most 300 ms each.
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    ledger.assert_noop().await;

    wire.cut().await;
    api.pay(Pay::new(ledger.t1, "k")).await.assert_executed();
    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn c10_a_database_that_falls_silent_later_is_a_503_and_the_connection_is_not_used_again() {
    let (api, ledger, wire) = Api::behind_wire().await;
    api.pay(Pay::fresh(ledger.t1)).await.assert_executed();
    wire.fall_silent();

    let started = Instant::now();
    api.pay(Pay::new(ledger.t1, "k")).await.assert_unavailable();
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
    ledger.assert_t1(7_500, 1).await;

    // The old connections stay open and silent: only a fresh one can bring the answer.
    wire.speak_on_new_connections();
    let answer = api.pay(Pay::new(ledger.t1, "k")).await;
    answer.assert_executed();
    assert_eq!(answer.round_trips, 1);
    ledger.assert_t1(5_000, 2).await;
}

#[tokio::test]
async fn c10_the_url_of_nothing_at_all_is_a_503() {
    let (_, ledger, database) = Api::with_database().await;
    let wire = Wire::to(&database.app_url()).await;
    let api = Api::new(&ledger_with(&config(wire.url(), 1)));
    drop(wire);

    api.pay(Pay::new(ledger.t1, "k")).await.assert_unavailable();
    ledger.assert_noop().await;
}

#[tokio::test]
async fn with_too_little_time_left_nothing_is_started() {
    let (api, ledger) = Api::with_ledger().await;
    let request = Pay::new(ledger.t1, "k");

    for milliseconds in [0, 1, 400] {
        let budget = Duration::from_millis(milliseconds);
        let answer = api.send_within(budget, request.request()).await;
        answer.assert_unavailable();
        assert_eq!(answer.round_trips, 0);
    }
    ledger.assert_noop().await;
    api.pay(request).await.assert_executed();
}

#[tokio::test]
async fn the_time_that_is_left_bounds_the_wait_for_the_database() {
    let (api, ledger) = Api::with_ledger().await;
    let request = Pay::new(ledger.t1, "k");
    let hold = Hold::new(&ledger).await;

    let started = Instant::now();
    let budget = Duration::from_secs(1);
    let answer = api.send_within(budget, request.request()).await;
    assert!(started.elapsed() < budget, "{:?}", started.elapsed());
    answer.assert_unavailable();

    hold.release().await;
    // Whether the abandoned statement commits is open; either way it is paid once.
    assert_eq!(api.pay(request.clone()).await.status, 200);
    assert!(api.pay(request).await.is_replay());
    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn a_statement_that_outlives_its_time_takes_its_connection_with_it() {
    let (_, ledger, database) = Api::with_database().await;
    let api = Api::new(&ledger_with(&DatabaseConfig { statement_timeout_ms: 300, ..config(database.app_url(), 1) }));
    let hold = Hold::new(&ledger).await;

    api.pay(Pay::new(ledger.t1, "k")).await.assert_unavailable();
    // Both tries are still running in the database; a connection that is busy with one of them would be of no use.
    let found = api.get(ledger.t1, "/api/v1/payments?idempotency_key=k").await;
    found.assert_problem(404, "payment_not_found");
    assert_eq!(found.round_trips, 1);

    hold.release().await;
    assert_eq!(api.pay(Pay::new(ledger.t1, "k")).await.status, 200);
    assert!(api.pay(Pay::new(ledger.t1, "k")).await.is_replay());
    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn an_empty_pool_is_a_503_and_the_key_stays_free() {
    let (_, ledger, database) = Api::with_database().await;
    let api = Api::new(&ledger_with(&DatabaseConfig { connect_timeout_ms: 200, ..config(database.app_url(), 1) }));
    let hold = Hold::new(&ledger).await;

    let meanwhile = async {
        hold.until_held(1).await;
        let refused = api.pay(Pay::new(ledger.t1, "second")).await;
        hold.release().await;
        refused
    };
    let (first, refused) = join!(api.pay(Pay::new(ledger.t1, "first")), meanwhile);

    first.assert_executed();
    refused.assert_unavailable();
    assert_eq!(refused.round_trips, 0);
    ledger.assert_t1(7_500, 1).await;
    api.pay(Pay::new(ledger.t1, "second")).await.assert_executed();
}

#[tokio::test]
async fn before_the_first_migration_the_api_is_not_ready_and_says_why_in_its_log() {
    let database = TestDatabase::empty().await;
    let api = Api::new(&database.ledger(1));
    let (log, _guard) = Log::of_functions();

    let answer = api.pay(Pay::new(RECIPIENT, "k")).await;
    answer.assert_unavailable();
    assert_eq!(answer.round_trips, 1, "it is not tried again");
    assert!(!String::from_utf8_lossy(&answer.body).contains("tenants"), "{answer:?}");
    api.get(RECIPIENT, "/api/v1/payments?idempotency_key=k").await.assert_unavailable();
    let line = log.lines().into_iter().find(|line| line["message"] == "no answer from the ledger").unwrap();
    assert_eq!(line["level"], "ERROR");
    let cause = line["cause"].as_str().unwrap();
    assert!(cause.contains("run `migrate`") && cause.contains("42P01"), "{cause}");

    migrate(&database.owner_url()).await;
    let ledger = Ledger::new(database.owner().await).await;
    api.pay(Pay::new(ledger.t1, "k")).await.assert_executed();
    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn a_missing_column_or_right_is_not_ready_as_well_and_nothing_happens() {
    for missing in [
        "ALTER TABLE payments RENAME COLUMN from_default TO of_an_older_schema",
        "REVOKE INSERT ON payments FROM payments_app",
    ] {
        let (api, ledger) = Api::with_ledger().await;
        ledger.owner.batch_execute(missing).await.unwrap();

        api.pay(Pay::new(ledger.t1, "k")).await.assert_unavailable();

        ledger.assert_noop().await;
    }
}
