//! A replay that re-executes: the key is found, and the business logic runs all the same.

use anyhow::Result;
use deadpool_postgres::Client;

use super::{Outcome, execute, honest};
use crate::ledger::{self, Order};

pub(super) async fn pay(client: &mut Client, order: &Order) -> Result<Outcome> {
    if let Some(payment) = ledger::payment_of(&***client, order.key).await? {
        let transaction = client.transaction().await?;
        execute(&*transaction, order).await?;
        transaction.commit().await?;
        return Ok(Outcome::Replayed(payment));
    }
    honest::pay(client, order).await
}
