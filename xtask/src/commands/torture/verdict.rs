//! The figures of a run, the conditions that they must meet, and how both are shown.

use std::collections::BTreeMap;

use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use serde::Serialize;

use super::checker::{Finding, Findings, Flaw};
use super::history::Journey;
use super::overload::Overload;
use crate::conditions::{self, Condition};

/// Findings that are shown and reported in full; all are counted.
const SHOWN: usize = 20;

/// The figures of a run.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Figures {
    /// What the run was made from.
    pub(super) seed: u64,
    /// What repeats it.
    pub(super) command: String,
    /// Payments in the database that were wished for under faults, declined ones included.
    pub(super) payments: usize,
    pub(super) declined: usize,
    /// Further ones, of the overload.
    pub(super) payments_in_overload: usize,
    /// Payments that were asked for on the command line.
    pub(super) payments_wanted: Option<u64>,
    /// How often each kind of fault was applied.
    pub(super) faults: BTreeMap<&'static str, u64>,
    /// Strikes that another one was in the way of: none of them is in `faults`.
    pub(super) not_carried_out: u64,
    /// How often the broken network itself came to a standstill and was started anew, which cut every connection.
    pub(super) network_restarts: u64,
    /// Kinds that must be there, and were not applied. A kind that this machine does not allow is in `not_applied`.
    pub(super) faults_missing: Vec<&'static str>,
    pub(super) not_applied: BTreeMap<&'static str, String>,
    pub(super) double_debits: usize,
    pub(super) lost_answers: usize,
    /// Minor units, over all accounts.
    pub(super) balance_drift: u64,
    pub(super) half_done: usize,
    /// Answers that disagree with each other or with the database.
    pub(super) contradictions: usize,
    pub(super) undocumented_answers: usize,
    /// Idempotency keys that clients used.
    pub(super) keys: usize,
    /// Keys whose client went away and did not come back.
    pub(super) abandoned: usize,
    /// HTTP requests sent, and those of them that were not the first with their key.
    pub(super) attempts: usize,
    pub(super) retries: usize,
    /// By status and problem code.
    pub(super) answers: BTreeMap<String, usize>,
    /// Keys whose payment was committed, and whose first outcome that a client heard was a replay: the answer that told
    /// of the commit was lost on its way.
    pub(super) answers_lost_after_commit: usize,
    /// Of these, how many were found by the server itself: the only try of the key was answered.
    pub(super) resolved_by_the_server: usize,
    /// Seconds from the end of the faults until the last client knew its outcome.
    pub(super) slowest_outcome_after_faults: f64,
    /// Processes that were started, restarts included.
    pub(super) process_starts: u64,
    /// Seconds of the faults, and payments a second during them.
    pub(super) seconds: f64,
    pub(super) payments_per_second: f64,
    pub(super) overload: Option<Overload>,
    pub(super) findings: Vec<Finding>,
}

impl Figures {
    /// Counts what the clients experienced.
    pub(super) fn count_history(&mut self, history: &[Journey]) {
        self.keys = history.len();
        self.attempts = history.iter().map(|journey| journey.attempts.len()).sum();
        self.retries = self.attempts - self.keys;
        for journey in history {
            self.abandoned += usize::from(!journey.wants_answer && journey.settled_ms().is_none());
            for attempt in &journey.attempts {
                let kind = match &attempt.answer {
                    None => "none".to_owned(),
                    Some(answer) if answer.status == 200 && answer.replayed => "200 replayed".to_owned(),
                    Some(answer) => {
                        format!("{} {}", answer.status, answer.text("code").unwrap_or_default()).trim_end().to_owned()
                    }
                };
                *self.answers.entry(kind).or_default() += 1;
            }
            let mut outcomes = journey.attempts.iter().filter(|attempt| attempt.is_final());
            let heard_of_the_commit = |replayed: Option<bool>| replayed == Some(false);
            if outcomes.clone().count() > 0
                && !outcomes.any(|it| heard_of_the_commit(it.answer.as_ref().map(|answer| answer.replayed)))
            {
                self.answers_lost_after_commit += 1;
                self.resolved_by_the_server += usize::from(journey.attempts.len() == 1);
            }
        }
    }

    /// Counts what the checker found.
    pub(super) fn count_findings(&mut self, findings: &Findings) {
        self.double_debits = findings.count(Flaw::DoubleDebit);
        self.lost_answers = findings.count(Flaw::LostAnswer);
        self.balance_drift = findings.drift;
        self.half_done = findings.count(Flaw::HalfDone);
        self.contradictions = findings.count(Flaw::Contradiction);
        self.undocumented_answers = findings.count(Flaw::Undocumented);
        self.findings = findings.list.iter().take(SHOWN).cloned().collect();
    }

