//! The figures of a run and the conditions that they must meet.

use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use serde::Serialize;

use crate::conditions::{self, Condition};

/// The figures of a run.
#[derive(Serialize)]
pub(crate) struct Figures {
    pub(super) rounds: usize,
    /// Clients over all rounds: each wants one 200.
    pub(super) requests: u64,
    /// HTTP requests sent.
    pub(super) attempts: u64,
    /// Of these, without an answer.
    pub(super) attempts_cut: u64,
    /// 200s that the functions produced.
    pub(super) answers_200_produced: u64,
    /// 200s that reached a client.
    pub(super) answers_200_received: u64,
    /// The difference: each was lost after its payment was committed.
    pub(super) answers_lost_after_commit: u64,
    /// Payment ids that the clients of one key were told, at most.
    pub(super) max_payment_ids_per_key: usize,
    /// Debits of one key, at most: (balance before − balance after) / amount.
    pub(super) max_debits_per_key: i64,
    /// The same, at least: a key without a debit is a lost payment.
    pub(super) min_debits_per_key: i64,
    /// Payment rows of one key, at most.
    pub(super) max_payment_rows_per_key: i64,
    /// Rows of the key table per payment, at most.
    pub(super) max_key_rows_per_payment: i64,
    pub(super) final_200: u64,
    pub(super) final_non_200: u64,
    /// Requests that the run should have had.
    pub(super) requests_expected: u64,
    pub(super) seconds: f64,
}

impl Figures {
    /// Each condition of the SLO with its measured value and whether it is met.
    pub(crate) fn conditions(&self) -> Vec<Condition> {
        vec![
            ("every request ended with an answer", self.requests.to_string(), self.requests == self.requests_expected),
            ("final answers other than 200: 0", self.final_non_200.to_string(), self.final_non_200 == 0),
            ("payment ids per key: 1", self.max_payment_ids_per_key.to_string(), self.max_payment_ids_per_key == 1),
            ("payment rows per key: 1", self.max_payment_rows_per_key.to_string(), self.max_payment_rows_per_key == 1),
            ("key rows per key: 1", self.max_key_rows_per_payment.to_string(), self.max_key_rows_per_payment == 1),
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
        conditions::missed(self.conditions())
    }

    /// The figures for a person.
    pub(crate) fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_style(UTF8_FULL_CONDENSED);
        table.set_header(["condition", "measured", "holds"]);
        conditions::add_rows(&mut table, self.conditions());
        let share = 100.0 * ratio(self.attempts_cut, self.attempts);
        let load = format!(
            "{} rounds × {} clients",
            self.rounds,
            self.requests / u64::try_from(self.rounds.max(1)).unwrap_or(1)
        );
        table.add_row([
            load.as_str(),
            &format!("{} attempts, {share:.0} % cut, {:.0} s", self.attempts, self.seconds),
            "",
        ]);
        table
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of a run are far below 2^52")]
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
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
