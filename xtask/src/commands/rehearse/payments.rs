//! What a client meets at the deployed API: a payment and its replay, look-ups, refusals.

use anyhow::{Context, Result};
use tokio_postgres::Client;
use uuid::Uuid;

use super::BALANCE;
use super::gateway::{AMOUNT, Answer, Payer};
use super::verdict::Verdict;
use crate::fixtures;

/// A payment that happened, and its answer.
pub(super) struct Paid {
    pub(super) key: String,
    pub(super) id: Uuid,
    pub(super) answer: Answer,
}

/// Pays once and tries everything around it. The stranger has the right key id and the wrong secret.
pub(super) async fn run(payer: &Payer, stranger: &Payer, ledger: &Client, verdict: &mut Verdict) -> Result<Paid> {
    let key = Uuid::new_v4().to_string();
    let answer = payer.pay(&key).await?;
    verdict.note("a signed payment", answer.status, answer.status == 200 && !answer.replayed);
    let id = answer.payment_id().with_context(|| format!("it was answered {} {}", answer.status, answer.body))?;
    let paid = Paid { key, id, answer };
    replay(payer, &paid, "its replay: marked, same bytes", verdict).await?;

    let found = payer.send(payer.gateway.look_up(&paid.key)).await?;
    verdict.note("look-up by key", found.status, found.status == 200 && found.payment_id() == Some(id));
    let got = payer.send(payer.gateway.get(id)?).await?;
    verdict.note("look-up by id", got.status, got.status == 200 && got.payment_id() == Some(id));
    refusals(payer, stranger, verdict).await?;

    let debited = BALANCE - fixtures::balance(ledger, payer.account).await?;
    verdict.note("minor units debited by all of that", debited, debited == AMOUNT);
    Ok(paid)
}

async fn refusals(payer: &Payer, stranger: &Payer, verdict: &mut Verdict) -> Result<()> {
    let key = Uuid::new_v4().to_string();
    let unsigned = payer.gateway.send(payer.gateway.payment(payer.account, &[&key])?).await?;
    verdict.note("without a signature", unsigned.status, unsigned.status == 401);
    let forged = stranger.pay(&key).await?;
    verdict.note("with a bad signature", forged.status, forged.status == 401);
    let repeated = payer.send(payer.gateway.payment(payer.account, &[&key, "another"])?).await?;
    verdict.note("with a repeated Idempotency-Key", repeated.status, repeated.status == 400);
    Ok(())
}

/// Sends the same request again and compares the answers.
pub(super) async fn replay(payer: &Payer, paid: &Paid, name: &'static str, verdict: &mut Verdict) -> Result<()> {
    let again = payer.pay(&paid.key).await?;
    let holds = again.status == 200 && again.replayed && again.body == paid.answer.body;
    verdict.note(name, again.status, holds);
    Ok(())
}
