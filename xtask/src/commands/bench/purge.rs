//! Payments while the purge deletes old keys beside them.

use anyhow::{Context, Result, bail, ensure};
use futures_util::future::BoxFuture;
use serde_json::json;

use super::Found;
use super::driver::{Kind, Load, Subject, in_turn};
use super::row::{Row, Target};
use super::servers::{self, Server};
use super::stage::{CONNECTIONS, Stage, recipient, tenant};
use crate::stack::functions::AuthMode;

/// Load by itself, or beside the purge.
struct Payments<'a> {
    stage: &'a Stage,
    server: &'a Server,
    purging: bool,
}

impl Payments<'_> {
    /// With the purge or without it: as many old keys are there, and a checkpoint has just been, after which each page's
    /// first change is logged as a whole.
    async fn pay(&self) -> Result<(Load, i64)> {
        let before = fill(self.stage).await?;
        if !self.purging {
            return Ok((self.load().await?, 0));
        }
        // It must still be deleting when the load ends, or less than all of it would be measured.
        let arguments = ["purge", "--database-url", &self.stage.app_url].map(str::to_owned);
        let load = tokio::select! {
            load = self.load() => load?,
            ended = self.stage.driver.call::<serde_json::Value>(&arguments, &[]) => {
                bail!("the purge ended before the load: {}", ended?)
            }
        };
        let deleted = before - old_keys(self.stage).await?;
        ensure!(deleted > 0, "the purge deleted nothing beside the load");
        Ok((load, deleted))
    }

    async fn load(&self) -> Result<Load> {
        self.stage.driver.http(self.server.address, Kind::Spread, false, CONNECTIONS).await
    }
}

impl Subject for Payments<'_> {
    /// The load, and how many keys were deleted beside it.
    type Seen = (Load, i64);

    fn measure(&self) -> BoxFuture<'_, Result<(Load, i64)>> {
        Box::pin(self.pay())
    }

    fn shown((load, deleted): &(Load, i64)) -> String {
        format!("{}, p99 {:.1} ms, {deleted} deleted", load.shown(), load.p99_us / 1e3)
    }
}

/// Measures in turn without the purge and beside it.
pub(crate) async fn run(stage: &Stage) -> Result<Found> {
    let server = servers::ours(stage, &stage.app_url, AuthMode::Internal).await?;
    let payments = [false, true].map(|purging| Payments { stage, server: &server, purging });
    let what = "spread over HTTP (by itself, beside the purge)";
    let measured = in_turn(what, stage.pace.rounds_of_a_p99(), &payments).await?;
    let loads = |rounds: &[(Load, i64)]| rounds.iter().map(|(load, _)| load.clone()).collect::<Vec<_>>();
    let [alone, beside] = &measured[..] else {
        bail!("a load was not measured");
    };
    let (alone, with) = (loads(alone), loads(beside));
    let mut found = Found::default();
    let name = "payments beside the purge, and without it";
    let (ours, theirs) = (Load::p99s(&with), Load::p99s(&alone));
    found.rows.push(Row::new(format!("p99 of {name}"), "µs", &ours, &theirs, Target::AtMost(1.2)));
    let (ours, theirs) = (Load::throughputs(&with), Load::throughputs(&alone));
    found.rows.push(Row::new(name, "answers/s", &ours, &theirs, Target::None));
    let deleted: Vec<i64> = beside.iter().map(|(_, deleted)| *deleted).collect();
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
