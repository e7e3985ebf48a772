//! A scene: steps of two workers, each with what is told about it and what was seen.

use std::time::Duration;

use serde::Serialize;

use crate::commands::lab::stage::Pace;

/// For the reader's eyes. Shorter than what the product waits for a rival.
const PAUSE: Duration = Duration::from_millis(350);

/// One step.
#[derive(Debug, Serialize)]
pub(super) struct Step {
    /// `A`, `B`, or somebody beside them.
    pub(super) who: &'static str,
    /// What it does.
    pub(super) does: String,
    /// What has to come of it.
    pub(super) told: String,
    /// What came of it.
    pub(super) seen: String,
}

/// A scene and how it ended.
#[derive(Debug, Serialize)]
pub(super) struct Scene {
    /// For a person.
    pub(super) title: &'static str,
    /// What the worker that came second gets from PostgreSQL.
    pub(super) loser: &'static str,
    /// What it answers to its client.
    pub(super) answer: &'static str,
    /// What was taken from the account, in payments.
    pub(super) debits: i64,
    /// In the order in which they happened.
    pub(super) steps: Vec<Step>,
    #[serde(skip)]
    pace: Pace,
}

impl Scene {
    /// Opens the scene.
    pub(super) fn open(title: &'static str, loser: &'static str, answer: &'static str, pace: Pace) -> Self {
        println!("\n{title}");
        Self { title, loser, answer, debits: 0, steps: Vec::new(), pace }
    }

    /// A step has happened.
    pub(super) async fn step(
        &mut self,
        who: &'static str,
        does: impl Into<String>,
        told: impl Into<String>,
        seen: impl Into<String>,
    ) {
        let step = Step { who, does: does.into(), told: told.into(), seen: seen.into() };
        // B stands to the right of A, so that each column reads as one worker's story.
        let indent = if step.who == "B" { 50 } else { 2 };
        let flaw = if step.told == step.seen { String::new() } else { format!("  ✗ told: {}", step.told) };
        println!("{:indent$}{}  {} → {}{flaw}", "", step.who, step.does, step.seen);
        self.steps.push(step);
        if self.pace == Pace::Full {
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// The ledger's word at the end.
    pub(super) async fn close(mut self, told: i64, debits: i64) -> Self {
        self.debits = debits;
        let count = |debits| if debits == 1 { "1 debit".to_owned() } else { format!("{debits} debits") };
        self.step("ledger", "in the end", count(told), count(debits)).await;
        self
    }
}
