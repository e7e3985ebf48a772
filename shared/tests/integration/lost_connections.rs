//! Connections that die: one fresh try finds out what happened, and a second loss is a 503.

use std::time::Duration;

use futures_util::join;

use crate::support::faults::tries;
use crate::support::{Answer, Api, Fault, Hold, Ledger, Pay, TestDatabase};

/// Sends a look-up, so that the pool holds a connection.
async fn warm_up(api: &Api, ledger: &Ledger) {
    let answer = api.get(ledger.t1, "/api/v1/payments?idempotency_key=warm-up").await;
    answer.assert_problem(404, "payment_not_found");
}

/// New sessions of this database cannot write, or can again.
async fn set_read_only(ledger: &Ledger, database: &TestDatabase, on: bool) {
    let name = database.name();
    let sql = format!("ALTER DATABASE {name} SET default_transaction_read_only = {on}");
    ledger.owner.batch_execute(&sql).await.unwrap();
}

#[tokio::test]
async fn c19_a_connection_to_a_server_that_became_read_only_is_replaced() {
    let (_, ledger, database) = Api::with_database().await;
    let api = Api::new(&database.ledger(1));
    set_read_only(&ledger, &database, true).await;
    warm_up(&api, &ledger).await;
    set_read_only(&ledger, &database, false).await;

    let answer = api.pay(Pay::new(ledger.t1, "k")).await;

    answer.assert_executed();
    assert_eq!(answer.round_trips, 2);
    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn c19_after_a_failover_no_other_old_connection_of_the_pool_is_tried() {
    let (_, ledger, database) = Api::with_database().await;
    let api = Api::new(&database.ledger(3));
    set_read_only(&ledger, &database, true).await;
    join!(warm_up(&api, &ledger), warm_up(&api, &ledger), warm_up(&api, &ledger));
    set_read_only(&ledger, &database, false).await;

    let answer = api.pay(Pay::new(ledger.t1, "k")).await;

    answer.assert_executed();
    assert_eq!(answer.round_trips, 2);
    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn c19_a_failover_that_leads_to_another_read_only_server_is_a_503() {
    let (_, ledger, database) = Api::with_database().await;
    let api = Api::new(&database.ledger(1));
    set_read_only(&ledger, &database, true).await;

    let answer = api.pay(Pay::new(ledger.t1, "k")).await;
    answer.assert_unavailable();
    assert_eq!(answer.round_trips, 2);
    ledger.assert_noop().await;

    set_read_only(&ledger, &database, false).await;
    api.pay(Pay::new(ledger.t1, "k")).await.assert_executed();
    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn c19_a_session_that_was_terminated_while_idle_is_replaced() {
    let (_, ledger, database) = Api::with_database().await;
    let api = Api::new(&database.ledger(1));

    for key in ["k1", "k2", "k3"] {
        warm_up(&api, &ledger).await;
        ledger.terminate_sessions().await;
        api.pay(Pay::new(ledger.t1, key)).await.assert_executed();
    }
    ledger.assert_t1(2_500, 3).await;
}

#[tokio::test]
async fn c19_a_session_that_is_terminated_in_the_middle_of_a_payment_is_replaced() {
    let (_, ledger, database) = Api::with_database().await;
    let api = Api::new(&database.ledger(1));
    let hold = Hold::new(&ledger).await;

    let meanwhile = async {
        hold.until_held(1).await;
        ledger.terminate_sessions().await;
        hold.release().await;
    };
    let (answer, ()) = join!(api.pay(Pay::new(ledger.t1, "k")), meanwhile);

    answer.assert_executed();
    assert_eq!(answer.round_trips, 2);
    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn c19_a_code_that_says_the_connection_is_gone_gets_one_fresh_try_and_then_a_503() {
    for sqlstate in ["25006", "57P01", "57P02", "57P03", "08006"] {
        let (api, ledger) = Api::with_ledger().await;
        Fault::new(sqlstate, 3).inject(&ledger.owner).await;

        api.pay(Pay::new(ledger.t1, "k")).await.assert_unavailable();
        assert_eq!(tries(&ledger.owner).await, 2, "{sqlstate}");
        ledger.assert_noop().await;

        // One more fault is left: this time the fresh try succeeds.
        api.pay(Pay::new(ledger.t1, "k")).await.assert_executed();
        assert_eq!(tries(&ledger.owner).await, 4, "{sqlstate}");
        ledger.assert_t1(7_500, 1).await;
    }
}

#[tokio::test]
async fn c19_a_socket_that_closed_while_idle_is_replaced() {
    let (api, ledger, wire) = Api::behind_wire().await;
    warm_up(&api, &ledger).await;
    wire.cut().await;

    api.pay(Pay::new(ledger.t1, "k")).await.assert_executed();
    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn c19_a_request_that_never_arrived_is_sent_again() {
    let (api, ledger, wire) = Api::behind_wire().await;
    warm_up(&api, &ledger).await;
    wire.lose_requests(1);

    let answer = api.pay(Pay::new(ledger.t1, "k")).await;

    answer.assert_executed();
    assert_eq!(answer.round_trips, 2);
    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn c19_a_request_that_is_lost_twice_is_a_503_and_the_retry_pays() {
    let (api, ledger, wire) = Api::behind_wire().await;
    wire.lose_requests(2);

    let answer = api.pay(Pay::new(ledger.t1, "k")).await;
    answer.assert_unavailable();
    assert_eq!(answer.round_trips, 2);
    ledger.assert_noop().await;

    api.pay(Pay::new(ledger.t1, "k")).await.assert_executed();
    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn c19_a_database_that_went_down_is_a_503() {
    let (api, ledger, wire) = Api::behind_wire().await;
    warm_up(&api, &ledger).await;
    wire.take_down().await;

    api.pay(Pay::new(ledger.t1, "k")).await.assert_unavailable();
    ledger.assert_noop().await;

    wire.bring_up().await;
    api.pay(Pay::new(ledger.t1, "k")).await.assert_executed();
}

#[tokio::test]
async fn c20_a_commit_whose_reply_is_lost_is_answered_by_the_same_call_and_paid_once() {
    let (api, ledger, wire) = Api::behind_wire().await;
    wire.lose_replies(1);

    let answer = api.pay(Pay::new(ledger.t1, "k")).await;

    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.round_trips, 2);
    ledger.assert_t1(7_500, 1).await;
    assert_eq!(api.pay(Pay::new(ledger.t1, "k")).await.body, answer.body);
}

#[tokio::test]
async fn c20_a_decline_whose_reply_is_lost_is_the_same_decline() {
    let (api, ledger, wire) = Api::behind_wire().await;
    wire.lose_replies(1);

    let answer = api.pay(Pay::new(ledger.t1, "k").amount(10_001)).await;

    answer.assert_problem(402, "insufficient_funds");
    ledger.assert_t1(10_000, 1).await;
}

#[tokio::test]
async fn c20_a_reply_that_is_lost_twice_is_a_503_and_the_retry_replays() {
    let (api, ledger, wire) = Api::behind_wire().await;
    wire.lose_replies(2);

    api.pay(Pay::new(ledger.t1, "k")).await.assert_unavailable();
    ledger.assert_t1(7_500, 1).await;

    let retry = api.pay(Pay::new(ledger.t1, "k")).await;
    assert_eq!((retry.status.as_u16(), retry.is_replay()), (200, true));
    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn c20_a_reply_that_breaks_off_half_way_is_answered_by_the_same_call_and_paid_once() {
    let (api, ledger, wire) = Api::behind_wire().await;
    warm_up(&api, &ledger).await;
    wire.lose_replies_half_way(1);

    let answer = api.pay(Pay::new(ledger.t1, "k")).await;

    assert_eq!((answer.status.as_u16(), answer.round_trips), (200, 2), "{answer:?}");
    ledger.assert_t1(7_500, 1).await;
    assert_eq!(api.pay(Pay::new(ledger.t1, "k")).await.body, answer.body);
}

#[tokio::test]
async fn c20_a_reply_that_never_comes_is_given_up_and_asked_for_on_a_fresh_connection() {
    let (api, ledger, wire) = Api::behind_wire().await;
    warm_up(&api, &ledger).await;
    let before = wire.connections();
    wire.withhold_replies(1);

    let answer = api.pay(Pay::new(ledger.t1, "k")).await;

    assert_eq!((answer.status.as_u16(), answer.round_trips), (200, 2), "{answer:?}");
    assert_eq!(wire.connections(), before + 1, "the silent connection is not used again");
    ledger.assert_t1(7_500, 1).await;
}

/// What a 503 says about an outcome that is not known: it was paid once, and the retry replays it.
async fn assert_says_unknown_and_is_paid_once(api: &Api, ledger: &Ledger, answer: &Answer) {
    answer.assert_unavailable();
    let detail = answer.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("not known"), "{detail}");
    assert!(detail.contains("Retry with the same key"), "{detail}");
    ledger.assert_t1(7_500, 1).await;
    assert!(api.pay(Pay::new(ledger.t1, "k")).await.is_replay());
    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn c20_when_both_replies_never_come_the_503_says_that_the_outcome_is_not_known() {
    let (api, ledger, wire) = Api::behind_wire().await;
    warm_up(&api, &ledger).await;
    wire.withhold_replies(2);

    let answer = api.pay(Pay::new(ledger.t1, "k")).await;

    assert_eq!(answer.round_trips, 2);
    assert_says_unknown_and_is_paid_once(&api, &ledger, &answer).await;
}

#[tokio::test]
async fn c20_with_no_time_left_to_ask_again_the_503_says_that_the_outcome_is_not_known() {
    let (api, ledger, wire) = Api::behind_wire().await;
    warm_up(&api, &ledger).await;
    wire.withhold_replies(1);

    // The first wait takes 500 ms of it, and with less than 500 ms nothing is started.
    let answer = api.send_within(Duration::from_millis(950), Pay::new(ledger.t1, "k").request()).await;

    assert_eq!(answer.round_trips, 1);
    assert_says_unknown_and_is_paid_once(&api, &ledger, &answer).await;
}

#[tokio::test]
async fn c20_when_the_fresh_connection_is_lost_too_the_503_says_that_the_outcome_is_not_known() {
    let (api, ledger, wire) = Api::behind_wire().await;
    warm_up(&api, &ledger).await;
    // Committed and lost; then the second try breaks before the server hears it.
    wire.lose_a_reply_then_a_request();

    let answer = api.pay(Pay::new(ledger.t1, "k")).await;

    assert_eq!(answer.round_trips, 2);
    assert_says_unknown_and_is_paid_once(&api, &ledger, &answer).await;
}

#[tokio::test]
async fn c19_a_look_up_survives_a_lost_connection_too() {
    let (api, ledger, wire) = Api::behind_wire().await;
    let paid = api.pay(Pay::new(ledger.t1, "k")).await;
    wire.lose_requests(1);
    let by_key = api.get(ledger.t1, "/api/v1/payments?idempotency_key=k").await;
    wire.lose_replies(1);
    let by_id = api.get(ledger.t1, paid.headers["location"].to_str().unwrap()).await;

    assert_eq!((by_key.status.as_u16(), &by_key.body), (200, &paid.body));
    assert_eq!((by_id.status.as_u16(), &by_id.body), (200, &paid.body));
}
