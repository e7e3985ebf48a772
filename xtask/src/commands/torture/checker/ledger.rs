//! The database by itself: money adds up, and keys and payments come in pairs.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use super::{Dump, Findings, Flaw};

/// Judges the dump.
pub(super) fn check(dump: &Dump, findings: &mut Findings) {
    balances(dump, findings);
    pairs(dump, findings);
}

/// Paid in = paid out + balance, for each account.
fn balances(dump: &Dump, findings: &mut Findings) {
    let mut paid_out: HashMap<Uuid, i64> = HashMap::new();
    for payment in dump.payments.iter().filter(|payment| payment.status == "succeeded") {
        *paid_out.entry(payment.account).or_default() += payment.amount;
    }
    for (account, balance) in &dump.balances {
        let paid_in = dump.paid_in.get(account).copied().unwrap_or_default();
        let drift = balance - (paid_in - paid_out.get(account).copied().unwrap_or_default());
        if drift != 0 {
            findings.drift += drift.unsigned_abs();
            findings.add(Flaw::BalanceDrift, account, format!("the balance is off by {drift}"));
        }
        if *balance < 0 {
            findings.add(Flaw::BalanceDrift, account, format!("the balance is {balance}"));
        }
    }
}

/// No key without its payment, no payment without its key unless that was purged.
fn pairs(dump: &Dump, findings: &mut Findings) {
    let payments: HashMap<Uuid, &str> =
        dump.payments.iter().map(|payment| (payment.id, payment.status.as_str())).collect();
    for (payment, status) in &dump.keys {
        match payments.get(payment) {
            None => findings.add(Flaw::HalfDone, payment, "a key whose payment is not there"),
            Some(of_payment) if of_payment != status => {
                findings.add(Flaw::HalfDone, payment, format!("the key says {status}, the payment {of_payment}"));
            }
            Some(_) => {}
        }
    }
    let keyed: HashSet<Uuid> = dump.keys.iter().map(|(payment, _)| *payment).collect();
    if keyed.len() < dump.keys.len() {
        findings.add(Flaw::HalfDone, "keys", "several keys name one payment");
    }
    for payment in dump.payments.iter().filter(|payment| !keyed.contains(&payment.id)) {
        if !dump.purgeable.contains(&payment.id) {
            findings.add(Flaw::HalfDone, payment.id, "a payment whose key is gone, although nobody made it old");
        }
    }
}
