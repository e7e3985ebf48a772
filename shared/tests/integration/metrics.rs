//! The metrics that alarms and dashboard read, as lines in CloudWatch's embedded metric format.

use std::time::Duration;

use futures_util::join;
use http::Request;
use payments::domain::Invocation;
use payments::handlers::{GetPaymentHandler, serve};
use payments::use_cases::LookUpPayment;
use serde_json::Value;

use crate::support::api::authenticator;
use crate::support::{Api, Fault, Hold, Log, Pay};

/// The lines with metrics.
fn metrics(log: &Log) -> Vec<Value> {
    log.lines().into_iter().filter(|line| line.get("_aws").is_some()).collect()
}

/// Every metric of a line as CloudWatch reads it: the dimensions with their values, and the name.
fn read(line: &Value) -> Vec<(String, String)> {
    let mut metrics = Vec::new();
    for directive in line["_aws"]["CloudWatchMetrics"].as_array().unwrap() {
        assert_eq!(directive["Namespace"], "Payments");
        for dimensions in directive["Dimensions"].as_array().unwrap() {
            let dimensions = dimensions.as_array().unwrap().iter().map(|name| {
                let name = name.as_str().unwrap();
                format!("{name}={}", line[name].as_str().unwrap())
            });
            let dimensions = dimensions.collect::<Vec<_>>().join(",");
            for metric in directive["Metrics"].as_array().unwrap() {
                let name = metric["Name"].as_str().unwrap();
                assert!(["Count", "Milliseconds"].contains(&metric["Unit"].as_str().unwrap()), "{metric}");
                assert!(line[name].is_number(), "{name} in {line}");
                metrics.push((dimensions.clone(), name.to_owned()));
            }
        }
    }
    metrics
}

fn count(line: &Value, name: &str) -> u64 {
    assert!(read(line).iter().any(|(_, metric)| metric == name), "{name} is no metric of {line}");
    line[name].as_u64().unwrap()
}

#[tokio::test]
async fn each_request_is_counted_by_outcome_and_measured_by_function() {
    let (api, ledger) = Api::with_ledger().await;
    let (log, _guard) = Log::of_functions();

    api.pay(Pay::new(ledger.t1, "k")).await;
    api.pay(Pay::new(ledger.t1, "k")).await;

    let lines = metrics(&log);
    assert_eq!(lines.len(), 2);
    for (line, outcome) in lines.iter().zip(["executed", "replayed"]) {
        let by_outcome = format!("function=create_payment,outcome={outcome}");
        let by_function = |name: &str| ("function=create_payment".to_owned(), name.to_owned());
        let mut expected = vec![(by_outcome, "Requests".to_owned())];
        expected.extend(
            ["LatencyMs", "RoundTrips", "Retries", "LostRaces", "PoolWaitMs", "AmbiguousUnresolved"].map(by_function),
        );
        assert_eq!(read(line), expected);
        assert_eq!((count(line, "Requests"), count(line, "RoundTrips")), (1, 1));
        assert_eq!((count(line, "Retries"), count(line, "LostRaces")), (0, 0));
        let [latency, wait] = ["LatencyMs", "PoolWaitMs"].map(|name| line[name].as_f64().unwrap());
        assert!(latency > wait && wait > 0.0, "{line}");
        let timestamp = Duration::from_millis(line["_aws"]["Timestamp"].as_u64().unwrap());
        assert!(timestamp.abs_diff(std::time::UNIX_EPOCH.elapsed().unwrap()) < Duration::from_mins(1));
    }
}

#[tokio::test]
async fn retries_and_lost_races_are_counted() {
    let (api, ledger, database) = Api::with_database().await;
    let request = Pay::new(ledger.t1, "k");
    let hold = Hold::new(&ledger).await;
    let (log, _guard) = Log::of_functions();
    let lost = async {
        hold.until_held(1).await;
        api.pay(request.clone()).await
    };
    let release = async {
        hold.until_rivals_wait(1).await;
        hold.release().await;
    };
    let (won, lost, ()) = join!(api.pay(request.clone()), lost, release);
    won.assert_executed();
    lost.assert_replays(&won);
    let races: u64 = metrics(&log).iter().map(|line| count(line, "LostRaces")).sum();
    assert_eq!(races, 1);

    let (other, ledger) = Api::with_ledger().await;
    Fault::new("40001", 2).inject(&ledger.owner).await;
    other.pay(Pay::new(ledger.t1, "k")).await.assert_executed();
    let line = metrics(&log).pop().unwrap();
    assert_eq!((count(&line, "Retries"), count(&line, "RoundTrips")), (2, 3));
    drop(database);
}

#[tokio::test]
async fn a_commit_that_stays_unknown_is_an_alarm_and_one_that_is_resolved_is_not() {
    let (api, ledger, wire) = Api::behind_wire().await;
    let (log, _guard) = Log::of_functions();
    let last = || count(&metrics(&log).pop().unwrap(), "AmbiguousUnresolved");

    wire.lose_replies(1);
    assert_eq!(api.pay(Pay::new(ledger.t1, "resolved")).await.status, 200);
    assert_eq!(last(), 0);

    wire.lose_replies(2);
    api.pay(Pay::new(ledger.t1, "open")).await.assert_unavailable();
    assert_eq!(last(), 1);

    wire.take_down().await;
    api.pay(Pay::new(ledger.t1, "nothing-sent")).await.assert_unavailable();
    assert_eq!(last(), 0);
}

#[tokio::test]
async fn a_refusal_of_the_database_is_not_ambiguous() {
    let (api, ledger) = Api::with_ledger().await;
    let (log, _guard) = Log::of_functions();
    Fault::new("40001", 9).inject(&ledger.owner).await;

    api.pay(Pay::new(ledger.t1, "k")).await.assert_unavailable();

    assert_eq!(count(&metrics(&log)[0], "AmbiguousUnresolved"), 0);
}

#[tokio::test]
async fn the_trace_is_named_in_the_log() {
    let (_, _, database) = Api::with_database().await;
    let handler = GetPaymentHandler::new(authenticator(), LookUpPayment::new(database.ledger(1)));
    let (log, _guard) = Log::of_functions();
    let trace = "1-5759e988-bd862e3fe1be46a994272793";
    let invocation = Invocation::new("r".to_owned(), Duration::from_secs(9)).traced(Some(trace.to_owned()));

    serve(&handler, Request::get("/api/v1/payments/x").body(bytes::Bytes::new()).unwrap(), &invocation).await;

    assert_eq!(log.requests()[0]["trace_id"], trace);
}

#[test]
fn a_purge_is_counted_with_what_it_deleted() {
    let (log, _guard) = Log::of_functions();
    let purge = payments::telemetry::metrics::Purge { purge_runs: 1, purged_keys: 7, purged_nonces: 11 };

    payments::telemetry::metrics::purge("purge_expired_keys", &purge);

    let line = &metrics(&log)[0];
    assert!(read(line).iter().all(|(dimensions, _)| dimensions == "function=purge_expired_keys"));
    assert_eq!(["PurgeRuns", "PurgedKeys", "PurgedNonces"].map(|name| count(line, name)), [1, 7, 11]);
}
