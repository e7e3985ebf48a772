//! What bounds the work in hand.

use std::io::{ErrorKind, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use reqwest::{Body, Method};
use tokio::time::timeout;

use crate::support::{Answer, Server};

#[tokio::test]
async fn a_body_of_64_kib_is_read_and_a_larger_one_is_a_413() {
    let server = Server::start(&[]).await;
    let post = |length: usize| {
        let request = server.request(Method::POST, "/api/v1/payments").header("Content-Type", "application/json");
        request.header("Idempotency-Key", "k").body(Body::from(vec![b' '; length]))
    };

    Answer::to(post(64 * 1024)).await.assert_problem(400, "body_invalid");
    Answer::to(post(64 * 1024 + 1)).await.assert_problem(413, "body_too_large");
    Answer::to(post(512 * 1024)).await.assert_problem(413, "body_too_large");
}

#[tokio::test]
async fn requests_beyond_the_limit_are_refused_at_once_and_served_later() {
    let server = Server::start(&[("MAX_IN_FLIGHT", "1")]).await;
    server.hold_payments().await;
    let first = tokio::spawn(server.payment("first").send());
    server.until_held(1).await;

    let refused = Answer::to(server.payment("second")).await;

    refused.assert_problem(503, "service_unavailable");
    assert_eq!((refused.header("retry-after"), &refused.json()["retryable"]), ("1", &true.into()));
    server.release_payments().await;
    assert_eq!(Answer::of(first.await.unwrap().unwrap()).await.status, 200);
    assert_eq!(Answer::to(server.payment("second")).await.status, 200);
    assert_eq!(server.balance().await, 5_000);
}

#[tokio::test]
async fn a_wait_for_a_connection_ends_in_503() {
    let server = Server::start(&[("POOL_SIZE", "1"), ("CONNECT_TIMEOUT_MS", "100")]).await;
    server.hold_payments().await;
    let first = tokio::spawn(server.payment("first").send());
    server.until_held(1).await;

    let waited = Answer::to(server.payment("second")).await;

    waited.assert_problem(503, "service_unavailable");
    assert_eq!(waited.header("retry-after"), "1");
    server.release_payments().await;
    assert_eq!(Answer::of(first.await.unwrap().unwrap()).await.status, 200);
    assert_eq!(server.balance().await, 7_500);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_client_that_takes_no_answers_loses_its_place() {
    let server = Server::start(&[("MAX_CONNECTIONS", "1"), ("REQUEST_TIMEOUT_MS", "1000")]).await;
    let stalling = TcpStream::connect(server.address()).unwrap();
    // Requests without end, and nothing is read: at some time neither side can send any more.
    let fill = tokio::task::spawn_blocking(move || {
        let requests = "GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n".repeat(1_000);
        let error = std::iter::repeat_with(|| (&stalling).write_all(requests.as_bytes())).find_map(Result::err);
        error.map(|error| error.kind())
    });

    // It waits in the system's queue until the place is free.
    let answer = timeout(Duration::from_secs(20), Answer::to(server.payment("k"))).await.unwrap();

    assert_eq!(answer.status, 200, "{answer:?}");
    let ended = fill.await.unwrap();
    assert!(matches!(ended, Some(ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)), "{ended:?}");
}
