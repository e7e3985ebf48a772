//! What the subjects did, as a table, as conditions and as figures.

use std::time::Duration;

use comfy_table::Table;
use serde_json::{Value, json};

use super::Row;
use super::situations::{Cell, Situation};
use super::subjects::Expected;
use crate::commands::lab::client::AMOUNT;
use crate::commands::lab::shown::{self, Condition};
use crate::commands::lab::stage::CLIENTS;

/// How a cell ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// Every key was debited once, and its clients were told one payment.
    Right,
    /// A key was debited more than once.
    PaidAgain,
    /// Debited once, but clients were told of several payments, or never heard.
    LeftInTheDark,
    /// A client was told of a payment that does not exist.
    NeverPaid,
}

/// Judges one cell.
pub(super) fn ending(cell: &Cell) -> Ending {
    if cell.most() > 1 {
        Ending::PaidAgain
    } else if cell.fewest() < 1 {
        Ending::NeverPaid
    } else if cell.payment_ids != 1 || cell.unanswered > 0 {
        Ending::LeftInTheDark
    } else {
        Ending::Right
    }
}

fn is_as_expected(expected: Expected, cell: &Cell) -> bool {
    match expected {
        Expected::Once => ending(cell) == Ending::Right,
        Expected::Twice => cell.most() > 1,
        Expected::NotAtAll => ending(cell) == Ending::NeverPaid && cell.unanswered == 0,
        Expected::Unanswered => cell.most() == 1 && cell.unanswered > 0,
        Expected::Any => true,
    }
}

fn told(expected: Expected) -> Option<&'static str> {
    match expected {
        Expected::Once => Some("one debit, one payment id, every client answered"),
        Expected::Twice => Some("pays more than once"),
        Expected::NotAtAll => Some("tells of a payment and debits nothing"),
        Expected::Unanswered => Some("debits once and leaves the client without an answer"),
        Expected::Any => None,
    }
}

/// One condition for each cell of which something is told.
pub(super) fn conditions(rows: &[Row]) -> Vec<Condition> {
    let cells = rows.iter().flat_map(|row| row.cells.iter().zip(row.subject.expected).map(move |cell| (row, cell)));
    cells
        .filter_map(|(row, (cell, expected))| {
            let told = format!("{}, {}: {}", row.subject.name, cell.situation.name(), told(expected)?);
            Some(Condition::new(told, describe(cell), is_as_expected(expected, cell)))
        })
        .collect()
}

/// For a person.
fn describe(cell: &Cell) -> String {
    let debits = if cell.fewest() == cell.most() {
        cell.most().to_string()
    } else {
        format!("{} to {}", cell.fewest(), cell.most())
    };
    match ending(cell) {
        Ending::Right => debits,
        Ending::PaidAgain => format!("{debits}  ✗ paid again"),
        Ending::NeverPaid => format!("{debits}  ✗ told \"paid\""),
        Ending::LeftInTheDark if cell.unanswered > 0 => format!("{debits}  ✗ no answer"),
        Ending::LeftInTheDark => format!("{debits}  ✗ {} ids", cell.payment_ids),
    }
}

/// Subjects down, situations across.
pub(super) fn table(rows: &[Row]) -> Table {
    let header: Vec<&str> = std::iter::once("debits per key").chain(Situation::ALL.map(Situation::name)).collect();
    let mut table = shown::table(&header);
    for row in rows {
        let cells = row.cells.iter().map(describe);
        table.add_row(std::iter::once(row.subject.name.to_owned()).chain(cells));
    }
    table
}

/// For the report.
pub(super) fn figures(rows: &[Row], took: Duration, rounds: u16) -> Value {
    let subjects = rows.iter().map(|row| {
        json!({
            "subject": row.subject.name,
            "flow": row.subject.flow.unwrap_or("create_payment.sql"),
            "lock_ttl_ms": row.subject.flow.filter(|flow| *flow == "lock-first").map(|_| row.subject.lock_ttl_ms),
            "situations": row.cells,
        })
    });
    json!({
        "subjects": subjects.collect::<Vec<_>>(),
        "load": { "rounds": rounds, "clients": CLIENTS },
        "minor_units_per_debit": AMOUNT,
        "seconds": took.as_secs_f64(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(debits: &[i64], payment_ids: usize, unanswered: u64) -> Cell {
        Cell { situation: Situation::Load, debits: debits.to_vec(), payment_ids, unanswered, retries: 0 }
    }

    #[test]
    fn one_debit_one_id_and_an_answer_is_right_and_every_single_flaw_is_not() {
        assert!(is_as_expected(Expected::Once, &cell(&[1, 1], 1, 0)));
        for flawed in [cell(&[1, 2], 1, 0), cell(&[1, 0], 1, 0), cell(&[1, 1], 2, 0), cell(&[1, 1], 1, 1)] {
            assert!(!is_as_expected(Expected::Once, &flawed), "{flawed:?}");
        }
    }

    #[test]
    fn an_anti_pattern_that_pays_once_shows_nothing() {
        assert!(!is_as_expected(Expected::Twice, &cell(&[1, 1], 1, 0)));
        assert!(is_as_expected(Expected::Twice, &cell(&[1, 2], 1, 0)));
    }

    #[test]
    fn a_promise_without_a_debit_and_a_debit_without_an_answer_are_told_apart() {
        let (promise, silence) = (cell(&[0], 1, 0), cell(&[1], 0, 1));
        assert!(is_as_expected(Expected::NotAtAll, &promise) && !is_as_expected(Expected::NotAtAll, &silence));
        assert!(is_as_expected(Expected::Unanswered, &silence) && !is_as_expected(Expected::Unanswered, &promise));
    }
}
