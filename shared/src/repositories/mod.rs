//! The ledger on PostgreSQL. SQL lives in `sql/`, one file a statement; the executor owns what all of them share.
//! Knows ports and domain, neither use cases nor HTTP. A transaction never leaves this module.
//!
//! The executor and what an operation is made of are public: any crate can bring an [`IdempotentOperation`] of its own,
//! with its own tables, and gets the same guarantee. See `labs/archetypes`.

mod connector;
mod create_payment;
mod database;
mod executor;
mod failure;
mod get_payment;
mod password;
mod payment_row;
mod purge_expired_keys;
mod recently_settled;
mod tls;

#[cfg(feature = "migrations")]
pub mod migrations;

pub use connector::ConnectError;
pub use database::{Database, DatabaseError, Statement, Typed};
pub use executor::{Executor, IdempotentOperation, Settled};
pub use failure::RowError;
pub use password::PasswordSource;

use std::sync::Arc;

use recently_settled::RecentlySettled;

/// The ledger on a PostgreSQL database; implements every port.
#[derive(Clone, Debug)]
pub struct PostgresLedger {
    executor: Executor,
    recently_settled: Arc<RecentlySettled>,
}

impl PostgresLedger {
    /// The ledger on that database.
    #[must_use]
    pub fn new(database: Database) -> Self {
        Self { executor: Executor::new(database), recently_settled: Arc::new(RecentlySettled::new()) }
    }
}
