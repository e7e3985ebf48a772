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
/// Payments whose log is averaged: the commit's own record is not in any plan.
const PAYMENTS: usize = 200;

/// Explains each, and writes the plans beside the report.
pub(crate) async fn run(stage: &Stage) -> Result<Found> {
    let from = account("1");
    let (key, payment) = (Uuid::new_v4(), Uuid::new_v4());
    let new = statement(key, payment, &from, "1");
    let decline = statement(Uuid::new_v4(), Uuid::new_v4(), &from, TOO_MUCH);
    // Catalogue caches are filled, and what a checkpoint makes dear is paid for.
    for _ in 0..20 {
        stage.owner.batch_execute(&statement(Uuid::new_v4(), Uuid::new_v4(), &from, "1")).await?;
    }
    let mut figures = Map::new();
    for (name, statement) in [("new", &new), ("replay", &new), ("decline", &decline)] {
        figures.insert(name.to_owned(), explain(stage, name, statement).await?);
    }
    let bytes = log_bytes_per_payment(stage, &from).await?;
    println!("  write-ahead log of a new payment, commit included: {bytes:.0} bytes");
    figures.insert("wal_bytes_per_payment".to_owned(), json!(bytes));
    let mut found = Found::default();
    found.figures.insert("explain".to_owned(), figures.into());
    Ok(found)
}

fn statement(key: Uuid, payment: Uuid, account: &str, amount: &str) -> String {
    with_values(&format!("'{key}'::uuid"), &format!("'{payment}'::uuid"), account, amount)
}

async fn explain(stage: &Stage, name: &str, statement: &str) -> Result<Value> {
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
    let log = lines.iter().filter_map(|line| wal_bytes(line)).max().unwrap_or_default();
    println!(
        "  {name}: planning {:.2} ms, execution {:.2} ms, log {log} bytes; {}",
        planning.unwrap_or_default(),
        execution.unwrap_or_default(),
        workspace::shown(&path)
    );
    Ok(json!({ "planning_ms": planning, "execution_ms": execution, "wal_bytes": log }))
}

/// `WAL: records=10 fpi=1 bytes=1234`; of the whole statement where the node is its root.
fn wal_bytes(line: &str) -> Option<u64> {
    let (_, bytes) = line.trim().strip_prefix("WAL: ")?.split_once("bytes=")?;
    bytes.split_whitespace().next()?.parse().ok()
}

async fn log_bytes_per_payment(stage: &Stage, account: &str) -> Result<f64> {
    let place = "SELECT pg_current_wal_insert_lsn()::text";
    let from: String = stage.owner.query_one(place, &[]).await?.try_get(0)?;
    for _ in 0..PAYMENTS {
        stage.owner.batch_execute(&statement(Uuid::new_v4(), Uuid::new_v4(), account, "1")).await?;
    }
    let sql = format!("SELECT (pg_current_wal_insert_lsn() - '{from}'::pg_lsn)::float8 / {PAYMENTS}");
    Ok(stage.owner.query_one(&sql, &[]).await?.try_get(0)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_of_a_node_is_read_with_and_without_whole_pages() {
        assert_eq!(wal_bytes("        WAL: records=3 bytes=211"), Some(211));
        assert_eq!(wal_bytes("WAL: records=10 fpi=1 bytes=8412"), Some(8_412));
        assert_eq!(wal_bytes("Buffers: shared hit=9"), None);
    }
}
