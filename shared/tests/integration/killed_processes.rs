//! C21: the function's process is killed with SIGKILL, wherever it is, and the retry in another process gets its answer at once.

use std::time::Duration;

use crate::support::function::Function;
use crate::support::{Hold, Ledger, Pay, TestDatabase};

async fn ledger_and_url() -> (Ledger, String) {
    let database = TestDatabase::new().await;
    (Ledger::new(database.owner().await).await, database.app_url())
}

/// Two processes; the first one's payment has claimed and debited, and is held before its commit.
async fn held_first<'a>(ledger: &'a Ledger, url: &str, pay: &Pay) -> (Hold<'a>, Function, Function) {
    let (first, second) = (Function::start(url).await, Function::start(url).await);
    let hold = Hold::new(ledger).await;
    first.send(pay);
    hold.until_held(1).await;
    (hold, first, second)
}

#[tokio::test]
async fn c21_a_process_killed_after_its_claim_leaves_a_key_that_the_retry_settles() {
    let (ledger, url) = ledger_and_url().await;
    let pay = Pay::new(ledger.t1, "k");
    let (hold, mut first, mut second) = held_first(&ledger, &url, &pay).await;

    first.kill();
    // Its statement has claimed and debited, and nobody will ever read its reply.
    let release = async {
        hold.until_rivals_wait(1).await;
        hold.release().await;
    };
    let ((status, body), ()) = futures_util::join!(second.pay(&pay), release);

    assert_eq!((status, body["status"].as_str()), (200, Some("succeeded")), "{body}");
    assert!(!first.has_answered());
    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn c21_a_claim_that_dies_with_its_process_frees_the_key_at_once() {
    let (ledger, url) = ledger_and_url().await;
    let pay = Pay::new(ledger.t1, "k");
    let (hold, mut first, mut second) = held_first(&ledger, &url, &pay).await;

    first.kill();
    // As a server does that notices the closed socket: the statement is rolled back.
    hold.cancel().await;
    hold.release().await;
    ledger.assert_noop().await;
    let (status, body) = second.pay(&pay).await;

    assert_eq!((status, body["status"].as_str()), (200, Some("succeeded")), "{body}");
    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn c21_a_process_killed_between_the_commit_and_its_answer_is_answered_for_by_the_retry() {
    let (ledger, url) = ledger_and_url().await;
    let pay = Pay::new(ledger.t1, "k");
    let (hold, mut first, mut second) = held_first(&ledger, &url, &pay).await;

    first.stop();
    hold.release().await;
    crate::support::until("it is committed", async || ledger.payments(ledger.t1).await == 1).await;
    first.kill();
    assert!(!first.has_answered());
    let (status, body) = second.pay(&pay).await;

    assert_eq!(status, 200, "{body}");
    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn c21_wherever_a_process_is_killed_the_retry_gets_200_and_one_payment() {
    let (ledger, url) = ledger_and_url().await;
    ledger.top_up(ledger.a, 10_000).await;
    let mut survivor = Function::start(&url).await;
    assert_eq!(survivor.pay(&Pay::new(ledger.t1, "warm-up")).await.0, 200);

    for round in 0..6_u32 {
        let mut victim = Function::start(&url).await;
        let pay = Pay::new(ledger.t1, &format!("k{round}"));
        victim.send(&pay);
        // Somewhere between the start of the process and its answer, which takes some tens of milliseconds.
        tokio::time::sleep(Duration::from_millis(u64::from(8 * round))).await;
        victim.kill();

        let (status, body) = survivor.pay(&pay).await;
        assert_eq!(status, 200, "{body}");
    }
    ledger.assert_t1(20_000 - 7 * 2_500, 7).await;
}
