//! One key: what its clients were told, and the rows that it caused.

use serde_json::Value;

use super::{Findings, Flaw, PaymentRow};
use crate::commands::torture::history::{Answer, Journey, Sent};

/// Accounts of a run have one currency.
const CURRENCY: &str = "EUR";

/// Judges a journey by its rows.
pub(super) fn check(journey: &Journey, rows: &[&PaymentRow], answered_by_ms: u64, findings: &mut Findings) {
    let key = &journey.wish.key;
    for _ in rows.iter().skip(1) {
        findings.add(Flaw::DoubleDebit, key, format!("{} payments instead of one", rows.len()));
    }
    for row in rows {
        if !as_wished(journey, row) {
            findings.add(Flaw::Contradiction, key, format!("the stored payment {row:?} is not what was wished for"));
        }
    }
    for attempt in &journey.attempts {
        let Some(answer) = &attempt.answer else { continue };
        match (attempt.sent, answer.status) {
            (Sent::Payment | Sent::LookUp, 200) | (Sent::Payment, 402) => hold_to_it(key, answer, rows, findings),
            (Sent::Payment, 422) => {
                findings.add(Flaw::Contradiction, key, "the very request that was paid counts as another one");
            }
            (Sent::OtherAmount, 200 | 402) => {
                findings.add(Flaw::Contradiction, key, "another amount under the same key was accepted");
            }
            (Sent::LookUp, 404) if journey.settled_ms().is_some_and(|settled| settled < attempt.sent_ms) => {
                findings.add(Flaw::LostAnswer, key, "a settled payment was not found by its key");
            }
            _ => {}
        }
    }
    agree(journey, findings);
    let in_time = journey.settled_ms().is_some_and(|settled| settled <= answered_by_ms);
    if journey.wants_answer && !in_time {
        findings.add(Flaw::LostAnswer, key, format!("no outcome after {} tries", journey.attempts.len()));
    }
}

fn as_wished(journey: &Journey, row: &PaymentRow) -> bool {
    let wish = &journey.wish;
    row.account == wish.account && row.amount == wish.amount && row.currency == CURRENCY
}

/// An answer is a promise: exactly that payment is in the database.
fn hold_to_it(key: &str, answer: &Answer, rows: &[&PaymentRow], findings: &mut Findings) {
    let Ok(body) = serde_json::from_str::<Value>(&answer.body) else {
        findings.add(Flaw::Undocumented, key, format!("{} with a body that is no JSON", answer.status));
        return;
    };
    let told = |member: &str| body.get(member).and_then(Value::as_str).unwrap_or_default();
    let Some(row) = rows.iter().find(|row| row.id.to_string() == told("payment_id")) else {
        let text = format!("told {} {}, which the database does not know", answer.status, told("payment_id"));
        findings.add(Flaw::LostAnswer, key, text);
        return;
    };
    let same = told("status") == row.status
        && (answer.status == 402
            || (told("account_id") == row.account.to_string()
                && told("recipient_id") == row.recipient.to_string()
                && body.get("amount").and_then(Value::as_i64) == Some(row.amount)
                && told("currency") == row.currency
                && same_time(told("created_at"), &row.created_at)));
    if !same {
        findings.add(Flaw::Contradiction, key, format!("told {}, stored {row:?}", answer.body));
    }
}

/// RFC 3339 allows any number of fractional digits.
fn same_time(told: &str, stored: &str) -> bool {
    let plain = |text: &str| {
        let text = text.trim_end_matches('Z').to_owned();
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    };
    plain(told) == plain(stored)
}

/// All outcomes that were ever told are the same bytes.
fn agree(journey: &Journey, findings: &mut Findings) {
    let mut outcomes = journey.attempts.iter().filter(|attempt| attempt.is_final()).filter_map(|a| a.answer.as_ref());
    let Some(first) = outcomes.next() else { return };
    if let Some(other) = outcomes.find(|answer| answer.status != first.status || answer.body != first.body) {
        let text = format!("told {} {} and {} {}", first.status, first.body, other.status, other.body);
        findings.add(Flaw::Contradiction, &journey.wish.key, text);
    }
}
