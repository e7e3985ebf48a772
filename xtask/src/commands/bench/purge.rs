//! Payments while the purge deletes old keys beside them.

use anyhow::{Context, Result, bail, ensure};
use serde_json::json;

use super::Found;
use super::driver::{Kind, Load, in_turn};
use super::row::{Row, Target};
use super::servers;
use super::stage::{CONNECTIONS, Stage, recipient, tenant};
use crate::stack::functions::AuthMode;

/// Measures p99 in turn with and without the purge; it must still be deleting when the load ends.
pub(crate) async fn run(stage: &Stage) -> Result<Found> {
    let server = servers::ours(stage, &stage.app_url, AuthMode::Internal).await?;
    let load = async || stage.driver.http(server.address, Kind::Spread, false, CONNECTIONS).await;
    let mut deleted = Vec::new();
    let measure = async |purging: &bool| {
        if !purging {
            return load().await;
        }
        let before = fill(stage).await?;
        let arguments = ["purge", "--database-url", &stage.app_url].map(str::to_owned);
        let purge = stage.driver.call::<serde_json::Value>(&arguments, &[]);
        tokio::pin!(purge);
        let measured = tokio::select! {
            measured = load() => measured?,
            ended = &mut purge => bail!("the purge ended before the load: {:?}", ended?),
        };
        deleted.push(before - old_keys(stage).await?);
        Ok(measured)
    };
    let shown = |load: &Load| format!("{:.0}/s, p99 {:.1} ms", load.per_second, load.p99_us / 1e3);
    let what = "spread over HTTP (without the purge, beside it)";
    let [without, beside] = &in_turn(what, stage.pace.rounds, &[false, true], measure, shown).await?[..] else {
        bail!("a load was not measured");
    };
    ensure!(deleted.iter().all(|count| *count > 0), "the purge deleted nothing: {deleted:?}");
    println!("  deleted beside each load: {deleted:?}");
    let mut found = Found::default();
    let (with, alone) = (Load::p99s(beside), Load::p99s(without));
    found.rows.push(Row::new(
        "p99 of payments beside the purge, and without it",
        "µs",
        &with,
        &alone,
        Target::AtMost(1.2),
    ));
    let (with, alone) = (Load::throughputs(beside), Load::throughputs(without));
    found.rows.push(Row::new("payments beside the purge, and without it", "answers/s", &with, &alone, Target::None));
    found.figures.insert("purged_beside_each_load".to_owned(), json!(deleted));
    Ok(found)
}

/// Makes sure that there are enough old keys, each with its payment, and says how many.
async fn fill(stage: &Stage) -> Result<i64> {
    let missing = stage.pace.old_keys - old_keys(stage).await?;
    if missing > 0 {
        insert_keys(&stage.owner, missing, "now() - interval '31 days'").await?;
    }
    stage.owner.batch_execute("ANALYZE idempotency_keys; CHECKPOINT").await?;
    old_keys(stage).await
}

async fn old_keys(stage: &Stage) -> Result<i64> {
    let sql = "SELECT count(*) FROM idempotency_keys WHERE created_at < now() - interval '30 days'";
    Ok(stage.owner.query_one(sql, &[]).await?.try_get(0)?)
}

/// Settled payments with their keys, written straight into the tables.
pub(crate) async fn insert_keys(owner: &tokio_postgres::Client, keys: i64, created_at: &str) -> Result<()> {
    // Foreign keys are kept by construction; checking each would take most of the time.
    let sql = format!(
        "BEGIN; SET LOCAL session_replication_role = replica; SET LOCAL synchronous_commit = off;
         CREATE TEMPORARY TABLE filled ON COMMIT DROP AS
             SELECT gen_random_uuid() AS key, gen_random_uuid() AS payment FROM generate_series(1, {keys});
         INSERT INTO payments (id, tenant_id, account_id, from_default, recipient_id, amount, currency, status, created_at)
             SELECT payment, {tenant}, {recipient}, false, {recipient}, 1, 'EUR', 'succeeded', {created_at} FROM filled;
         INSERT INTO idempotency_keys (key, payment_id, status, created_at)
             SELECT key, payment, 'succeeded', {created_at} FROM filled;
         COMMIT",
        tenant = tenant(),
        recipient = recipient(),
    );
    owner.batch_execute(&sql).await.context("cannot fill the tables")
}
