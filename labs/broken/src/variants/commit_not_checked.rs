//! A commit that is reported although it was aborted: the loser of a race fails at the key and goes on, and `COMMIT` of an
//! aborted transaction reports success.

use anyhow::Result;
use deadpool_postgres::Client;

use super::{Outcome, execute};
use crate::ledger::{self, Order};

pub(super) async fn pay(client: &mut Client, order: &Order) -> Result<Outcome> {
    if let Some(payment) = ledger::payment_of(&***client, order.key).await? {
        return Ok(Outcome::Replayed(payment));
    }
    let transaction = client.transaction().await?;
    let payment = execute(&*transaction, order).await?;
    // "It is there already, so all is well": from here on the transaction can only be rolled back.
    let _ = ledger::insert_key(&*transaction, order.key, &payment).await;
    transaction.commit().await?;
    Ok(Outcome::Executed(payment))
}
