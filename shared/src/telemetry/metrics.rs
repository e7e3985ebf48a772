//! Metrics in CloudWatch's embedded metric format: a log line that CloudWatch counts when it stores it. That of a request
//! is its one line in the log. Knows names, units and dimensions; template.yaml's alarms and dashboard read them.

use serde::Serialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

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

/// What the log says of one answered request.
#[derive(Serialize)]
pub struct Answered<'a> {
    /// The function's name.
    pub function: &'a str,
    /// As in the response's header.
    pub request_id: &'a str,
    /// The trace, on AWS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<&'a str>,
    /// The HTTP status.
    pub status: u16,
    /// One word for what happened; the metrics are counted by it.
    pub outcome: &'a str,
    /// The key under which the ledger knows the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored_key: Option<String>,
    /// The payment that the key or path stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payment_id: Option<String>,
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

/// Emits a request's line: for a person and for CloudWatch at once, since a line costs more than what it says.
pub fn request(answered: &Answered<'_>, metrics: &Request) {
    let now = OffsetDateTime::now_utc();
    let logged = Logged {
        timestamp: now.format(&Rfc3339).unwrap_or_default(),
        level: "INFO",
        message: "request",
        answered,
        round_trips: metrics.round_trips,
        retries: metrics.retries,
        lost_races: metrics.lost_races,
        pool_wait_ms: metrics.pool_wait_ms,
        duration_ms: metrics.latency_ms,
    };
    emit(now, REQUEST, logged, metrics);
}

/// Emits the line of a run of the purge that succeeded.
pub fn purge(function: &str, metrics: &Purge) {
    emit(OffsetDateTime::now_utc(), PURGE, Function { function }, metrics);
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

fn emit(now: OffsetDateTime, directives: &'static [Directive], said: impl Serialize, metrics: &impl Serialize) {
    let line = Line { aws: Aws { timestamp: since_1970_ms(now), cloud_watch_metrics: directives }, said, metrics };
    match serde_json::to_string(&line) {
        Ok(line) => tracing::info!(target: TARGET, "{line}"),
        Err(error) => tracing::error!(cause = ?error, "metrics cannot be written"),
    }
}

fn since_1970_ms(time: OffsetDateTime) -> u64 {
    u64::try_from(time.unix_timestamp_nanos() / 1_000_000).unwrap_or_default()
}

/// A line in the embedded metric format.
#[derive(Serialize)]
struct Line<'a, S, M> {
    /// The dimensions, and whatever else the line says.
    #[serde(flatten)]
    said: S,
    #[serde(flatten)]
    metrics: &'a M,
    #[serde(rename = "_aws")]
    aws: Aws,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Aws {
    timestamp: u64,
    cloud_watch_metrics: &'static [Directive],
}

/// As every other line of the log begins, and the metrics by the log's names for them.
#[derive(Serialize)]
struct Logged<'a> {
    timestamp: String,
    level: &'static str,
    message: &'static str,
    #[serde(flatten)]
    answered: &'a Answered<'a>,
    round_trips: u32,
    retries: u32,
    lost_races: u32,
    pool_wait_ms: f64,
    duration_ms: f64,
}

#[derive(Serialize)]
struct Function<'a> {
    function: &'a str,
}
