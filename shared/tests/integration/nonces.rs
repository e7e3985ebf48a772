//! A captured request is worthless: each nonce serves one call.

use futures_util::future::join_all;
use payments::auth::http_signature::Nonce;
use payments::domain::{Invocation, StoredNonce, TenantId};
use payments::use_cases::PurgeKeys;

use crate::support::signing::{SigningClient, register_signing_key};
use crate::support::{Api, Ledger, Pay};

async fn nonces(ledger: &Ledger) -> i64 {
    ledger.owner.query_one("SELECT count(*) FROM nonces", &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn c24_the_same_signed_bytes_are_refused_the_second_time_and_a_new_signature_replays() {
    let (api, ledger, client, _) = Api::signed().await;
    let request = client.sign(Pay::new(ledger.t1, "k").request());

    let first = api.send(request.clone()).await;
    let captured = api.send(request).await;
    let signed_again = api.send(client.sign(Pay::new(ledger.t1, "k").request())).await;

    assert_eq!(first.status.as_u16(), 200);
    captured.assert_problem(401, "nonce_reused");
    assert!(captured.headers.contains_key("accept-signature"));
    assert_eq!((signed_again.status.as_u16(), signed_again.is_replay()), (200, true));
    assert_eq!(first.body, signed_again.body);
    assert_eq!(ledger.balance(ledger.a).await, 7_500);
    assert_eq!(nonces(&ledger).await, 2);
}

#[tokio::test]
async fn c24_of_identical_requests_in_parallel_one_is_served_and_the_others_are_refused() {
    let (api, ledger, client, _) = Api::signed().await;
    let request = client.sign(Pay::new(ledger.t1, "k").request());
    let answers = join_all((0..20).map(|_| api.send(request.clone()))).await;

    let served = answers.iter().filter(|answer| answer.status == 200).count();
    let refused = answers.iter().filter(|answer| answer.status == 401 && answer.code() == "nonce_reused").count();
    assert_eq!((served, refused), (1, 19), "{answers:?}");
    assert_eq!((ledger.payments(ledger.t1).await, ledger.balance(ledger.a).await), (1, 7_500));
}

#[tokio::test]
async fn a_nonce_cannot_be_moved_to_another_request_of_its_client() {
    let (api, ledger, client, _) = Api::signed().await;
    let nonce = Nonce::random();
    let first = client.sign_with(Pay::new(ledger.t1, "k").request(), 0, &nonce);
    let second = client.sign_with(Pay::new(ledger.t1, "other").request(), 0, &nonce);
    assert_eq!(api.send(first).await.status.as_u16(), 200);
    api.send(second).await.assert_problem(401, "nonce_reused");
    assert_eq!(ledger.payments(ledger.t1).await, 1);
}

#[tokio::test]
async fn the_same_nonce_of_two_tenants_is_two_nonces() {
    let (api, ledger, client, _) = Api::signed().await;
    register_signing_key(&ledger.owner, ledger.t2, 1).await;
    let nonce = Nonce::random();
    let other = SigningClient::new(ledger.t2, 1);
    for request in [
        client.sign_with(Pay::fresh(ledger.t1).request(), 0, &nonce),
        other.sign_with(Pay::fresh(ledger.t2).request(), 0, &nonce),
    ] {
        assert_eq!(api.send(request).await.status.as_u16(), 200);
    }
}

#[tokio::test]
async fn a_retry_inside_the_server_does_not_trip_over_its_own_nonce() {
    let (api, ledger, client, _) = Api::signed().await;
    for state in ["40001", "40P01"] {
        // The sequence keeps counting when the statement is rolled back, so exactly the first try fails.
        let inject = format!(
            "CREATE SEQUENCE tries_{state};
             GRANT USAGE ON SEQUENCE tries_{state} TO payments_app;
             CREATE FUNCTION fail_once_{state}() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN
                 IF nextval('tries_{state}') = 1 THEN RAISE EXCEPTION 'injected' USING ERRCODE = '{state}'; END IF;
                 RETURN NEW;
             END $$;
             CREATE TRIGGER fail_once_{state} BEFORE INSERT ON payments FOR EACH ROW EXECUTE FUNCTION fail_once_{state}();"
        );
        ledger.owner.batch_execute(&inject).await.unwrap();
        let answer = api.send(client.sign(Pay::fresh(ledger.t1).request())).await;
        assert_eq!((answer.status.as_u16(), answer.round_trips), (200, 2), "{state}: {answer:?}");
    }
    assert_eq!(nonces(&ledger).await, 2);
}

#[tokio::test]
async fn a_captured_request_whose_key_was_purged_is_refused_as_well() {
    let (api, ledger, client, _) = Api::signed().await;
    let first = api.send(client.sign(Pay::new(ledger.t1, "k").request())).await;
    ledger.owner.execute("DELETE FROM idempotency_keys", &[]).await.unwrap();

    let request = client.sign(Pay::new(ledger.t1, "k").request());
    let replay = api.send(request.clone()).await;
    let captured = api.send(request).await;
    assert_eq!((replay.status.as_u16(), replay.is_replay(), &replay.body), (200, true, &first.body));
    captured.assert_problem(401, "nonce_reused");
    assert_eq!(ledger.balance(ledger.a).await, 7_500);
}

#[tokio::test]
async fn the_purge_forgets_nonces_that_no_signature_can_use_and_keeps_the_others() {
    let (api, ledger, client, database) = Api::signed().await;
    let request = client.sign(Pay::fresh(ledger.t1).request());
    assert_eq!(api.send(request.clone()).await.status.as_u16(), 200);
    ledger
        .owner
        .batch_execute(
            "INSERT INTO nonces (nonce, call_id, created_at)
             SELECT gen_random_uuid(), gen_random_uuid(), now() - interval '16 minutes' FROM generate_series(1, 2500);
             INSERT INTO nonces (nonce, call_id, created_at)
             SELECT gen_random_uuid(), gen_random_uuid(), now() - interval '14 minutes' FROM generate_series(1, 10);",
        )
        .await
        .unwrap();
    let invocation = Invocation::new("purge".to_owned(), std::time::Duration::from_secs(30));
    let purged = PurgeKeys::new(database.ledger(1)).execute(&invocation).await.unwrap();

    assert_eq!((purged.nonces, purged.keys, purged.more), (2500, 0, false));
    assert_eq!(nonces(&ledger).await, 11);
    api.send(request).await.assert_problem(401, "nonce_reused");
}

#[tokio::test]
async fn the_purge_of_nonces_beside_load_never_opens_one_again() {
    let (api, ledger, client, database) = Api::signed().await;
    let purge = PurgeKeys::new(database.ledger(1));
    let purging = async {
        for _ in 0..20 {
            let invocation = Invocation::new("purge".to_owned(), std::time::Duration::from_secs(30));
            purge.execute(&invocation).await.unwrap();
        }
    };
    let paying = async {
        for _ in 0..20 {
            let request = client.sign(Pay::fresh(ledger.t1).amount(1).request());
            assert_eq!(api.send(request.clone()).await.status.as_u16(), 200);
            api.send(request).await.assert_problem(401, "nonce_reused");
        }
    };
    tokio::join!(purging, paying);
    assert_eq!(ledger.balance(ledger.a).await, 9_980);
}

#[tokio::test]
async fn the_purge_of_nonces_reads_along_its_index() {
    let (_, ledger, _, _) = Api::signed().await;
    ledger.owner.batch_execute("SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan").await.unwrap();
    let sql = include_str!("../../src/repositories/sql/purge_expired_nonces.sql");
    ledger.owner.batch_execute(&format!("PREPARE purge (int, bigint) AS {sql}")).await.unwrap();
    let plan = ledger.owner.query("EXPLAIN EXECUTE purge (15, 1000)", &[]).await.unwrap();
    let plan: Vec<String> = plan.iter().map(|row| row.get(0)).collect();
    assert!(plan.iter().any(|line| line.contains("nonces_created_at_idx")), "{plan:#?}");
}

#[tokio::test]
async fn a_call_whose_nonce_is_held_by_an_open_rival_gets_409_and_stores_nothing() {
    let (api, ledger, client, database) = Api::signed().await;
    let nonce = Nonce::random();
    let stored = StoredNonce::new(TenantId(ledger.t1), 1, nonce.as_str());
    let mut rival = database.owner().await;
    let open = rival.transaction().await.unwrap();
    let sql = "INSERT INTO nonces (nonce, call_id) VALUES ($1, gen_random_uuid())";
    open.execute(sql, &[&stored.0]).await.unwrap();

    let request = client.sign_with(Pay::new(ledger.t1, "k").request(), 0, &nonce);
    let held_up = api.send(request.clone()).await;
    open.rollback().await.unwrap();

    held_up.assert_problem(409, "payment_in_progress");
    assert!(held_up.headers.contains_key("retry-after"));
    ledger.assert_noop().await;
    assert_eq!(nonces(&ledger).await, 0);
    assert_eq!(api.send(request).await.status.as_u16(), 200, "the nonce was not consumed");
}
