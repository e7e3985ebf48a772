//! A balance in several slots: payments that do not wait for each other, and a decision that is exact all the same.

use futures_util::future::join_all;
use tokio_postgres::error::SqlState;
use uuid::Uuid;

use crate::support::{Api, Ledger, Pay};

/// The slots' balances in minor units, in their order.
async fn slots(ledger: &Ledger, account: Uuid) -> Vec<i64> {
    let sql = "SELECT balance FROM account_slots WHERE account_id = $1 ORDER BY slot";
    ledger.owner.query(sql, &[&account]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn readers_see_one_figure_however_the_balance_is_split() {
    let (_, ledger) = Api::with_ledger().await;

    for (number, first, last) in [(3_i16, 3_334, 3_333), (64, 157, 156), (1, 10_000, 10_000)] {
        ledger.split(ledger.a, number).await;

        let split = slots(&ledger, ledger.a).await;
        assert_eq!(split.len(), usize::try_from(number).unwrap());
        assert_eq!((split.first(), split.last()), (Some(&first), Some(&last)));
        assert_eq!(ledger.balance(ledger.a).await, 10_000);
    }
    assert_eq!(ledger.balance(ledger.z).await, 10_000, "no other account changed");
}

#[tokio::test]
async fn a_top_up_is_spread_over_all_slots_and_a_withdrawal_below_zero_is_refused() {
    let (_, ledger) = Api::with_ledger().await;
    ledger.split(ledger.a, 4).await;

    ledger.top_up(ledger.a, 2_002).await;
    assert_eq!(slots(&ledger, ledger.a).await, [3_001, 3_001, 3_000, 3_000]);

    let sql = "UPDATE accounts SET balance = balance - 12003 WHERE id = $1";
    let refused = ledger.owner.execute(sql, &[&ledger.a]).await.unwrap_err();
    assert_eq!(refused.code(), Some(&SqlState::CHECK_VIOLATION));
    assert_eq!(refused.as_db_error().unwrap().constraint(), Some("accounts_balance_not_negative"));
    assert_eq!(ledger.balance(ledger.a).await, 12_002);
}

#[tokio::test]
async fn an_impossible_number_of_slots_is_refused() {
    let (_, ledger) = Api::with_ledger().await;

    for number in [-1_i16, 0, 1_025] {
        let sql = "UPDATE accounts SET slots = $2 WHERE id = $1";
        let refused = ledger.owner.execute(sql, &[&ledger.a, &number]).await.unwrap_err();
        assert_eq!(refused.code(), Some(&SqlState::CHECK_VIOLATION), "{number}");
    }
    assert_eq!(slots(&ledger, ledger.a).await, [10_000]);
}

#[tokio::test]
async fn a_payment_takes_a_free_slot_and_waits_for_none() {
    let (api, ledger, database) = Api::with_database().await;
    ledger.split(ledger.a, 4).await;
    let mut owner = database.owner().await;
    let others = owner.transaction().await.unwrap();
    let sql = "SELECT FROM account_slots WHERE account_id = $1 AND slot <> 2 FOR UPDATE";
    others.execute(sql, &[&ledger.a]).await.unwrap();

    let answer = api.pay(Pay::new(ledger.t1, "k").amount(1_000)).await;

    answer.assert_executed();
    assert_eq!(answer.round_trips, 1);
    others.rollback().await.unwrap();
    assert_eq!(slots(&ledger, ledger.a).await, [2_500, 2_500, 1_500, 2_500]);
}

#[tokio::test]
async fn what_no_slot_covers_alone_several_pay_in_one_more_round_trip() {
    let (api, ledger) = Api::with_ledger().await;
    ledger.split(ledger.a, 4).await;

    let answer = api.pay(Pay::new(ledger.t1, "k").amount(6_000)).await;

    answer.assert_executed();
    assert_eq!(answer.round_trips, 2);
    assert_eq!(slots(&ledger, ledger.a).await, [0, 0, 1_500, 2_500]);
    ledger.assert_t1(4_000, 1).await;
    api.pay(Pay::new(ledger.t1, "k").amount(6_000)).await.assert_replays(&answer);
}

#[tokio::test]
async fn only_more_than_all_slots_together_is_declined() {
    let (api, ledger) = Api::with_ledger().await;
    ledger.split(ledger.a, 64).await;

    let declined = api.pay(Pay::new(ledger.t1, "poor").amount(10_001)).await;
    declined.assert_declined();
    assert_eq!(declined.round_trips, 2);
    let everything = api.pay(Pay::new(ledger.t1, "all").amount(10_000)).await;
    everything.assert_executed();
    assert_eq!(everything.round_trips, 2);

    assert!(slots(&ledger, ledger.a).await.iter().all(|&balance| balance == 0));
    ledger.assert_t1(0, 2).await;
}

#[tokio::test]
async fn a_payment_that_waits_for_all_slots_counts_the_deposit_it_waited_for() {
    let (api, ledger, database) = Api::with_database().await;
    ledger.split(ledger.a, 4).await;
    let deposit = "UPDATE accounts SET balance = balance + 5000 WHERE id = $1";

    let pay = api.pay(Pay::new(ledger.t1, "k").amount(15_000));
    let answer = ledger.beside_a_change(&database, deposit, pay).await;

    answer.assert_executed();
    assert_eq!(answer.round_trips, 2);
    ledger.assert_t1(0, 1).await;
}

#[tokio::test]
async fn a_payment_that_waits_while_the_slots_are_changed_decides_on_the_new_ones() {
    for (before, after) in [(1, 8), (4, 1), (4, 7), (8, 2)] {
        for amount in [2_500, 10_000, 10_001] {
            let (api, ledger, database) = Api::with_database().await;
            ledger.split(ledger.a, before).await;
            let change = format!("UPDATE accounts SET slots = {after} WHERE id = $1");

            let pay = api.pay(Pay::new(ledger.t1, "k").amount(amount));
            let answer = ledger.beside_a_change(&database, &change, pay).await;

            if amount > 10_000 {
                answer.assert_declined();
                ledger.assert_t1(10_000, 1).await;
            } else {
                answer.assert_executed();
                ledger.assert_t1(10_000 - amount, 1).await;
            }
            assert_eq!(slots(&ledger, ledger.a).await.len(), usize::try_from(after).unwrap());
        }
    }
}

#[tokio::test]
async fn parallel_payments_and_duplicates_of_a_split_account_pay_to_the_last_unit_and_once_each() {
    let (api, ledger) = Api::with_ledger().await;
    ledger.split(ledger.a, 16).await;

    // 60 keys, each sent twice at once; the balance covers 40 of them.
    let requests = (0..120).map(|i| Pay::new(ledger.t1, &format!("k{}", i % 60)).amount(250));
    let answers = join_all(requests.map(|request| api.pay(request))).await;

    let of = |status: u16, replay: bool| {
        answers.iter().filter(|answer| answer.status == status && answer.is_replay() == replay).count()
    };
    assert_eq!((of(200, false), of(200, true), of(402, false) + of(402, true)), (40, 40, 40));
    ledger.assert_t1(0, 60).await;
}
