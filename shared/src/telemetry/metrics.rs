//! Metrics in CloudWatch's embedded metric format: a log line that CloudWatch counts when it stores it.
//! Knows names, units and dimensions; template.yaml's alarms and dashboard read them.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

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
    emit(REQUEST, Outcome { function, outcome }, metrics);
}

/// Emits the metrics of a run of the purge that succeeded.
pub fn purge(function: &str, metrics: &Purge) {
    emit(PURGE, Function { function }, metrics);
}

/// What CloudWatch is to count of a line: names of members, told anew in each line, so they are written down only once.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Directive {
    namespace: &'static str,
    dimensions: &'static [&'static [&'static str]],
    metrics: &'static [Metric],
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Metric {
    name: &'static str,
    unit: &'static str,
}

const fn count(name: &'static str) -> Metric {
    Metric { name, unit: "Count" }
}

const fn milliseconds(name: &'static str) -> Metric {
    Metric { name, unit: "Milliseconds" }
}

const REQUEST: &[Directive] = &[
    Directive { namespace: NAMESPACE, dimensions: &[&["function", "outcome"]], metrics: &[count("Requests")] },
    Directive {
        namespace: NAMESPACE,
        dimensions: &[&["function"]],
        metrics: &[
            milliseconds("LatencyMs"),
            count("RoundTrips"),
            count("Retries"),
            count("LostRaces"),
            milliseconds("PoolWaitMs"),
            count("AmbiguousUnresolved"),
        ],
    },
];

const PURGE: &[Directive] = &[Directive {
    namespace: NAMESPACE,
    dimensions: &[&["function"]],
    metrics: &[count("PurgeRuns"), count("PurgedKeys"), count("PurgedNonces")],
}];

fn emit(directives: &'static [Directive], dimensions: impl Serialize, metrics: &impl Serialize) {
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
struct Line<'a, D, M> {
    #[serde(rename = "_aws")]
    aws: Aws,
    #[serde(flatten)]
    dimensions: D,
    #[serde(flatten)]
    metrics: &'a M,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Aws {
    timestamp: u64,
    cloud_watch_metrics: &'static [Directive],
}

#[derive(Serialize)]
struct Outcome<'a> {
    function: &'a str,
    outcome: &'a str,
}

#[derive(Serialize)]
struct Function<'a> {
    function: &'a str,
}
