//! Asks the database and the functions' log what really happened, and judges.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use serde::Serialize;
use tokio_postgres::Client;
use uuid::Uuid;

use super::Arguments;
use super::rounds::{AMOUNT, BALANCE, Round};
use crate::stack::log;
use crate::stack::payments::PaymentStack;

/// How long the log must say nothing new about these payments before the database is asked.
const QUIET: Duration = Duration::from_millis(500);
const QUIET_LIMIT: Duration = Duration::from_secs(30);

/// The figures of a run.
#[derive(Serialize)]
pub(crate) struct Figures {
    rounds: usize,
    /// Clients over all rounds: each wants one 200.
    requests: u64,
    /// HTTP requests sent.
    attempts: u64,
    /// Of these, without an answer.
    attempts_cut: u64,
    /// 200s that the functions produced.
    answers_200_produced: u64,
    /// 200s that reached a client.
    answers_200_received: u64,
    /// The difference: each was lost after its payment was committed.
    answers_lost_after_commit: u64,
    /// Payment ids that the clients of one key were told, at most.
    max_payment_ids_per_key: usize,
    /// Debits of one key, at most: (balance before − balance after) / amount.
    max_debits_per_key: i64,
    /// The same, at least: a key without a debit is a lost payment.
    min_debits_per_key: i64,
    /// Payment rows of one key, at most.
    max_payment_rows_per_key: i64,
    /// Rows of the key table per payment, at most.
    max_key_rows_per_payment: i64,
    final_200: u64,
    final_non_200: u64,
    /// Requests that the run should have had.
    requests_expected: u64,
    pub(super) seconds: f64,
}

/// What the database says of one round's account.
struct Settled {
    debits: i64,
    payment_rows: i64,
    key_rows: i64,
    payment_ids: Vec<Uuid>,
}

/// Waits until no request is on its way any more, then asks the database about every round.
pub(super) async fn settle(
    stack: &PaymentStack,
    arguments: &Arguments,
    rounds: &[Round],
) -> Result<Figures> {
    let log_file = stack.parts.functions.log();
    let mut payments: HashSet<Uuid> = rounds
        .iter()
        .flat_map(|round| round.payment_ids.iter().copied())
        .collect();
    wait_until_quiet(&log_file, &payments).await?;
    let mut settled = Vec::new();
    for round in rounds {
        settled.push(ask(&stack.ledger, round.account).await?);
    }
    payments.extend(
        settled
            .iter()
            .flat_map(|round| round.payment_ids.iter().copied()),
    );
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
        max_payment_ids_per_key: rounds
            .iter()
            .map(|round| round.payment_ids.len())
            .max()
            .unwrap_or_default(),
        max_debits_per_key: max(|round| round.debits),
        min_debits_per_key: settled
            .iter()
            .map(|round| round.debits)
            .min()
            .unwrap_or_default(),
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
    let bytes =
        fs::read(log_file).with_context(|| format!("cannot read {}", log_file.display()))?;
    Ok(u64::try_from(log::answered_200(
        &String::from_utf8_lossy(&bytes),
        payments,
    ))?)
}

async fn ask(ledger: &Client, account: Uuid) -> Result<Settled> {
    let statement = "SELECT balance, \
            (SELECT count(*) FROM idempotency_keys k JOIN payments p ON p.id = k.payment_id WHERE p.account_id = a.id), \
            (SELECT coalesce(array_agg(id), '{}') FROM payments WHERE account_id = a.id) \
        FROM accounts a WHERE id = $1";
    let row = ledger
        .query_one(statement, &[&account])
        .await
        .context("cannot read an account")?;
    let debited = BALANCE - row.try_get::<_, i64>(0)?;
    ensure!(
        debited % AMOUNT == 0,
        "account {account} lost {debited}, which is no multiple of {AMOUNT}"
    );
    let payment_ids: Vec<Uuid> = row.try_get(2)?;
    Ok(Settled {
        debits: debited / AMOUNT,
        payment_rows: i64::try_from(payment_ids.len())?,
        key_rows: row.try_get(1)?,
        payment_ids,
    })
}

