//! The dual write: GET key, withdraw, INSERT payment, SET key.
//!
//! Why it fails: nothing ties the four steps together. Two requests may both find no key before either sets it; a crash
//! after the withdrawal forgets it; and the only thing that refuses a second debit is a cache, which may lose or expire
//! what it knows.

use anyhow::Result;
use uuid::Uuid;

use super::{Outcome, Parts};
use crate::ledger::Order;

pub(super) async fn pay(parts: &Parts, key: &str, order: &Order) -> Result<Outcome> {
    if let Some(payment) = parts.memory.payment_of(key).await? {
        return Ok(Outcome::Replayed(payment));
    }
    // From here to the SET below, every duplicate passes the check above.
    if !parts.ledger.withdraw(order).await? {
        return Ok(Outcome::Declined);
    }
    // A crash here: the money is gone and no payment says where.
    let payment = Uuid::new_v4();
    parts.ledger.insert_payment(payment, order).await?;
    // A crash here: paid, and nobody remembers the key.
    parts.memory.remember(key, payment, parts.key_ttl_ms).await?;
    Ok(Outcome::Paid(payment))
}
