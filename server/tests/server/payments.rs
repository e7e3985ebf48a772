//! Payments through the server, as through the functions.

use reqwest::Method;
use uuid::Uuid;

use crate::support::{Answer, Server};

#[tokio::test]
async fn a_payment_is_made_once_and_found_by_id_and_by_key() {
    for prepared in ["false", "true"] {
        let server = Server::start(&[("PREPARED_STATEMENTS", prepared)]).await;

        let first = Answer::to(server.payment("k")).await;
        let replay = Answer::to(server.payment("k")).await;
        let found = Answer::to(server.request(Method::GET, "/api/v1/payments?idempotency_key=k")).await;
        let got = Answer::to(server.request(Method::GET, first.header("location"))).await;

        assert_eq!((first.status, first.header("idempotent-replayed")), (200, ""), "{first:?}");
        assert_eq!((replay.status, replay.header("idempotent-replayed")), (200, "true"));
        assert_eq!((found.status, got.status), (200, 200));
        for later in [&replay, &found, &got] {
            assert_eq!(later.body, first.body);
        }
        assert_ne!(replay.header("x-request-id"), first.header("x-request-id"));
        assert_eq!(server.balance().await, 7_500);
    }
}

#[tokio::test]
async fn parallel_duplicates_pay_once_whether_statements_are_prepared_or_not() {
    for prepared in ["false", "true"] {
        let server = Server::start(&[("PREPARED_STATEMENTS", prepared), ("POOL_SIZE", "10")]).await;
        let mut duplicates = tokio::task::JoinSet::new();
        for _ in 0..10 {
            duplicates.spawn(Answer::to(server.payment("k")));
        }

        let answers = duplicates.join_all().await;

        assert!(answers.iter().all(|answer| answer.status == 200), "{answers:?}");
        assert!(answers.iter().all(|answer| answer.body == answers[0].body));
        assert_eq!(answers.iter().filter(|answer| answer.header("idempotent-replayed").is_empty()).count(), 1);
        assert_eq!(server.balance().await, 7_500);
    }
}

#[tokio::test]
async fn a_prepared_statement_is_planned_once_and_not_for_each_call() {
    for (prepared, cache_mode) in [("false", "auto"), ("true", "force_generic_plan")] {
        let server = Server::start(&[("PREPARED_STATEMENTS", prepared)]).await;
        // The paying session writes down how it plans.
        let seen = "ALTER TABLE payments ADD COLUMN cache_mode text DEFAULT current_setting('plan_cache_mode')";
        server.owner.batch_execute(seen).await.unwrap();

        assert_eq!(Answer::to(server.payment("k")).await.status, 200);

        let row = server.owner.query_one("SELECT cache_mode FROM payments", &[]).await.unwrap();
        assert_eq!(row.get::<_, &str>(0), cache_mode);
    }
}

#[tokio::test]
async fn an_unsigned_request_is_refused_where_requests_are_signed() {
    let secret = "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE=";
    let server = Server::start(&[("AUTH_MODE", "hmac"), ("MASTER_SECRETS", secret)]).await;

    let answer = Answer::to(server.payment("k")).await;

    answer.assert_problem(401, "unauthenticated");
    assert!(answer.header("accept-signature").contains("content-digest"), "{answer:?}");
    assert_eq!(server.balance().await, 10_000);
}

#[tokio::test]
async fn a_client_that_leaves_does_not_stop_its_payment() {
    let server = Server::start(&[]).await;
    server.hold_payments().await;
    let leaving = tokio::spawn(server.payment("k").send());
    server.until_held(1).await;
    leaving.abort();
    assert!(leaving.await.is_err_and(|error| error.is_cancelled()));
    server.release_payments().await;

    crate::support::until("the payment is made", async || server.balance().await == 7_500).await;
    let replay = Answer::to(server.payment("k")).await;
    assert_eq!((replay.status, replay.header("idempotent-replayed")), (200, "true"));
}

#[tokio::test]
async fn a_path_or_method_without_a_route_is_a_problem_like_any_other() {
    let server = Server::start(&[]).await;

    let nowhere = Answer::to(server.request(Method::GET, "/api/v1/accounts")).await;
    let method = Answer::to(server.request(Method::DELETE, "/api/v1/payments")).await;
    let of_one = Answer::to(server.request(Method::PUT, &format!("/api/v1/payments/{}", Uuid::nil()))).await;

    nowhere.assert_problem(404, "route_not_found");
    method.assert_problem(405, "method_not_allowed");
    assert_eq!(method.header("allow"), "GET, POST");
    of_one.assert_problem(405, "method_not_allowed");
    assert_eq!(of_one.header("allow"), "GET");
}
