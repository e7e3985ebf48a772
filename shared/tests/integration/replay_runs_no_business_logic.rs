//! A replay decides nothing: shown by PostgreSQL's own plan and counters, not by a mock.

use payments::domain::{IdempotencyKey, TenantId};
use serde_json::Value;
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::support::{Api, Ledger, Pay};

const STATEMENT: &str = include_str!("../../src/repositories/sql/create_payment.sql");

/// The plan of REQ(k) of T1 with what was really executed, as one transaction of the owner.
async fn executed_plan(ledger: &Ledger, key: &str) -> Value {
    let stored = IdempotencyKey::parse(key.as_bytes()).unwrap().stored(TenantId(ledger.t1));
    let sql = format!(
        "DEALLOCATE ALL; PREPARE pay (uuid, uuid, uuid, uuid, uuid, bigint, text, bigint, uuid, uuid, integer) AS {STATEMENT};
         EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE pay ('{stored}', '{}', '{}', NULL, '{}', 2500, NULL, NULL, NULL, NULL, 0)",
        stored.payment_id(),
        ledger.t1,
        crate::support::api::RECIPIENT,
    );
    let messages = ledger.owner.simple_query(&sql).await.unwrap();
    let row = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    serde_json::from_str(row.unwrap()).unwrap()
}

/// How many times the scans of `relation` in a plan were run, in all. An update that is handed no row is not counted:
/// only a scan can hand it one.
fn loops_over(plan: &Value, relation: &str) -> u64 {
    let scans = plan["Node Type"].as_str().is_some_and(|node| node.ends_with("Scan"));
    let own = if scans && plan["Relation Name"] == relation { plan["Actual Loops"].as_u64().unwrap() } else { 0 };
    let below: u64 = match plan {
        Value::Array(items) => items.iter().map(|item| loops_over(item, relation)).sum(),
        Value::Object(members) => members.values().map(|member| loops_over(member, relation)).sum(),
        _ => 0,
    };
    own + below
}

#[tokio::test]
async fn the_plan_of_a_replay_never_executes_the_scan_of_accounts() {
    let (api, ledger) = Api::with_ledger().await;

    let new = executed_plan(&ledger, "new").await;
    api.pay(Pay::new(ledger.t1, "settled")).await.assert_executed();
    let replay = executed_plan(&ledger, "settled").await;

    // A new payment scans for the account, for its slot, and again to debit it; a replay only reads.
    assert_eq!(loops_over(&new, "account_slots"), 3, "{new:#}");
    assert_eq!(loops_over(&replay, "account_slots"), 0, "{replay:#}");
    assert_eq!(loops_over(&replay, "payments"), 1, "{replay:#}");
    ledger.assert_t1(5_000, 2).await;
}

/// PostgreSQL's count of everything that ever happened to a table's rows, and how often `account_slots` was scanned.
async fn counters(owner: &Client) -> Vec<i64> {
    let sql = "SELECT n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_user_tables ORDER BY relname";
    let rows = owner.query(sql, &[]).await.unwrap();
    let mut counted: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    let sql = "SELECT seq_scan + coalesce(idx_scan, 0) FROM pg_stat_user_tables WHERE relname = 'account_slots'";
    counted.push(owner.query_one(sql, &[]).await.unwrap().get(0));
    counted
}

#[tokio::test]
async fn the_counters_of_the_server_say_that_replays_write_nothing_and_read_no_account() {
    let (api, ledger, database) = Api::with_database().await;
    let owner = database.owner().await;
    let first = api.pay(Pay::new(ledger.t1, "k")).await;
    let declined = api.pay(Pay::new(ledger.t1, "poor").amount(10_001)).await;
    // Sessions report their counts when they end.
    drop((api, ledger.owner));
    let observer = Ledger { owner: database.owner().await, ..ledger };
    observer.until_no_sessions().await;
    let before = counters(&owner).await;
    assert!(before.iter().sum::<i64>() > 0);

    let api = Api::new(&database.ledger(5));
    for _ in 0..10 {
        api.pay(Pay::new(ledger.t1, "k")).await.assert_replays(&first);
        api.pay(Pay::new(ledger.t1, "poor").amount(10_001)).await.assert_replays(&declined);
        api.pay(Pay::new(ledger.t1, "k").amount(1)).await.assert_problem(422, "idempotency_key_reused");
    }
    drop(api);
    observer.until_no_sessions().await;

    assert_eq!(counters(&owner).await, before);
}
