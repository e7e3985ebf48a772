//! What the tests stand on: a database, a tenant with money, and the API as a client sees it.

pub(crate) mod api;
pub(crate) mod database;
pub(crate) mod ledger;
pub(crate) mod signing;

pub(crate) use api::{Answer, Api, Pay};
pub(crate) use database::TestDatabase;
pub(crate) use ledger::Ledger;

/// A variable that `cargo xtask test` sets.
pub(crate) fn env(name: &str) -> String {
    std::env::var(name)
        .unwrap_or_else(|_| panic!("{name} is not set: run the tests with `cargo xtask test`"))
}