    /// Each condition with its measured value and whether it is met.
    pub(crate) fn conditions(&self) -> Vec<Condition> {
        let none = |name, count: usize| (name, count.to_string(), count == 0);
        let mut conditions = vec![
            none("double debits: 0", self.double_debits),
            none("lost answers: 0", self.lost_answers),
            ("balance drift: 0", self.balance_drift.to_string(), self.balance_drift == 0),
            none("half done: 0", self.half_done),
            none("contradictions: 0", self.contradictions),
            none("undocumented answers: 0", self.undocumented_answers),
            ("every kind of fault: applied", self.kinds_applied(), self.faults_missing.is_empty()),
            (
                "answers lost after their commit: some",
                self.answers_lost_after_commit.to_string(),
                self.answers_lost_after_commit > 0,
            ),
        ];
        if let Some(wanted) = self.payments_wanted {
            let enough = u64::try_from(self.payments).is_ok_and(|payments| payments >= wanted);
            conditions.push(("payments: as many as wanted", format!("{} of {wanted}", self.payments), enough));
        }
        if let Some(overload) = &self.overload {
            let recovered = overload.recovered_after.map_or("never".to_owned(), |after| format!("{after:.1} s"));
            let bounded = overload.resident_at_most <= overload.resident_before.saturating_mul(2);
            let memory = format!("{} MiB", overload.resident_at_most >> 20);
            conditions.push(none("overload: other answers: 0", overload.other_answers));
            conditions.push(("overload: memory at most doubles", memory, bounded));
            conditions.push((
                "overload: recovers within 15 s",
                recovered,
                overload.recovered_after.is_some_and(|after| after < 15.0),
            ));
        }
        conditions
    }

    /// The conditions that are not met.
    pub(crate) fn missed(&self) -> Vec<String> {
        conditions::missed(self.conditions())
    }

    /// What happened and what must hold, for a person.
    pub(crate) fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_style(UTF8_FULL_CONDENSED);
        table.set_header(["what", "measured", "holds"]);
        table.add_row(["payments", &format!("{}, {} of them declined", self.payments, self.declined), ""]);
        let pace = format!("{:.0} s, {:.0} payments/s", self.seconds, self.payments_per_second);
        table.add_row(["under faults for", &pace, ""]);
        let tries = format!("{} for {} keys, {} of them abandoned", self.attempts, self.keys, self.abandoned);
        table.add_row(["tries", &tries, ""]);
        table.add_row(["answers", &listed(&self.answers), ""]);
        table.add_row(["faults", &listed(&self.faults), ""]);
        table.add_row(["not carried out", &self.not_carried_out.to_string(), ""]);
        table.add_row(["network started anew", &self.network_restarts.to_string(), ""]);
        for (kind, reason) in &self.not_applied {
            table.add_row([*kind, &format!("not applied: {reason}"), ""]);
        }
        let slowest = format!("{:.1} s after the faults", self.slowest_outcome_after_faults);
        table.add_row(["last outcome", &slowest, ""]);
        if let Some(overload) = &self.overload {
            let offered = format!(
                "{:.0}/s sustained, {:.0}/s offered for {:.0} s: {} sent, {} held back",
                overload.sustainable_per_second,
                overload.offered_per_second,
                overload.seconds,
                overload.sent,
                overload.held_back
            );
            table.add_row(["overload", &offered, ""]);
        }
        conditions::add_rows(&mut table, self.conditions());
        table
    }

    fn kinds_applied(&self) -> String {
        if self.faults_missing.is_empty() {
            format!("{} kinds", self.faults.len())
        } else {
            format!("missing: {}", self.faults_missing.join(", "))
        }
    }
}

fn listed<K: std::fmt::Display, V: std::fmt::Display>(counts: &BTreeMap<K, V>) -> String {
    counts.iter().map(|(name, count)| format!("{name}: {count}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fine() -> Figures {
        let overload =
            Overload { resident_before: 10, resident_at_most: 12, recovered_after: Some(1.0), ..Overload::default() };
        Figures {
            payments: 10,
            payments_wanted: Some(10),
            answers_lost_after_commit: 1,
            overload: Some(overload),
            ..Figures::default()
        }
    }

    #[test]
    fn a_run_without_a_flaw_holds() {
        assert_eq!(fine().missed(), Vec::<String>::new());
    }

    #[test]
    fn every_single_flaw_fails_the_run() {
        let flaws: [fn(&mut Figures); 11] = [
            |figures| figures.double_debits = 1,
            |figures| figures.lost_answers = 1,
            |figures| figures.balance_drift = 1,
            |figures| figures.half_done = 1,
            |figures| figures.contradictions = 1,
            |figures| figures.undocumented_answers = 1,
            |figures| figures.faults_missing = vec!["process_killed"],
            |figures| figures.answers_lost_after_commit = 0,
            |figures| figures.payments = 9,
            |figures| figures.overload.as_mut().unwrap().recovered_after = None,
            |figures| figures.overload.as_mut().unwrap().resident_at_most = 21,
        ];
        for (number, flaw) in flaws.into_iter().enumerate() {
            let mut figures = fine();
            flaw(&mut figures);
            assert_eq!(figures.missed().len(), 1, "flaw {number}");
        }
    }
}
