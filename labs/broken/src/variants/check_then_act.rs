//! The claim is not atomic: between the look-up and the insert of the key, every duplicate passes the check.

use anyhow::Result;
use deadpool_postgres::Client;

use super::{Outcome, execute};
use crate::ledger::{self, Order};

pub(super) async fn pay(client: &Client, order: &Order) -> Result<Outcome> {
    if let Some(payment) = ledger::payment_of(&***client, order.key).await? {
        return Ok(Outcome::Replayed(payment));
    }
    let payment = execute(&***client, order).await?;
    ledger::insert_key(&***client, order.key, &payment).await?;
    Ok(Outcome::Executed(payment))
}
