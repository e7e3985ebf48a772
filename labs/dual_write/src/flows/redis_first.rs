//! Repair: Redis first. SET NX claims the key, and only the one who got it moves the money.
//!
//! What it repairs: the race, as long as Redis keeps what it knows.
//! Why it still fails: the claim is visible before the money has moved. A crash in between leaves a key that says
//! "paid" for a day, and every retry is told of a payment that does not exist. Lost or expired keys pay again.

use anyhow::{Context as _, Result};
use uuid::Uuid;

use super::{Outcome, Parts};
use crate::ledger::Order;

pub(super) async fn pay(parts: &Parts, key: &str, order: &Order) -> Result<Outcome> {
    let payment = Uuid::new_v4();
    if !parts.memory.remember_first(key, payment, parts.key_ttl_ms).await? {
        let first = parts.memory.payment_of(key).await?;
        return Ok(Outcome::Replayed(first.context("the key expired a moment ago")?));
    }
    // A crash here: nothing is paid, and Redis says that it is.
    match parts.ledger.pay(payment, order).await {
        Ok(true) => Ok(Outcome::Paid(payment)),
        Ok(false) => {
            parts.memory.forget(key).await?;
            Ok(Outcome::Declined)
        }
        Err(error) => {
            // The claim is taken back. If it was the COMMIT's answer that got lost, this makes the retry pay again.
            parts.memory.forget(key).await?;
            Err(error)
        }
    }
}
