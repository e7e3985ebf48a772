//! A process that was frozen and thawed: its connections look open and may be dead. And a database that is not there
//! when a process starts.

use std::time::{Duration, Instant};

use payments::config::DatabaseConfig;
use payments::repositories::Database;

use crate::support::database::{config, ledger_with};
use crate::support::{Api, Ledger, Pay, TestDatabase, Wire};

/// An API on a pool of one whose connection is checked after so long.
async fn checked_after(idle: Duration) -> (Api, Ledger, Wire) {
    let database = TestDatabase::new().await;
    let ledger = Ledger::new(database.owner().await).await;
    let wire = Wire::to(&database.app_url()).await;
    let idle_check_ms = idle.as_millis().try_into().unwrap();
    let api = Api::new(&ledger_with(&DatabaseConfig { idle_check_ms, ..config(wire.url(), 1) }));
    api.pay(Pay::new(ledger.t1, "first")).await.assert_executed();
    (api, ledger, wire)
}

#[tokio::test]
async fn a_connection_that_died_while_idle_is_replaced_before_anything_is_sent() {
    let (api, ledger, wire) = checked_after(Duration::ZERO).await;
    // The client's side of the connection stays open: nothing tells that it leads nowhere.
    wire.let_connections_die();
    let before = wire.connections();

    let started = Instant::now();
    let answer = api.pay(Pay::new(ledger.t1, "k")).await;

    answer.assert_executed();
    assert_eq!(answer.round_trips, 1, "the statement was sent once");
    assert_eq!(wire.connections(), before + 1);
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    ledger.assert_t1(5_000, 2).await;
}

#[tokio::test]
async fn a_session_that_was_ended_while_idle_is_replaced_before_anything_is_sent() {
    let (api, ledger, _wire) = checked_after(Duration::ZERO).await;
    ledger.terminate_sessions().await;

    let answer = api.pay(Pay::new(ledger.t1, "k")).await;

    answer.assert_executed();
    assert_eq!(answer.round_trips, 1);
    ledger.assert_t1(5_000, 2).await;
}

#[tokio::test]
async fn only_a_connection_that_was_idle_costs_one_more_round_trip() {
    let (busy, ledger, wire) = checked_after(Duration::from_mins(1)).await;
    let before = wire.round_trips();
    busy.pay(Pay::new(ledger.t1, "k")).await.assert_executed();
    assert_eq!(wire.round_trips() - before, 1);

    let (idle, ledger, wire) = checked_after(Duration::ZERO).await;
    let before = wire.round_trips();
    idle.pay(Pay::new(ledger.t1, "k")).await.assert_executed();
    assert_eq!(wire.round_trips() - before, 2);
}

#[tokio::test]
async fn a_database_that_is_down_at_the_start_does_not_end_it() {
    let (_, ledger, database) = Api::with_database().await;
    let wire = Wire::to(&database.app_url()).await;
    wire.take_down().await;
    let settings = config(wire.url(), 1);
    assert!(Database::new(&settings).is_ok());
    let api = Api::new(&ledger_with(&settings));

    api.pay(Pay::new(ledger.t1, "k")).await.assert_unavailable();
    ledger.assert_noop().await;

    wire.bring_up().await;
    api.pay(Pay::new(ledger.t1, "k")).await.assert_executed();
    ledger.assert_t1(7_500, 1).await;
}