impl Figures {
    /// Each condition of the SLO with its measured value and whether it is met.
    pub(crate) fn conditions(&self) -> Vec<(&'static str, String, bool)> {
        vec![
            (
                "every request ended with an answer",
                self.requests.to_string(),
                self.requests == self.requests_expected,
            ),
            (
                "final answers other than 200: 0",
                self.final_non_200.to_string(),
                self.final_non_200 == 0,
            ),
            (
                "payment ids per key: 1",
                self.max_payment_ids_per_key.to_string(),
                self.max_payment_ids_per_key == 1,
            ),
            (
                "payment rows per key: 1",
                self.max_payment_rows_per_key.to_string(),
                self.max_payment_rows_per_key == 1,
            ),
            (
                "key rows per key: 1",
                self.max_key_rows_per_payment.to_string(),
                self.max_key_rows_per_payment == 1,
            ),
            (
                "debits per key: 1",
                format!("{} to {}", self.min_debits_per_key, self.max_debits_per_key),
                self.min_debits_per_key == 1 && self.max_debits_per_key == 1,
            ),
            (
                "answers lost after their commit: some",
                self.answers_lost_after_commit.to_string(),
                self.answers_lost_after_commit > 0,
            ),
        ]
    }

    /// The conditions that are not met.
    pub(crate) fn missed(&self) -> Vec<String> {
        let unmet = self.conditions().into_iter().filter(|(_, _, met)| !met);
        unmet
            .map(|(condition, measured, _)| format!("{condition}, measured {measured}"))
            .collect()
    }

    /// The figures for a person.
    pub(crate) fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_style(UTF8_FULL_CONDENSED);
        table.set_header(["condition", "measured", "holds"]);
        for (condition, measured, met) in self.conditions() {
            table.add_row([condition, &measured, if met { "yes" } else { "NO" }]);
        }
        let share = 100.0 * ratio(self.attempts_cut, self.attempts);
        let load = format!(
            "{} rounds × {} clients",
            self.rounds,
            self.requests / u64::try_from(self.rounds.max(1)).unwrap_or(1)
        );
        table.add_row([
            load.as_str(),
            &format!(
                "{} attempts, {share:.0} % cut, {:.0} s",
                self.attempts, self.seconds
            ),
            "",
        ]);
        table
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of a run are far below 2^52"
)]
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fine() -> Figures {
        Figures {
            rounds: 20,
            requests: 200,
            attempts: 400,
            attempts_cut: 200,
            answers_200_produced: 300,
            answers_200_received: 200,
            answers_lost_after_commit: 100,
            max_payment_ids_per_key: 1,
            max_debits_per_key: 1,
            min_debits_per_key: 1,
            max_payment_rows_per_key: 1,
            max_key_rows_per_payment: 1,
            final_200: 200,
            final_non_200: 0,
            requests_expected: 200,
            seconds: 30.0,
        }
    }

    #[test]
    fn a_run_without_a_flaw_holds() {
        assert!(fine().missed().is_empty());
    }

    #[test]
    fn every_single_flaw_fails_the_run() {
        let flaws: [fn(&mut Figures); 8] = [
            |figures| figures.requests = 199,
            |figures| figures.final_non_200 = 1,
            |figures| figures.max_payment_ids_per_key = 2,
            |figures| figures.max_debits_per_key = 2,
            |figures| figures.min_debits_per_key = 0,
            |figures| figures.max_payment_rows_per_key = 2,
            |figures| figures.max_key_rows_per_payment = 2,
            |figures| figures.answers_lost_after_commit = 0,
        ];
        for (number, flaw) in flaws.into_iter().enumerate() {
            let mut figures = fine();
            flaw(&mut figures);
            assert_eq!(figures.missed().len(), 1, "flaw {number}");
        }
    }
}
