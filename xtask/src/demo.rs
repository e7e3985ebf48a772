//! The demo: one payment, its replay and the look-up by key, shown with the balance before and after.
//!
//! Speaks the public API as any client would, and reads the balance from the ledger.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, Table};
use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixtures::{self, Tenant};
use crate::signing::Proof;
use crate::stack::http;

/// Minor units of the demo payment: 25.00 EUR.
const AMOUNT: i64 = 2500;

/// One request of the demo and what came of it.
struct Step {
    label: &'static str,
    status: u16,
    replayed: bool,
    payment_id: String,
    milliseconds: f64,
    balance: i64,
}

/// Pays once, repeats the same request, looks the key up; fails unless that was exactly one debit.
pub(crate) async fn run(base_url: &str, ledger: &Client, tenant: &Tenant<'_>, proof: &Proof) -> Result<Table> {
    let before = fixtures::balance(ledger, tenant.account).await?;
    let key = Uuid::new_v4().to_string();
    let http = http::client(Duration::from_secs(30))?;
    let payments = format!("{base_url}/api/v1/payments");
    let body = json!({ "amount": AMOUNT, "recipient_id": Uuid::new_v4() });
    let pay = || http.post(&payments).header("Idempotency-Key", &key).json(&body);
    let find = http.get(format!("{payments}?idempotency_key={key}"));

    let mut steps = Vec::new();
    for (label, request) in [("payment", pay()), ("same request again", pay()), ("look-up by key", find)] {
        let request = proof.add_to(request.build()?)?;
        steps.push(send(label, http.execute(request), ledger, tenant).await?);
    }
    verify(&steps, before)?;
    Ok(table(&steps, &key, before))
}

async fn send(
    label: &'static str,
    request: impl Future<Output = reqwest::Result<reqwest::Response>>,
    ledger: &Client,
    tenant: &Tenant<'_>,
) -> Result<Step> {
    let started = Instant::now();
    let answer = request.await.with_context(|| format!("{label}: no answer"))?;
    let status = answer.status().as_u16();
    let replayed = answer.headers().get("Idempotent-Replayed").is_some_and(|value| value == "true");
    let text = answer.text().await.with_context(|| format!("{label}: the answer broke off"))?;
    let milliseconds = started.elapsed().as_secs_f64() * 1000.0;
    ensure!(status == 200, "the demo's {label} was answered {status} {text}");
    let body: Value = serde_json::from_str(&text).with_context(|| format!("the demo's {label}: {text}"))?;
    let payment_id = body.get("payment_id").and_then(Value::as_str).unwrap_or_default().to_owned();
    let balance = fixtures::balance(ledger, tenant.account).await?;
    Ok(Step { label, status, replayed, payment_id, milliseconds, balance })
}

fn verify(steps: &[Step], before: i64) -> Result<()> {
    for step in steps {
        ensure!(step.balance == before - AMOUNT, "after the demo's {} the balance is {}", step.label, step.balance);
    }
    let ids: HashSet<&str> = steps.iter().map(|step| step.payment_id.as_str()).collect();
    ensure!(ids.len() == 1, "the demo's answers name {} payment ids instead of one", ids.len());
    let replays: Vec<bool> = steps.iter().take(2).map(|step| step.replayed).collect();
    ensure!(replays == [false, true], "the demo's repeat was not marked as a replay");
    Ok(())
}

fn table(steps: &[Step], key: &str, before: i64) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header(["", "status", "replayed", "payment", "balance (EUR)", "ms"]);
    table.add_row([
        format!("before · key {key}"),
        String::new(),
        String::new(),
        String::new(),
        money(before),
        String::new(),
    ]);
    for step in steps {
        table.add_row([
            step.label.to_owned(),
            step.status.to_string(),
            if step.replayed { "yes".to_owned() } else { String::new() },
            step.payment_id.clone(),
            money(step.balance),
            format!("{:.1}", step.milliseconds),
        ]);
    }
    for column in [4, 5] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Minor units of a currency with two decimals, for a person.
fn money(minor: i64) -> String {
    format!("{}.{:02}", minor / 100, (minor % 100).abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minor_units_are_shown_with_two_decimals() {
        assert_eq!(money(997_505), "9975.05");
        assert_eq!(money(0), "0.00");
    }
}
