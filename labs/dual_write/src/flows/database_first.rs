//! Repair: the money first, in one transaction, and then Redis, where the first to arrive wins.
//!
//! What it repairs: a crash between withdrawal and INSERT.
//! Why it still fails: the SET NX chooses which answer is given, but by then every duplicate that passed the GET has
//! already paid. And a crash between COMMIT and SET forgets a payment that is there.

use anyhow::Result;
use uuid::Uuid;

use super::{Outcome, Parts};
use crate::ledger::Order;

pub(super) async fn pay(parts: &Parts, key: &str, order: &Order) -> Result<Outcome> {
    if let Some(payment) = parts.memory.payment_of(key).await? {
        return Ok(Outcome::Replayed(payment));
    }
    let payment = Uuid::new_v4();
    if !parts.ledger.pay(payment, order).await? {
        return Ok(Outcome::Declined);
    }
    // A crash here: paid, and nobody remembers the key.
    if parts.memory.remember_first(key, payment, parts.key_ttl_ms).await? {
        return Ok(Outcome::Paid(payment));
    }
    // All clients are told one id. That hides the second debit; it does not undo it.
    let first = parts.memory.payment_of(key).await?;
    Ok(Outcome::Replayed(first.unwrap_or(payment)))
}
