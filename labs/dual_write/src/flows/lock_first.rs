//! Repair: a lock in Redis around everything. SET NX with a time to live, a random token, released by its holder alone.
//!
//! What it repairs: the race, as long as the holder is faster than the lock's time to live.
//! Why it still fails: the lock expires by Redis' clock, and PostgreSQL does not know. A holder that is slow, paused or
//! waiting for a row goes on to commit after somebody else has taken the lock. A holder that dies after its COMMIT has
//! told nobody. A lock that never expires instead leaves the key stuck behind a dead holder.

use anyhow::Result;
use uuid::Uuid;

use super::{Outcome, Parts};
use crate::ledger::Order;

pub(super) async fn pay(parts: &Parts, key: &str, order: &Order) -> Result<Outcome> {
    let lock = format!("lock:{key}");
    let token = Uuid::new_v4();
    if !parts.memory.remember_first(&lock, token, parts.lock_ttl_ms).await? {
        return Ok(Outcome::Busy);
    }
    let outcome = pay_as_holder(parts, key, order).await;
    parts.memory.release(&lock, token).await?;
    outcome
}

async fn pay_as_holder(parts: &Parts, key: &str, order: &Order) -> Result<Outcome> {
    if let Some(payment) = parts.memory.payment_of(key).await? {
        return Ok(Outcome::Replayed(payment));
    }
    let payment = Uuid::new_v4();
    // Nothing here asks whether the lock is still ours, and no question asked before the COMMIT could be in time.
    if !parts.ledger.pay(payment, order).await? {
        return Ok(Outcome::Declined);
    }
    // A crash here: paid, and nobody remembers the key; the lock holds the retry back only until it expires.
    parts.memory.remember(key, payment, parts.key_ttl_ms).await?;
    Ok(Outcome::Paid(payment))
}
