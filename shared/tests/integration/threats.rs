//! Threats that no other file answers; docs/threat-model.md lists all of them with their tests.

use bytes::Bytes;
use http::Request;

use crate::support::{Api, Pay};

/// A key of allowed characters only.
const SQL_KEY: &str = "');DELETE/**/FROM/**/payments;--";

#[tokio::test]
async fn sql_in_any_member_or_header_is_data_and_changes_nothing() {
    let (api, ledger) = Api::with_ledger().await;
    let pay = Pay::new(ledger.t1, SQL_KEY).currency("EUR").account(ledger.a);
    let sql = "x'; DELETE FROM payments; --";

    for member in ["recipient_id", "currency", "account_id"] {
        let mut body: serde_json::Value = serde_json::from_str(&pay.body()).unwrap();
        body[member] = sql.into();
        assert_eq!(api.send(pay.request_with_body(body.to_string())).await.status, 400, "{member}");
    }
    let mut as_tenant = pay.request();
    as_tenant.headers_mut().insert("tenant-id", sql.parse().unwrap());
    assert_eq!(api.send(as_tenant).await.status, 401);
    api.get(ledger.t1, "/api/v1/payments/x'%3B--").await.assert_problem(400, "payment_id_invalid");
    ledger.assert_noop().await;

    // As a key it is a key like any other.
    let paid = api.pay(pay.clone()).await;
    paid.assert_executed();
    api.pay(pay).await.assert_replays(&paid);
    let query = "/api/v1/payments?idempotency_key=%27)%3BDELETE%2F**%2FFROM%2F**%2Fpayments%3B--";
    assert_eq!(api.get(ledger.t1, query).await.body, paid.body);
    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn nothing_of_a_requests_headers_comes_back_in_an_answer() {
    let (api, ledger) = Api::with_ledger().await;
    let with = |key: &str| {
        let mut request = Pay::new(ledger.t1, key).request();
        for name in
            ["x-request-id", "x-amzn-trace-id", "location", "host", "origin", "cookie", "set-cookie", "user-agent"]
        {
            request.headers_mut().insert(name, "marked-by-the-client".parse().unwrap());
        }
        request
    };

    for (request, status) in [
        (with("k"), 200),
        (with("k"), 200),
        (with("marked-by-the-client,too"), 400),
        (with("\"marked-by-the-client"), 400),
    ] {
        let answer = api.send(request).await;
        assert_eq!(answer.status, status, "{answer:?}");
        assert!(!format!("{answer:?}").contains("marked-by-the-client"), "{answer:?}");
    }
}

#[tokio::test]
async fn a_tenant_header_means_nothing_where_requests_are_signed() {
    let (api, ledger, client, _) = Api::signed().await;
    let mut signed = client.sign(Pay::new(ledger.t1, "k").request());
    signed.headers_mut().insert("tenant-id", ledger.t2.to_string().parse().unwrap());

    api.send(signed).await.assert_executed();
    api.send(Pay::new(ledger.t2, "k").request()).await.assert_problem(401, "unauthenticated");

    ledger.assert_t1(7_500, 1).await;
    assert_eq!((ledger.balance(ledger.z).await, ledger.payments(ledger.t2).await), (10_000, 0));
}

#[tokio::test]
async fn a_refused_signature_costs_no_round_trip() {
    let (api, ledger, client, _) = Api::signed().await;
    let pay = Pay::new(ledger.t1, "k");
    let (parts, _) = client.sign(pay.request()).into_parts();
    let changed = Request::from_parts(parts, Bytes::from(pay.amount(9_999).body()));

    for request in [changed, Pay::new(ledger.t1, "k").request()] {
        let answer = api.send(request).await;
        answer.assert_problem(401, "unauthenticated");
        assert_eq!(answer.round_trips, 0, "a stranger costs no database");
    }
    ledger.assert_noop().await;
}

#[tokio::test]
async fn a_balance_that_was_changed_by_hand_no_longer_adds_up() {
    let (api, ledger) = Api::with_ledger().await;
    api.pay(Pay::new(ledger.t1, "paid")).await.assert_executed();
    api.pay(Pay::new(ledger.t1, "declined").amount(10_001)).await.assert_declined();
    let opening = async || {
        let sql = "SELECT a.balance + coalesce(sum(p.amount) FILTER (WHERE p.status = 'succeeded'), 0)::bigint
                     FROM accounts a LEFT JOIN payments p ON p.account_id = a.id WHERE a.id = $1 GROUP BY a.id, a.balance";
        ledger.owner.query_one(sql, &[&ledger.a]).await.unwrap().get::<_, i64>(0)
    };
    assert_eq!(opening().await, 10_000);

    ledger.top_up(ledger.a, 1).await;

    assert_eq!(opening().await, 10_001, "one minor unit more than was ever paid in");
}

#[tokio::test]
async fn the_documented_question_to_the_ledger_is_answered_for_a_split_account_too() {
    let (api, ledger) = Api::with_ledger().await;
    ledger.split(ledger.a, 4).await;
    api.pay(Pay::new(ledger.t1, "k")).await.assert_executed();
    let documented = include_str!("../../../docs/operations.md");
    let (_, question) = documented.split_once("psql \"$DATABASE_URL\" -c \"").unwrap();
    let (question, _) = question.split_once('"').unwrap();

    let rows = ledger.owner.query(question, &[]).await.unwrap();

    let row = rows.iter().find(|row| row.get::<_, uuid::Uuid>("id") == ledger.a).unwrap();
    assert_eq!((row.get::<_, i64>("balance"), row.get::<_, i64>("payments")), (7_500, 1));
}

#[tokio::test]
async fn after_a_restore_what_is_there_replays_and_what_is_missing_is_paid_once() {
    let (api, ledger) = Api::with_ledger().await;
    let kept = api.pay(Pay::new(ledger.t1, "before")).await;
    let lost = api.pay(Pay::new(ledger.t1, "after")).await;
    ledger.assert_t1(5_000, 2).await;

    // The state of the moment before the second payment: a restore to a point in time takes whole transactions.
    let to_the_backup = format!(
        "BEGIN; DELETE FROM idempotency_keys WHERE payment_id = '{id}'; DELETE FROM payments WHERE id = '{id}';
         UPDATE accounts SET balance = balance + 2500 WHERE id = '{account}'; COMMIT",
        id = lost.payment_id(),
        account = ledger.a
    );
    ledger.owner.batch_execute(&to_the_backup).await.unwrap();

    api.pay(Pay::new(ledger.t1, "before")).await.assert_replays(&kept);
    let again = api.pay(Pay::new(ledger.t1, "after")).await;
    again.assert_executed();
    assert_eq!(again.payment_id(), lost.payment_id(), "the client that was told so before sees the same id");
    api.pay(Pay::new(ledger.t1, "after")).await.assert_replays(&again);
    ledger.assert_t1(5_000, 2).await;
}
