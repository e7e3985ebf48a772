//! Where the time of one payment goes: plan, buffers and write-ahead log of a new payment, its replay and a decline.

use std::fs;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::Found;
use super::pgbench::with_values;
use super::stage::{Stage, account};
use crate::workspace;

/// More than any account holds.
const TOO_MUCH: &str = "1000000000000000";
/// Statements whose log is averaged.
const PAYMENTS: usize = 200;

/// Explains each, and writes the plans beside the report.
pub(crate) async fn run(stage: &Stage) -> Result<Found> {
    let from = account("1");
    let fresh = |amount: &str| statement(Uuid::new_v4(), Uuid::new_v4(), &from, amount);
    let settled = fresh("1");
    // Catalogue caches are filled, and what a checkpoint makes dear is paid for.
    log_bytes(stage, std::iter::repeat_with(|| fresh("1"))).await?;
    stage.owner.batch_execute(&settled).await?;
    let mut figures = Map::new();
    for (name, statement) in [("new", fresh("1")), ("replay", settled.clone()), ("decline", fresh(TOO_MUCH))] {
        let bytes = match name {
            "new" => log_bytes(stage, std::iter::repeat_with(|| fresh("1"))).await?,
            "decline" => log_bytes(stage, std::iter::repeat_with(|| fresh(TOO_MUCH))).await?,
            _ => log_bytes(stage, std::iter::repeat(settled.clone())).await?,
        };
        figures.insert(name.to_owned(), explain(stage, name, &statement, bytes).await?);
    }
    let mut found = Found::default();
    found.figures.insert("explain".to_owned(), figures.into());
    Ok(found)
}

fn statement(key: Uuid, payment: Uuid, account: &str, amount: &str) -> String {
    with_values(&format!("'{key}'::uuid"), &format!("'{payment}'::uuid"), account, amount)
}

async fn explain(stage: &Stage, name: &str, statement: &str, log_bytes: f64) -> Result<Value> {
    let sql = format!("EXPLAIN (ANALYZE, BUFFERS, WAL) {statement}");
    let rows = stage.owner.query(&sql, &[]).await.context("cannot explain")?;
    let lines: Vec<String> = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    let path = workspace::root().join(format!("target/reports/explain-{name}.txt"));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&path, format!("{}\n", lines.join("\n")))?;
    let time = |label: &str| {
        let line = lines.iter().find_map(|line| line.trim().strip_prefix(label))?;
        line.trim().trim_end_matches(" ms").parse::<f64>().ok()
    };
    let (planning, execution) = (time("Planning Time:"), time("Execution Time:"));
    println!(
        "  {name}: planning {:.2} ms, execution {:.2} ms, log with its commit {log_bytes:.0} bytes; {}",
        planning.unwrap_or_default(),
        execution.unwrap_or_default(),
        workspace::shown(&path)
    );
    Ok(json!({ "planning_ms": planning, "execution_ms": execution, "wal_bytes": log_bytes }))
}

/// What a statement adds to the write-ahead log on average, its commit's own record included: that is in no plan.
async fn log_bytes(stage: &Stage, statements: impl Iterator<Item = String>) -> Result<f64> {
    let place = "SELECT pg_current_wal_insert_lsn()::text";
    let from: String = stage.owner.query_one(place, &[]).await?.try_get(0)?;
    for statement in statements.take(PAYMENTS) {
        stage.owner.batch_execute(&statement).await?;
    }
    let sql = format!("SELECT (pg_current_wal_insert_lsn() - '{from}'::pg_lsn)::float8 / {PAYMENTS}");
    Ok(stage.owner.query_one(&sql, &[]).await?.try_get(0)?)
}
