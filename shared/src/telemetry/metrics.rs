//! Metrics in CloudWatch's embedded metric format: a log line that CloudWatch counts when it stores it.
//! Knows names, units and dimensions; template.yaml's alarms and dashboard read them.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::{Value, json};

/// The target of the events that carry metrics: their message is the line.
pub const TARGET: &str = "metrics";
/// The namespace in CloudWatch.
const NAMESPACE: &str = "Payments";

/// What one request of an endpoint adds to the metrics. Times are in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Request {
    /// One. Counted by outcome.
    pub requests: u32,
    /// From the event to the response.
    pub latency_ms: f64,
    /// Statements sent to the database.
    pub round_trips: u32,
    /// Further tries after a failure.
    pub retries: u32,
    /// Races for a key that another call won or holds.
    pub lost_races: u32,
    /// Waits for a connection, new or from the pool.
    pub pool_wait_ms: f64,
    /// One when the call ended with a 5xx although something it sent may have been committed.
    pub ambiguous_unresolved: u32,
}

/// What one successful run of the purge adds to the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Purge {
    /// One.
    pub purge_runs: u32,
    /// Keys deleted.
    pub purged_keys: u64,
    /// Nonces deleted.
    pub purged_nonces: u64,
}

/// Emits the metrics of a request.
pub fn request(function: &str, outcome: &str, metrics: &Request) {
    let directives = json!([
        {
            "Namespace": NAMESPACE,
            "Dimensions": [["function", "outcome"]],
            "Metrics": [{ "Name": "Requests", "Unit": "Count" }],
        },
        {
            "Namespace": NAMESPACE,
            "Dimensions": [["function"]],
            "Metrics": [
                { "Name": "LatencyMs", "Unit": "Milliseconds" },
                { "Name": "RoundTrips", "Unit": "Count" },
                { "Name": "Retries", "Unit": "Count" },
                { "Name": "LostRaces", "Unit": "Count" },
                { "Name": "PoolWaitMs", "Unit": "Milliseconds" },
                { "Name": "AmbiguousUnresolved", "Unit": "Count" },
            ],
        },
    ]);
    emit(directives, json!({ "function": function, "outcome": outcome }), metrics);
}

/// Emits the metrics of a run of the purge that succeeded.
pub fn purge(function: &str, metrics: &Purge) {
    let directives = json!([{
        "Namespace": NAMESPACE,
        "Dimensions": [["function"]],
        "Metrics": [
            { "Name": "PurgeRuns", "Unit": "Count" },
            { "Name": "PurgedKeys", "Unit": "Count" },
            { "Name": "PurgedNonces", "Unit": "Count" },
        ],
    }]);
    emit(directives, json!({ "function": function }), metrics);
}

fn emit(directives: Value, dimensions: Value, metrics: &impl Serialize) {
    let line = Line { aws: Aws { timestamp: now_ms(), cloud_watch_metrics: directives }, dimensions, metrics };
    match serde_json::to_string(&line) {
        Ok(line) => tracing::info!(target: TARGET, "{line}"),
        Err(error) => tracing::error!(cause = ?error, "metrics cannot be written"),
    }
}

fn now_ms() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX)
}

/// A line in the embedded metric format.
#[derive(Serialize)]
struct Line<'a, M> {
    #[serde(rename = "_aws")]
    aws: Aws,
    #[serde(flatten)]
    dimensions: Value,
    #[serde(flatten)]
    metrics: &'a M,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Aws {
    timestamp: u64,
    cloud_watch_metrics: Value,
}
