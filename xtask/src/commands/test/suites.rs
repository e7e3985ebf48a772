//! Suites and their counts, as a table, a report and one closing line.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, Table};
use serde::Serialize;
use serde_json::json;

/// One suite's counts.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub(crate) struct Suite {
    /// What a person calls it.
    pub(crate) name: String,
    /// Passed.
    pub(crate) passed: usize,
    /// Failed.
    pub(crate) failed: usize,
    /// Not run although it is there: marked `#[ignore]`.
    pub(crate) ignored: usize,
    /// Could not be made on this machine.
    pub(crate) not_run: usize,
}

impl Suite {
    /// A suite of which everything ran.
    pub(crate) fn new(name: impl Into<String>, passed: usize, failed: usize) -> Self {
        Self { name: name.into(), passed, failed, ignored: 0, not_run: 0 }
    }

    /// The same with checks that could not be made.
    pub(crate) fn not_run(mut self, count: usize) -> Self {
        self.not_run = count;
        self
    }
}

/// All suites of a run, in the order in which they ran.
#[derive(Default)]
pub(crate) struct Suites {
    suites: Vec<Suite>,
}

impl Suites {
    /// Adds one.
    pub(crate) fn add(&mut self, suite: Suite) {
        self.suites.push(suite);
    }

    /// Adds several.
    pub(crate) fn extend(&mut self, suites: Vec<Suite>) {
        self.suites.extend(suites);
    }

    /// Failed, over all suites.
    pub(crate) fn failed(&self) -> usize {
        self.total(|suite| suite.failed)
    }

    /// Ignored, over all suites.
    pub(crate) fn ignored(&self) -> usize {
        self.total(|suite| suite.ignored)
    }

    /// The one line to look for.
    pub(crate) fn closing_line(&self) -> String {
        format!("{} passed, {} failed", self.total(|suite| suite.passed), self.failed())
    }

    /// Counts per suite and over all of them.
    pub(crate) fn report(&self) -> serde_json::Value {
        json!({
            "passed": self.total(|suite| suite.passed),
            "failed": self.failed(),
            "ignored": self.ignored(),
            "suites": self.suites,
        })
    }

    /// A row for each suite that has anything to tell.
    pub(crate) fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_style(UTF8_FULL_CONDENSED);
        table.set_header(["suite", "passed", "failed", "ignored", "not checked"]);
        for suite in self.suites.iter().filter(|suite| !suite.is_empty()) {
            let counts = [suite.passed, suite.failed, suite.ignored, suite.not_run].map(|count| count.to_string());
            table.add_row(std::iter::once(suite.name.clone()).chain(counts));
        }
        for index in 1..5 {
            if let Some(column) = table.column_mut(index) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table
    }

    fn total(&self, of: fn(&Suite) -> usize) -> usize {
        self.suites.iter().map(of).sum()
    }
}

impl Suite {
    fn is_empty(&self) -> bool {
        self.passed + self.failed + self.ignored + self.not_run == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closing_line_adds_the_suites_up() {
        let mut suites = Suites::default();
        suites.extend(vec![Suite::new("unit", 3, 1), Suite::new("check", 9, 0).not_run(1)]);
        assert_eq!(suites.closing_line(), "12 passed, 1 failed");
        assert_eq!((suites.failed(), suites.ignored()), (1, 0));
    }
}
