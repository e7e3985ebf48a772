//! One transaction: money, payment, key. A key that is already there takes all of it back.

use anyhow::{Context as _, Result};
use deadpool_postgres::Client;
use tokio_postgres::error::SqlState;

use super::{Outcome, execute};
use crate::ledger::{self, Order, Payment};

pub(super) async fn pay(client: &mut Client, order: &Order) -> Result<Outcome> {
    if let Some(payment) = ledger::payment_of(&***client, order.key).await? {
        return Ok(Outcome::Replayed(payment));
    }
    match pay_once(client, order).await {
        Err(error) if is_duplicate(&error) => {
            let payment = ledger::payment_of(&***client, order.key).await?;
            Ok(Outcome::Replayed(payment.context("the rival vanished")?))
        }
        paid => Ok(Outcome::Executed(paid?)),
    }
}

async fn pay_once(client: &mut Client, order: &Order) -> Result<Payment> {
    let transaction = client.transaction().await?;
    let payment = execute(&*transaction, order).await?;
    ledger::insert_key(&*transaction, order.key, &payment).await?;
    transaction.commit().await?;
    Ok(payment)
}

fn is_duplicate(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<tokio_postgres::Error>();
    error.is_some_and(|error| error.code() == Some(&SqlState::UNIQUE_VIOLATION))
}
