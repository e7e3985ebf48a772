//! `lab lost-200`: the payment is committed, its answer is cut, the client retries.
//!
//! Beside the product stands a server that forgets: the counter-example without its Redis.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use super::client::{AMOUNT, Client, Wish};
use super::shown::{self, Condition, Shown};
use super::stage::{Pace, STACK, View};
use crate::commands::slo::rounds::BALANCE;
use crate::fixtures::{self, Tenant};
use crate::picture::{Anchor, Picture, colour};
use crate::stack::dual_write::{self, DualWrite};
use crate::stack::redis::Redis;
use crate::stack::toxiproxy::{Stream, Toxic};

/// The fault: the first byte of the answer closes the connection.
const CUT_ANSWER: &str = "cut_answer";
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// One payment whose first answer was lost.
struct Lost {
    debits_before_retry: i64,
    debits: i64,
    payment_ids: usize,
    same_bytes: bool,
}

/// What one server did with all of them.
#[derive(Serialize)]
struct Tally {
    server: &'static str,
    payments: usize,
    /// Answers that were cut although the payment was committed.
    answers_lost_after_commit: usize,
    max_debits_per_key: i64,
    max_payment_ids_per_key: usize,
    /// Payments whose two retries were answered with the same bytes.
    same_bytes: usize,
}

impl Tally {
    fn new(server: &'static str, lost: &[Lost]) -> Self {
        Self {
            server,
            payments: lost.len(),
            answers_lost_after_commit: lost.iter().filter(|one| one.debits_before_retry == 1).count(),
            max_debits_per_key: lost.iter().map(|one| one.debits).max().unwrap_or_default(),
            max_payment_ids_per_key: lost.iter().map(|one| one.payment_ids).max().unwrap_or_default(),
            same_bytes: lost.iter().filter(|one| one.same_bytes).count(),
        }
    }
}

/// Loses answers of both servers.
pub(super) async fn run(stage: &View<'_>, pace: Pace) -> Result<Shown> {
    let tenant = Tenant { id: Uuid::new_v4(), name: "lab lost-200", account: Uuid::new_v4() };
    tenant.ensure(&stage.stack.ledger, BALANCE).await?;
    let payments = if pace == Pace::Quick { 3 } else { 20 };
    let product = lose(stage, &tenant, stage.stack.parts.functions.port(), payments).await?;
    let (forgetful, redis) = forgetful(stage).await?;
    let forgotten = lose(stage, &tenant, forgetful.port(), payments).await?;
    drop(forgetful);
    drop(redis);
    let (product, forgotten) = (Tally::new("this product", &product), Tally::new("a server that forgets", &forgotten));
    let mut table = shown::table(&[
        "",
        "answers lost after COMMIT",
        "debits per key",
        "payment ids per key",
        "retries: same bytes",
    ]);
    for tally in [&product, &forgotten] {
        table.add_row([
            tally.server.to_owned(),
            format!("{} of {}", tally.answers_lost_after_commit, tally.payments),
            tally.max_debits_per_key.to_string(),
            tally.max_payment_ids_per_key.to_string(),
            format!("{} of {}", tally.same_bytes, tally.payments),
        ]);
    }
    Ok(Shown {
        lab: "lost-200",
        table,
        conditions: conditions(&product, &forgotten),
        picture: draw(&product, &forgotten),
        figures: json!({ "servers": [product, forgotten] }),
    })
}

/// The counter-example that looks at no key. It is given a Redis, which it does not ask.
async fn forgetful(stage: &View<'_>) -> Result<(DualWrite, Redis)> {
    let redis = Redis::start(&stage.tools.redis, STACK).await?;
    let options = dual_write::Options {
        stack: STACK,
        flow: "forgets",
        database_url: stage.counter_example_url().await?,
        redis_url: redis.url(),
        key_ttl_ms: DAY_MS,
        lock_ttl_ms: DAY_MS,
    };
    Ok((DualWrite::start(options).await?, redis))
}

