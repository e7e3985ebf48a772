//! What the tests stand on: a database, a tenant with money, the API as a client sees it, and faults on demand.

use std::time::{Duration, Instant};

pub(crate) mod api;
pub(crate) mod certificates;
pub(crate) mod database;
pub(crate) mod faults;
pub(crate) mod frontend;
pub(crate) mod function;
pub(crate) mod hold;
pub(crate) mod ledger;
pub(crate) mod log;
pub(crate) mod pgbouncer;
pub(crate) mod signing;
pub(crate) mod tls_postgres;
pub(crate) mod wire;

pub(crate) use api::{Answer, Api, Pay};
pub(crate) use database::TestDatabase;
pub(crate) use faults::Fault;
pub(crate) use hold::Hold;
pub(crate) use ledger::Ledger;
pub(crate) use log::Log;
pub(crate) use pgbouncer::PgBouncer;
pub(crate) use wire::Wire;

/// A variable that `cargo xtask test` sets.
pub(crate) fn env(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run the tests with `cargo xtask test`"))
}

/// Waits for a condition, at most ten seconds.
pub(crate) async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !condition().await {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
