//! Errors that the database itself raises: what is tried again, and what is not.

use crate::support::faults::{MESSAGE, clear, tries};
use crate::support::{Api, Fault, Pay};

#[tokio::test]
async fn c18_a_serialization_failure_or_a_deadlock_is_tried_again() {
    for sqlstate in ["40001", "40P01"] {
        for times in [1, 2] {
            let (api, ledger) = Api::with_ledger().await;
            Fault::new(sqlstate, times).inject(&ledger.owner).await;

            let answer = api.pay(Pay::new(ledger.t1, "k")).await;

            answer.assert_executed();
            assert_eq!(tries(&ledger.owner).await, i64::from(times) + 1);
            api.pay(Pay::new(ledger.t1, "k")).await.assert_replays(&answer);
            ledger.assert_t1(7_500, 1).await;
        }
    }
}

#[tokio::test]
async fn c18_one_that_never_ends_is_a_503_after_a_bounded_number_of_tries() {
    for sqlstate in ["40001", "40P01"] {
        let (api, ledger) = Api::with_ledger().await;
        Fault::new(sqlstate, i32::MAX).inject(&ledger.owner).await;

        api.pay(Pay::new(ledger.t1, "k")).await.assert_unavailable();

        ledger.assert_noop().await;
        assert_eq!(tries(&ledger.owner).await, 3);
        clear(&ledger.owner).await;
        api.pay(Pay::new(ledger.t1, "k")).await.assert_executed();
        ledger.assert_t1(7_500, 1).await;
    }
}

#[tokio::test]
async fn c18_a_decline_survives_a_serialization_failure() {
    let (api, ledger) = Api::with_ledger().await;
    Fault::new("40001", 1).inject(&ledger.owner).await;

    api.pay(Pay::new(ledger.t1, "k").amount(10_001)).await.assert_declined();

    ledger.assert_t1(10_000, 1).await;
}

#[tokio::test]
async fn c18_any_other_error_is_a_500_and_neither_a_decline_nor_a_duplicate() {
    for (sqlstate, constraint) in [
        ("23514", "accounts_balance_not_negative"),
        ("23514", "payments_pkey"),
        ("23505", "somebody_elses_key"),
        ("23505", ""),
        ("23503", "idempotency_keys_payment_id_fkey"),
        ("42601", ""),
        ("P0001", ""),
        ("XX000", "idempotency_keys_pkey"),
    ] {
        let (api, ledger) = Api::with_ledger().await;
        let times = i32::MAX;
        Fault { sqlstate, constraint, times }.inject(&ledger.owner).await;

        let answer = api.pay(Pay::new(ledger.t1, "k")).await;

        answer.assert_problem(500, "internal_error");
        assert_eq!(answer.round_trips, 1, "{sqlstate} {constraint} is not looked up as a duplicate");
        let text = String::from_utf8(answer.body.to_vec()).unwrap();
        for secret in [MESSAGE, sqlstate, "payments_pkey", "INSERT", "SQL", "trigger"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
        assert_eq!(tries(&ledger.owner).await, 1, "{sqlstate} is not tried again");
        ledger.assert_noop().await;
        clear(&ledger.owner).await;
        api.pay(Pay::new(ledger.t1, "k")).await.assert_executed();
    }
}

#[tokio::test]
async fn c18_a_real_check_violation_is_no_decline() {
    let (api, ledger) = Api::with_ledger().await;
    let sql = "ALTER TABLE account_slots ADD CONSTRAINT never_below_9000 CHECK (balance >= 9000)";
    ledger.owner.batch_execute(sql).await.unwrap();

    api.pay(Pay::new(ledger.t1, "k")).await.assert_problem(500, "internal_error");

    ledger.assert_noop().await;
}

#[tokio::test]
async fn c18_a_duplicate_that_cannot_be_found_is_a_500_and_not_an_answer() {
    let (api, ledger) = Api::with_ledger().await;
    let fault = Fault { sqlstate: "23505", constraint: "payments_pkey", times: i32::MAX };
    fault.inject(&ledger.owner).await;

    api.pay(Pay::new(ledger.t1, "k")).await.assert_problem(500, "internal_error");

    ledger.assert_noop().await;
}

#[tokio::test]
async fn what_the_server_cannot_do_now_is_a_503() {
    for sqlstate in ["53100", "53200", "53300", "57014"] {
        let (api, ledger) = Api::with_ledger().await;
        Fault::new(sqlstate, i32::MAX).inject(&ledger.owner).await;

        api.pay(Pay::new(ledger.t1, "k")).await.assert_unavailable();

        ledger.assert_noop().await;
    }
}
