//! Asks the database and the functions' log what really happened.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tokio_postgres::Client;
use uuid::Uuid;

use super::Arguments;
use super::rounds::{AMOUNT, BALANCE, Round};
use super::verdict::Figures;
use crate::stack::log;
use crate::stack::payments::PaymentStack;

/// How long the log must say nothing new about these payments before the database is asked.
const QUIET: Duration = Duration::from_millis(500);
const QUIET_LIMIT: Duration = Duration::from_secs(30);

/// What the database says of one round's account.
struct Settled {
    debits: i64,
    payment_rows: i64,
    key_rows: i64,
    payment_ids: Vec<Uuid>,
}

/// Waits until no request is on its way any more, then asks the database about every round.
pub(super) async fn settle(stack: &PaymentStack, arguments: &Arguments, rounds: &[Round]) -> Result<Figures> {
    let log_file = stack.parts.functions.log();
    let mut payments: HashSet<Uuid> = rounds.iter().flat_map(|round| round.payment_ids.iter().copied()).collect();
    wait_until_quiet(&log_file, &payments).await?;
    let mut settled = Vec::new();
    for round in rounds {
        settled.push(ask(&stack.ledger, round.account).await?);
    }
    payments.extend(settled.iter().flat_map(|round| round.payment_ids.iter().copied()));
    let produced = answers_produced(&log_file, &payments)?;
    let total = |of: fn(&Round) -> u64| rounds.iter().map(of).sum::<u64>();
    let max = |of: fn(&Settled) -> i64| settled.iter().map(of).max().unwrap_or_default();
    // A client stops at its first 200, so the 200s received are the clients that ended with one.
    let received = total(|round| round.final_200);
    Ok(Figures {
        rounds: rounds.len(),
        requests: received + total(|round| round.final_non_200),
        attempts: total(|round| round.attempts),
        attempts_cut: total(|round| round.attempts_cut),
        answers_200_produced: produced,
        answers_200_received: received,
        answers_lost_after_commit: produced.saturating_sub(received),
        max_payment_ids_per_key: rounds.iter().map(|round| round.payment_ids.len()).max().unwrap_or_default(),
        max_debits_per_key: max(|round| round.debits),
        min_debits_per_key: settled.iter().map(|round| round.debits).min().unwrap_or_default(),
        max_payment_rows_per_key: max(|round| round.payment_rows),
        max_key_rows_per_payment: max(|round| round.key_rows),
        final_200: received,
        final_non_200: total(|round| round.final_non_200),
        requests_expected: u64::from(arguments.rounds) * u64::from(arguments.vus),
        seconds: 0.0,
    })
}

/// A request whose client has gone may still be queued in the emulator: it counts as well.
async fn wait_until_quiet(log_file: &Path, payments: &HashSet<Uuid>) -> Result<()> {
    let deadline = Instant::now() + QUIET_LIMIT;
    let mut seen = answers_produced(log_file, payments)?;
    loop {
        tokio::time::sleep(QUIET).await;
        let now = answers_produced(log_file, payments)?;
        if now == seen {
            return Ok(());
        }
        ensure!(
            Instant::now() < deadline,
            "the functions still answer duplicates {QUIET_LIMIT:?} after the last round"
        );
        seen = now;
    }
}

fn answers_produced(log_file: &Path, payments: &HashSet<Uuid>) -> Result<u64> {
    let bytes = fs::read(log_file).with_context(|| format!("cannot read {}", log_file.display()))?;
    Ok(u64::try_from(log::answered_200(&String::from_utf8_lossy(&bytes), payments))?)
}

async fn ask(ledger: &Client, account: Uuid) -> Result<Settled> {
    let statement = "SELECT balance, \
            (SELECT count(*) FROM idempotency_keys k JOIN payments p ON p.id = k.payment_id WHERE p.account_id = a.id), \
            (SELECT coalesce(array_agg(id), '{}') FROM payments WHERE account_id = a.id) \
        FROM accounts a WHERE id = $1";
    let row = ledger.query_one(statement, &[&account]).await.context("cannot read an account")?;
    let debited = BALANCE - row.try_get::<_, i64>(0)?;
    ensure!(debited % AMOUNT == 0, "account {account} lost {debited}, which is no multiple of {AMOUNT}");
    let payment_ids: Vec<Uuid> = row.try_get(2)?;
    Ok(Settled {
        debits: debited / AMOUNT,
        payment_rows: i64::try_from(payment_ids.len())?,
        key_rows: row.try_get(1)?,
        payment_ids,
    })
}
