//! The same load on tables with few and with many keys, each in a database of its own.

use std::time::Instant;

use anyhow::Result;
use futures_util::future::BoxFuture;
use serde_json::json;

use super::Found;
use super::driver::{Driver, Kind, Load, Subject, in_turn};
use super::purge::insert_keys;
use super::row::{Row, Target};
use super::stage::{self, CONNECTIONS, Stage};
use crate::stack::postgres;

/// Keys in one transaction of the filling.
const BATCH: i64 = 250_000;

/// A database with so many keys.
struct Grown {
    keys: i64,
    url: String,
    driver: Driver,
}

impl Subject for Grown {
    type Seen = Load;

    fn measure(&self) -> BoxFuture<'_, Result<Load>> {
        Box::pin(self.driver.ledger(&self.url, Kind::Spread, true, CONNECTIONS))
    }

    fn shown(seen: &Load) -> String {
        seen.shown()
    }
}

/// Fills, measures in turn, compares with the smallest.
pub(crate) async fn run(stage: &Stage) -> Result<Found> {
    let mut databases = Vec::new();
    for size in stage.pace.sizes {
        databases.push(grow(stage, *size).await?);
    }
    let sizes: Vec<i64> = databases.iter().map(|grown| grown.keys).collect();
    let what = format!("spread on tables with {sizes:?} keys");
    let measured = in_turn(&what, stage.pace.rounds, &databases).await?;
    let throughputs: Vec<_> = measured.iter().map(|loads| Load::throughputs(loads)).collect();
    let mut found = Found::default();
    let mut curve = Vec::new();
    for (grown, samples) in databases.iter().zip(&throughputs) {
        curve.push(json!({ "keys": grown.keys, "per_second": samples.summary() }));
    }
    if let [smallest, larger @ ..] = &throughputs[..] {
        for (grown, samples) in databases.iter().skip(1).zip(larger) {
            let name = format!("spread on {} keys, beside {} keys", grown.keys, sizes.first().unwrap_or(&0));
            found.rows.push(Row::new(name, "payments/s", samples, smallest, Target::AtLeast(0.9)));
        }
    }
    found.figures.insert("growth".to_owned(), json!(curve));
    Ok(found)
}

/// As many keys as were asked for, or as many as the time for filling allows.
async fn grow(stage: &Stage, keys: i64) -> Result<Grown> {
    let name = format!("keys_{keys}");
    let url = stage::create_database(&stage.postgres, &name).await?;
    let owner = postgres::connect(&stage.postgres.url(&name)).await?;
    let started = Instant::now();
    let mut filled = 0;
    while filled < keys && started.elapsed() < stage.pace.filling {
        let batch = BATCH.min(keys - filled);
        insert_keys(&owner, batch, "now()").await?;
        filled += batch;
    }
    for settled in ["VACUUM ANALYZE", "CHECKPOINT"] {
        owner.batch_execute(settled).await?;
    }
    println!("  {filled} of {keys} keys filled in {:.0} s", started.elapsed().as_secs_f64());
    Ok(Grown { keys: filled, url, driver: stage.driver.clone() })
}
