//! Behind a transaction-pooling proxy, as RDS Proxy is one: a real pgbouncer with a single server connection.

use futures_util::future::join_all;

use crate::support::database::{config, ledger_with};
use crate::support::{Api, Hold, Pay, PgBouncer};

#[tokio::test]
async fn c22_payments_replays_declines_and_look_ups_share_one_server_connection() {
    let (_, ledger, database) = Api::with_database().await;
    let proxy = PgBouncer::start(&database, 1).await;
    let api = Api::new(&ledger_with(&config(proxy.url(), 10)));

    for round in 0..10 {
        let (key, poor) = (format!("k{round}"), format!("poor{round}"));
        let same = join_all((0..10).map(|_| api.pay(Pay::new(ledger.t1, &key).amount(100)))).await;
        assert!(same.iter().all(|answer| answer.status == 200), "{same:?}");
        assert_eq!(same.iter().filter(|answer| !answer.is_replay()).count(), 1);
        assert!(same.iter().all(|answer| answer.round_trips <= 2));
        api.pay(Pay::new(ledger.t1, &poor).amount(10_001)).await.assert_declined();
        let found = api.get(ledger.t1, &format!("/api/v1/payments?idempotency_key={key}")).await;
        assert_eq!(found.body, same[0].body);
    }

    ledger.assert_t1(9_000, 20).await;
    let log = proxy.log();
    assert!(!log.contains("prepared statement") && !log.contains("WARNING"), "{log}");
}

#[tokio::test]
async fn c22_a_lost_race_and_a_purged_key_work_through_the_proxy() {
    let (direct, ledger, database) = Api::with_database().await;
    let proxy = PgBouncer::start(&database, 3).await;
    let api = Api::new(&ledger_with(&config(proxy.url(), 3)));
    let request = Pay::new(ledger.t1, "k");
    let hold = Hold::new(&ledger).await;

    let loser = async {
        hold.until_held(1).await;
        api.pay(request.clone()).await
    };
    let release = async {
        hold.until_rivals_wait(1).await;
        hold.release().await;
    };
    let (winner, loser, ()) = futures_util::join!(direct.pay(request.clone()), loser, release);
    winner.assert_executed();
    loser.assert_replays(&winner);

    ledger.owner.execute("DELETE FROM idempotency_keys", &[]).await.unwrap();
    let purged = api.pay(request).await;
    purged.assert_replays(&winner);
    assert_eq!((loser.round_trips, purged.round_trips), (2, 1));
    assert_eq!(ledger.balance(ledger.a).await, 7_500);
}

#[tokio::test]
async fn c22_the_bounds_of_the_role_hold_behind_the_proxy() {
    let (direct, ledger, database) = Api::with_database().await;
    let proxy = PgBouncer::start(&database, 3).await;
    let api = Api::new(&ledger_with(&config(proxy.url(), 3)));
    let request = Pay::new(ledger.t1, "k");
    let hold = Hold::new(&ledger).await;

    let meanwhile = async {
        hold.until_held(1).await;
        api.pay(request.clone()).await.assert_problem(409, "payment_in_progress");
        hold.release().await;
    };
    let (first, ()) = futures_util::join!(direct.pay(request.clone()), meanwhile);

    api.pay(request.clone()).await.assert_replays(&first);
    ledger.assert_t1(7_500, 1).await;
}
