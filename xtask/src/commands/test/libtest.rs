//! Runs `cargo test`, lets its output through and counts from libtest's closing lines.

use anyhow::{Context, Result};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::unix::pipe;

use super::suites::Suite;
use crate::workspace;

/// Runs all tests of the workspace with these variables and returns a suite for each test binary.
pub(super) async fn run(environment: &[(&'static str, String)]) -> Result<Vec<Suite>> {
    // One pipe for both streams: cargo names the suite on one, libtest counts on the other.
    let (reader, writer) = std::io::pipe()?;
    let mut cargo = workspace::cargo();
    cargo
        .args(["test", "--locked", "--workspace", "--no-fail-fast", "--color", "never"])
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdout(writer.try_clone()?)
        .stderr(writer);
    let mut cargo = tokio::process::Command::from(cargo);
    let mut child = cargo.kill_on_drop(true).spawn().context("cannot run cargo test")?;
    // The command keeps its ends of the pipe open; the reader would never see the end.
    drop(cargo);
    let mut lines = BufReader::new(pipe::Receiver::from_owned_fd(reader.into())?).split(b'\n');
    let mut counter = Counter::default();
    while let Some(line) = lines.next_segment().await? {
        let line = String::from_utf8_lossy(&line).into_owned();
        println!("{line}");
        counter.read(&line);
    }
    Ok(counter.finish(child.wait().await?.success()))
}

/// Reads the lines of `cargo test` one by one.
#[derive(Default)]
struct Counter {
    current: Option<String>,
    suites: Vec<Suite>,
}

impl Counter {
    fn read(&mut self, line: &str) {
        let line = line.trim();
        if let Some(name) = started(line) {
            self.lose_current();
            self.current = Some(name);
        } else if let Some(counts) = closing(line) {
            let name = self.current.take().unwrap_or_else(|| "tests".to_owned());
            self.suites.push(Suite { ignored: counts.ignored, ..Suite::new(name, counts.passed, counts.failed) });
        }
    }

    /// A suite that began and never closed: its process died.
    fn lose_current(&mut self) {
        if let Some(name) = self.current.take() {
            self.suites.push(Suite::new(format!("{name}: no result"), 0, 1));
        }
    }

    /// A failure of cargo that no suite accounts for is a failure as well.
    fn finish(mut self, success: bool) -> Vec<Suite> {
        self.lose_current();
        if !success && self.suites.iter().all(|suite| suite.failed == 0) {
            self.suites.push(Suite::new("cargo test", 0, 1));
        }
        self.suites
    }
}

/// `Running unittests src/lib.rs (target/debug/deps/payments-0f…)` or `Doc-tests payments`.
fn started(line: &str) -> Option<String> {
    if let Some(library) = line.strip_prefix("Doc-tests ") {
        return Some(format!("{library} documentation"));
    }
    let (what, binary) = line.strip_prefix("Running ")?.split_once(" (")?;
    let stem = binary.trim_end_matches(')').rsplit(['/', '\\']).next()?;
    let name = stem.rsplit_once('-').map_or(stem, |(name, _)| name);
    let kind = if what.starts_with("unittests") { "unit" } else { "tests" };
    Some(format!("{name} {kind}"))
}

struct Counts {
    passed: usize,
    failed: usize,
    ignored: usize,
}

/// `test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.02s`
fn closing(line: &str) -> Option<Counts> {
    let counts = line.strip_prefix("test result: ")?.split_once(". ")?.1;
    let count = |of: &str| {
        let part = counts.split(';').map(str::trim).find(|part| part.ends_with(of))?;
        part.split_whitespace().next()?.parse().ok()
    };
    Some(Counts { passed: count("passed")?, failed: count("failed")?, ignored: count("ignored")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(lines: &str, success: bool) -> Vec<Suite> {
        let mut counter = Counter::default();
        lines.lines().for_each(|line| counter.read(line));
        counter.finish(success)
    }

    #[test]
    fn suites_are_named_and_counted_from_cargos_own_lines() {
        let lines = "     Running unittests src/lib.rs (target/debug/deps/payments-0f9a)\n\nrunning 3 tests\n\
            test result: FAILED. 2 passed; 1 failed; 4 ignored; 0 measured; 0 filtered out; finished in 0.02s\n\
            \x20    Running tests/integration/main.rs (target/debug/deps/integration-77aa)\n\
            test result: ok. 40 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 9.10s\n\
            \x20  Doc-tests payments\n\
            test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
        let expected = [
            Suite { ignored: 4, ..Suite::new("payments unit", 2, 1) },
            Suite::new("integration tests", 40, 0),
            Suite::new("payments documentation", 1, 0),
        ];
        assert_eq!(count(lines, false), expected);
    }

    #[test]
    fn a_suite_whose_process_died_counts_as_a_failure() {
        let lines = "Running unittests src/lib.rs (target/debug/deps/payments-0f9a)\nrunning 3 tests\n";
        assert_eq!(count(lines, false), [Suite::new("payments unit: no result", 0, 1)]);
    }

    #[test]
    fn a_failure_before_any_suite_is_not_lost() {
        assert_eq!(count("error: could not compile\n", false), [Suite::new("cargo test", 0, 1)]);
    }
}
