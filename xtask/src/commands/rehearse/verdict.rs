//! What was tried and whether it held: line by line, as a table, as a report.

use std::fmt::Display;

use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use serde::Serialize;
use serde_json::json;

/// One thing that must hold.
#[derive(Serialize)]
struct Case {
    name: &'static str,
    seen: String,
    passed: bool,
}

/// All cases of a rehearsal, in the order in which they were tried.
#[derive(Default)]
pub(crate) struct Verdict {
    cases: Vec<Case>,
    /// Resources that the stack had.
    pub(super) resources: usize,
    /// What the client met during the update.
    pub(super) update: Option<super::update::Figures>,
    /// From the start of the database to the last case.
    pub(super) seconds: f64,
}

impl Verdict {
    /// Notes what was seen.
    pub(super) fn note(&mut self, name: &'static str, seen: impl Display, passed: bool) {
        let seen = seen.to_string();
        println!("  {} {name}: {seen}", if passed { "✓" } else { "✗" });
        self.cases.push(Case { name, seen, passed });
    }

    /// How many held.
    pub(crate) fn passed(&self) -> usize {
        self.cases.iter().filter(|case| case.passed).count()
    }

    /// How many did not.
    pub(crate) fn failed(&self) -> usize {
        self.cases.len() - self.passed()
    }

    pub(super) fn report(&self) -> serde_json::Value {
        json!({
            "resources": self.resources,
            "cases_passed": self.passed(),
            "cases_failed": self.failed(),
            "cases": self.cases,
            "update": self.update,
            "seconds": self.seconds,
        })
    }

    pub(super) fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_style(UTF8_FULL_CONDENSED);
        table.set_header(["case", "seen", "holds"]);
        for case in &self.cases {
            table.add_row([case.name, &case.seen, if case.passed { "yes" } else { "NO" }]);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_that_does_not_hold_counts_as_failed() {
        let mut verdict = Verdict::default();
        verdict.note("one", 200, true);
        verdict.note("other", 500, false);
        assert_eq!((verdict.passed(), verdict.failed()), (1, 1));
    }
}
