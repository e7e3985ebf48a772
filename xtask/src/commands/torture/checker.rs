//! The checker: what clients were told against what the database holds. A pure function, and no code of the product in it.

mod documented;
mod ledger;
mod told;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Display;

use serde::Serialize;
use uuid::Uuid;

use super::history::Journey;

/// A payment as the database holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PaymentRow {
    pub(crate) id: Uuid,
    pub(crate) account: Uuid,
    pub(crate) recipient: Uuid,
    pub(crate) amount: i64,
    pub(crate) currency: String,
    pub(crate) status: String,
    /// RFC 3339 in UTC, to the microsecond.
    pub(crate) created_at: String,
}

/// What the database holds after everything has ended. Amounts are in minor units.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dump {
    /// Each account's balance.
    pub(crate) balances: HashMap<Uuid, i64>,
    /// What each account began with and was topped up by.
    pub(crate) paid_in: HashMap<Uuid, i64>,
    /// All payments.
    pub(crate) payments: Vec<PaymentRow>,
    /// All keys: the payment that each names, and its status.
    pub(crate) keys: Vec<(Uuid, String)>,
    /// Payments whose keys were made old on purpose: these may have been purged.
    pub(crate) purgeable: HashSet<Uuid>,
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Flaw {
    /// A key was debited more than once.
    DoubleDebit,
    /// A client that asked to the end heard no outcome, or one that the database does not know.
    LostAnswer,
    /// An account's money does not add up.
    BalanceDrift,
    /// A key without a payment, a payment without a key, or one that nobody wanted.
    HalfDone,
    /// Two answers, or an answer and the database, that disagree.
    Contradiction,
    /// An answer that is not documented, or that tells of the inside.
    Undocumented,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    pub(crate) flaw: Flaw,
    /// The key or account.
    pub(crate) about: String,
    pub(crate) text: String,
}

/// Everything that is wrong.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) list: Vec<Finding>,
    /// The sum of all accounts' differences, without their signs.
    pub(crate) drift: u64,
}

impl Findings {
    fn add(&mut self, flaw: Flaw, about: impl Display, text: impl Into<String>) {
        self.list.push(Finding { flaw, about: about.to_string(), text: text.into() });
    }

    /// How many there are of a flaw.
    pub(crate) fn count(&self, flaw: Flaw) -> usize {
        self.list.iter().filter(|finding| finding.flaw == flaw).count()
    }

    /// The flaws that there are, each with its number.
    pub(crate) fn flaws(&self) -> BTreeMap<Flaw, usize> {
        let mut flaws = BTreeMap::new();
        for finding in &self.list {
            *flaws.entry(finding.flaw).or_default() += 1;
        }
        flaws
    }
}

/// Compares. Whoever asked to the end must have heard the outcome at `answered_by_ms`, on the history's clock.
pub(crate) fn check(history: &[Journey], dump: &Dump, answered_by_ms: u64) -> Findings {
    let mut findings = Findings::default();
    let mut rows: HashMap<Uuid, Vec<&PaymentRow>> = HashMap::new();
    for payment in &dump.payments {
        rows.entry(payment.recipient).or_default().push(payment);
    }
    for journey in history {
        let rows = rows.remove(&journey.wish.recipient).unwrap_or_default();
        told::check(journey, &rows, answered_by_ms, &mut findings);
        documented::check(journey, &mut findings);
    }
    for payment in rows.into_values().flatten() {
        findings.add(Flaw::HalfDone, payment.id, "a payment that no client wished for");
    }
    ledger::check(dump, &mut findings);
    findings
}

#[cfg(test)]
mod tests;