/// Pays through a network that cuts the first answer of each payment, then retries twice without the fault.
async fn lose(stage: &View<'_>, tenant: &Tenant<'_>, port: u16, payments: usize) -> Result<Vec<Lost>> {
    let network = Uuid::new_v4().to_string();
    let proxy = stage.toxiproxy.proxy(&network, port).await?;
    let url = format!("http://127.0.0.1:{proxy}");
    let mut all = Vec::new();
    for _ in 0..payments {
        // A connection of its own for each payment: the fault is drawn when a connection is made.
        let client = Client::of(tenant.id)?;
        let wish = Wish { account: Uuid::new_v4(), key: Uuid::new_v4() };
        fixtures::ensure_account(&stage.stack.ledger, tenant.id, wish.account, BALANCE).await?;
        stage.toxiproxy.add(&network, &cut_answer()).await?;
        let cut = client.pay(&url, wish).await;
        ensure!(cut.is_err(), "the answer was to be cut: {cut:?}");
        let debits_before_retry = debits(stage, wish.account).await?;
        stage.toxiproxy.remove(&network, CUT_ANSWER).await?;
        let mut retries = Vec::new();
        for _ in 0..2 {
            retries.push(client.pay_until_answered(&url, wish, Duration::from_secs(5)).await.last);
        }
        // The payment that was made and never told counts as one as well: ask the ledger, not the client.
        let sql = "SELECT count(*) FROM payments WHERE account_id = $1";
        let ids: i64 = stage.stack.ledger.query_one(sql, &[&wish.account]).await?.try_get(0)?;
        all.push(Lost {
            debits_before_retry,
            debits: debits(stage, wish.account).await?,
            payment_ids: usize::try_from(ids)?,
            same_bytes: matches!(retries.as_slice(), [Some(one), Some(other)] if one.status == 200 && one == other),
        });
    }
    Ok(all)
}

fn cut_answer() -> Toxic {
    Toxic {
        name: CUT_ANSWER,
        kind: "limit_data",
        stream: Stream::Downstream,
        toxicity: 1.0,
        attributes: json!({ "bytes": 0 }),
    }
}

async fn debits(stage: &View<'_>, account: Uuid) -> Result<i64> {
    Ok((BALANCE - fixtures::balance(&stage.stack.ledger, account).await?) / AMOUNT)
}

fn conditions(product: &Tally, forgotten: &Tally) -> Vec<Condition> {
    let mut conditions = Vec::new();
    for tally in [product, forgotten] {
        conditions.push(Condition::new(
            format!("{}: every answer was lost after its commit", tally.server),
            format!("{} of {}", tally.answers_lost_after_commit, tally.payments),
            tally.answers_lost_after_commit == tally.payments,
        ));
    }
    let debits = |tally: &Tally| format!("{} debits, {} ids", tally.max_debits_per_key, tally.max_payment_ids_per_key);
    conditions.push(Condition::new(
        "this product: one debit and one payment id",
        debits(product),
        product.max_debits_per_key == 1 && product.max_payment_ids_per_key == 1,
    ));
    conditions.push(Condition::new(
        "this product: both retries are answered with the same bytes",
        format!("{} of {}", product.same_bytes, product.payments),
        product.same_bytes == product.payments,
    ));
    conditions.push(Condition::new(
        "a server that forgets: pays at every retry",
        debits(forgotten),
        forgotten.max_debits_per_key == 3 && forgotten.max_payment_ids_per_key == 3,
    ));
    conditions
}

fn draw(product: &Tally, forgotten: &Tally) -> String {
    let mut picture = Picture::new(860, 222, "A lost answer and two retries: the product and a server that forgets");
    picture.text(
        12,
        26,
        Anchor::Start,
        colour::INK,
        "One payment: the first answer is lost after COMMIT, the client retries twice.",
    );
    for (x, label) in [(280, "first try, answer lost"), (500, "retry"), (720, "retry again")] {
        picture.text(x, 62, Anchor::Middle, colour::INK, label);
    }
    for (y, tally) in [(78, product), (142, forgotten)] {
        picture.stroke((4, y), (856, y), colour::LINE);
        picture.text(12, y + 36, Anchor::Start, colour::INK, tally.server);
        for (x, debit) in [(280, 1), (500, 2), (720, 3)] {
            let debited = debit <= tally.max_debits_per_key;
            let (ink, note) = match (debit, debited) {
                (1, _) => (colour::GOOD, "debit"),
                (_, true) => (colour::BAD, "another debit"),
                (_, false) => (colour::GOOD, "200, same id, same bytes"),
            };
            picture.disc(x, y + 24, 7, ink, debited);
            picture.text(x, y + 50, Anchor::Middle, ink, note);
        }
    }
    picture.stroke((4, 206), (856, 206), colour::LINE);
    picture.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(debits: i64, ids: usize, same_bytes: usize) -> Tally {
        Tally {
            server: "x",
            payments: 3,
            answers_lost_after_commit: 3,
            max_debits_per_key: debits,
            max_payment_ids_per_key: ids,
            same_bytes,
        }
    }

    #[test]
    fn every_single_flaw_fails_the_lab() {
        let missed = |product, forgotten| conditions(&product, &forgotten).iter().filter(|one| !one.holds).count();
        assert_eq!(missed(tally(1, 1, 3), tally(3, 3, 0)), 0);
        assert_eq!(missed(tally(2, 1, 3), tally(3, 3, 0)), 1);
        assert_eq!(missed(tally(1, 2, 3), tally(3, 3, 0)), 1);
        assert_eq!(missed(tally(1, 1, 2), tally(3, 3, 0)), 1);
        assert_eq!(missed(tally(1, 1, 3), tally(1, 1, 3)), 1, "a server that forgets and pays once shows nothing");
    }
}
