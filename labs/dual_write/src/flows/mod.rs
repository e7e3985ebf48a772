//! The orders of steps that are compared: one file each, to be read side by side.

mod anti_pattern;
mod database_first;
mod forgets;
mod lock_first;
mod redis_first;

use anyhow::Result;
use serde::Deserialize;
use uuid::Uuid;

use crate::ledger::{Ledger, Order};
use crate::memory::Memory;

/// What every flow works with.
pub(crate) struct Parts {
    /// PostgreSQL.
    pub(crate) ledger: Ledger,
    /// Redis.
    pub(crate) memory: Memory,
    /// How long a key is remembered.
    pub(crate) key_ttl_ms: u64,
    /// How long a lock lives whose holder does not release it.
    pub(crate) lock_ttl_ms: u64,
}

/// What came of a request.
pub(crate) enum Outcome {
    /// This request paid.
    Paid(Uuid),
    /// Redis knew the key: this is what it remembers.
    Replayed(Uuid),
    /// There is not enough money.
    Declined,
    /// Another request holds the lock.
    Busy,
}

/// An order of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Flow {
    /// GET, withdraw, INSERT, SET.
    AntiPattern,
    /// SET NX as a lock around all of it.
    LockFirst,
    /// SET NX of the key itself, then the money.
    RedisFirst,
    /// The money in one transaction, then SET NX.
    DatabaseFirst,
    /// The money, and no memory of the key at all.
    Forgets,
}

impl Flow {
    /// Pays `order` under `key`.
    pub(crate) async fn pay(self, parts: &Parts, key: &str, order: &Order) -> Result<Outcome> {
        match self {
            Self::AntiPattern => anti_pattern::pay(parts, key, order).await,
            Self::LockFirst => lock_first::pay(parts, key, order).await,
            Self::RedisFirst => redis_first::pay(parts, key, order).await,
            Self::DatabaseFirst => database_first::pay(parts, key, order).await,
            Self::Forgets => forgets::pay(parts, order).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_chosen_by_the_names_that_the_labs_use() {
        let names = ["anti-pattern", "lock-first", "redis-first", "database-first", "forgets"];
        let flows = names.map(|name| serde_json::from_value::<Flow>(name.into()).unwrap());
        let expected = [Flow::AntiPattern, Flow::LockFirst, Flow::RedisFirst, Flow::DatabaseFirst, Flow::Forgets];
        assert_eq!(flows, expected);
        assert!(serde_json::from_value::<Flow>("exactly-once".into()).is_err());
    }
}
