//! What the functions log: one line that explains each request, and never what a client entrusted to us.

use tracing::level_filters::LevelFilter;

use crate::support::{Api, Fault, Log, Pay};

#[tokio::test]
async fn each_request_is_one_line_with_its_outcome_round_trips_and_duration() {
    let (api, ledger) = Api::with_ledger().await;
    let (log, _guard) = Log::capture();

    let paid = api.pay(Pay::new(ledger.t1, "k")).await;
    api.pay(Pay::new(ledger.t1, "k")).await;
    api.pay(Pay::new(ledger.t1, "poor").amount(10_001)).await;
    api.pay(Pay::new(ledger.t1, "poor").amount(10_001)).await;
    api.pay(Pay::new(ledger.t1, "k").amount(1)).await;
    api.get(ledger.t1, "/api/v1/payments?idempotency_key=k").await;
    api.get(ledger.t1, "/api/v1/payments/x").await;

    let requests = log.requests();
    let outcomes: Vec<_> = requests
        .iter()
        .map(|line| {
            (line["outcome"].as_str().unwrap(), line["status"].as_u64().unwrap(), line["round_trips"].as_u64().unwrap())
        })
        .collect();
    assert_eq!(
        outcomes,
        [
            ("executed", 200, 1),
            ("replayed", 200, 1),
            ("declined", 402, 1),
            ("decline_replayed", 402, 1),
            ("idempotency_key_reused", 422, 1),
            ("found", 200, 1),
            ("payment_id_invalid", 400, 0),
        ]
    );
    let line = &requests[0];
    assert_eq!(line["function"], "create_payment");
    assert_eq!(line["level"], "INFO");
    assert_eq!(line["request_id"], paid.headers["x-request-id"].to_str().unwrap());
    assert_eq!(line["payment_id"], paid.payment_id().to_string());
    assert!(line["duration_ms"].as_f64().unwrap() > 0.0);
    assert_eq!(line["stored_key"], requests[1]["stored_key"]);
}

#[tokio::test]
async fn a_request_writes_one_line_whatever_the_level_since_its_metrics_have_none() {
    for level in [LevelFilter::INFO, LevelFilter::ERROR] {
        let (api, ledger) = Api::with_ledger().await;
        let (log, _guard) = Log::from_level(level);

        api.pay(Pay::new(ledger.t1, "k")).await.assert_executed();
        api.get(ledger.t1, "/api/v1/payments/x").await;

        let lines = log.lines();
        assert_eq!(lines.len(), 2, "{lines:?}");
        for line in &lines {
            assert_eq!((&line["message"], &line["level"]), (&"request".into(), &"INFO".into()));
            assert_eq!(line["RoundTrips"], line["round_trips"]);
            assert_eq!(line["LatencyMs"], line["duration_ms"]);
            assert!(line["timestamp"].as_str().unwrap().ends_with('Z') && line.get("trace_id").is_none(), "{line}");
        }
        assert!(lines[0].get("stored_key").is_some() && lines[1].get("stored_key").is_none());
    }
}

#[tokio::test]
async fn no_key_and_no_body_is_ever_logged_not_even_of_a_failure() {
    let (api, ledger) = Api::with_ledger().await;
    let (log, _guard) = Log::capture();
    ledger.top_up(ledger.a, 100_000_000).await;
    let request = Pay::new(ledger.t1, "entrusted-key").amount(12_345_678);

    api.pay(request.clone()).await.assert_executed();
    api.pay(request.clone()).await;
    api.send(request.request_with_body("{\"entrusted-member\":1}")).await;
    api.get(ledger.t1, "/api/v1/payments?idempotency_key=entrusted-key").await;
    Fault::new("40001", 2).inject(&ledger.owner).await;
    api.pay(Pay::new(ledger.t1, "entrusted-key-2").amount(12_345_678)).await.assert_executed();
    crate::support::faults::clear(&ledger.owner).await;
    Fault::new("XX000", 9).inject(&ledger.owner).await;
    api.pay(Pay::new(ledger.t1, "entrusted-key-3").amount(12_345_678)).await.assert_problem(500, "internal_error");

    let text = log.text();
    assert!(text.contains("trying again") && text.contains("no answer from the ledger"), "{text}");
    for secret in ["entrusted", "12345678", &request.recipient.to_string()] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    assert_eq!(log.requests().len(), 6);
}

#[tokio::test]
async fn a_refused_row_is_logged_by_its_constraint_and_without_its_values() {
    let (api, ledger) = Api::with_ledger().await;
    let (log, _guard) = Log::capture();
    let check = "ALTER TABLE payments ADD CONSTRAINT never_so_much CHECK (amount <> 4321) NOT VALID";
    ledger.owner.batch_execute(check).await.unwrap();
    let request = Pay::new(ledger.t1, "k").amount(4321);

    api.pay(request.clone()).await.assert_problem(500, "internal_error");

    let text = log.text();
    assert!(text.contains("never_so_much") && text.contains("23514"), "{text}");
    for value in ["4321", "Failing row", &request.recipient.to_string(), &ledger.a.to_string()] {
        assert!(!text.contains(value), "{value} in {text}");
    }
}
