//! Reads what the parts wrote: the end of a log for a person, the functions' JSON lines for counting.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use uuid::Uuid;

/// The last `lines` lines of the file, indented.
pub(crate) fn tail(path: &Path, lines: usize) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let all: Vec<&str> = text.lines().collect();
    let start = all.len().saturating_sub(lines);
    let end: Vec<String> = all.iter().skip(start).map(|line| format!("  | {line}")).collect();
    if end.is_empty() { "  | (empty)".to_owned() } else { end.join("\n") }
}

/// The line that a function logs for each handled request; only what is counted here.
#[derive(Deserialize)]
struct RequestLine {
    message: String,
    function: String,
    status: u16,
    payment_id: Option<Uuid>,
}

/// How many 200 answers `create_payment` produced for these payments, executed or replayed.
pub(crate) fn answered_200(log: &str, payments: &HashSet<Uuid>) -> usize {
    log.lines()
        .filter_map(|line| serde_json::from_str::<RequestLine>(line).ok())
        .filter(|line| line.message == "request" && line.function == "create_payment" && line.status == 200)
        .filter(|line| line.payment_id.is_some_and(|id| payments.contains(&id)))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_200s_of_create_payment_for_the_payments_asked_are_counted() {
        let mine = Uuid::from_u128(1);
        let line = |function: &str, status: u16, id: Uuid| {
            format!(
                r#"{{"message":"request","function":"{function}","status":{status},"payment_id":"{id}","duration_ms":1.5}}"#
            )
        };
        let log = [
            line("create_payment", 200, mine),
            line("create_payment", 200, mine),
            line("create_payment", 503, mine),
            line("create_payment", 200, Uuid::from_u128(2)),
            line("get_payment", 200, mine),
            r#"{"message":"request","function":"create_payment","status":400,"payment_id":null}"#.to_owned(),
            " INFO invoke server listening on 127.0.0.1:9000".to_owned(),
        ]
        .join("\n");
        assert_eq!(answered_200(&log, &HashSet::from([mine])), 2);
    }

    #[test]
    fn the_tail_of_a_missing_log_says_that_it_is_empty() {
        assert_eq!(tail(Path::new("does/not/exist"), 3), "  | (empty)");
    }
}
