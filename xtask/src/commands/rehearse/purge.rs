//! The purge, invoked as its schedule would: the same target, the same event.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tokio_postgres::Client;

use super::deployment::{Deployment, Resources, text};
use super::payments::Paid;
use super::verdict::Verdict;

/// Ages the payment's key by 31 days and purges.
pub(super) async fn run(
    deployment: &Deployment<'_>,
    resources: &Resources,
    ledger: &Client,
    paid: &Paid,
    verdict: &mut Verdict,
) -> Result<()> {
    let age = "UPDATE idempotency_keys SET created_at = now() - interval '31 days' WHERE payment_id = $1";
    ledger.execute(age, &[&paid.id]).await.context("cannot age a key")?;
    let schedule = schedule(deployment, resources).await?;
    let target = schedule.get("Target").context("the schedule has no target")?;
    let purged = deployment.invoke(text(target, "Arn"), &event(&schedule, target)?).await?;
    let keys = purged.get("keys").and_then(Value::as_u64);
    verdict.note("the schedule's event purges a key of 31 days", &purged, keys == Some(1));
    let left = "SELECT count(*) FROM idempotency_keys WHERE payment_id = $1";
    let left: i64 = ledger.query_one(left, &[&paid.id]).await?.try_get(0)?;
    verdict.note("rows of that key afterwards", left, left == 0);
    Ok(())
}

async fn schedule(deployment: &Deployment<'_>, resources: &Resources) -> Result<Value> {
    let parameters = json!({ "Name": resources.name("PurgeFunctionSchedule")? });
    deployment.emulator.call("scheduler", "get_schedule", &parameters).await
}

/// The target's own input, or what AWS's scheduler sends where there is none (its User Guide, "Lambda target").
fn event(schedule: &Value, target: &Value) -> Result<Value> {
    let input = text(target, "Input");
    if !input.is_empty() {
        return serde_json::from_str(input).context("the schedule's input is no JSON");
    }
    Ok(json!({
        "version": "0",
        "id": "8a9c2e1e-6f0b-4f5c-9b1d-2f3a4b5c6d7e",
        "detail-type": "Scheduled Event",
        "source": "aws.scheduler",
        "account": "000000000000",
        "time": "2026-01-01T00:00:00Z",
        "region": "eu-central-1",
        "resources": [text(schedule, "Arn")],
        "detail": "{}",
    }))
}
