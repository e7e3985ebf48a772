//! A payment that meets a deposit on the same account: it decides on the balance after it.

use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use payments::domain::{Caller, Idempotency, Invocation, MinorUnits, RecipientId, TenantId, Withdrawal};
use payments::use_cases::{WithdrawIdempotent, WithdrawOutcome};

use crate::support::api::RECIPIENT;
use crate::support::{Api, Ledger, Pay, TestDatabase};

/// Runs `payment` so that it waits for an open deposit of 5,000 on account A, which then commits.
fn beside_a_deposit<'a, T: 'a>(
    ledger: &'a Ledger,
    database: &'a TestDatabase,
    payment: impl Future<Output = T> + 'a,
) -> LocalBoxFuture<'a, T> {
    let deposit = "UPDATE accounts SET balance = balance + 5000 WHERE id = $1";
    ledger.beside_a_change(database, deposit, payment)
}

#[tokio::test]
async fn a_payment_that_only_the_deposit_covers_is_executed() {
    let (api, ledger, database) = Api::with_database().await;

    let pay = api.pay(Pay::new(ledger.t1, "k").amount(12_000));
    let answer = beside_a_deposit(&ledger, &database, pay).await;

    answer.assert_executed();
    assert_eq!(answer.round_trips, 1);
    ledger.assert_t1(3_000, 1).await;
}

#[tokio::test]
async fn a_payment_that_not_even_the_deposit_covers_is_declined() {
    let (api, ledger, database) = Api::with_database().await;

    let pay = api.pay(Pay::new(ledger.t1, "k").amount(15_001));
    let answer = beside_a_deposit(&ledger, &database, pay).await;

    answer.assert_declined();
    ledger.assert_t1(15_000, 1).await;
}

#[tokio::test]
async fn neither_the_payment_nor_the_deposit_is_lost() {
    let (api, ledger, database) = Api::with_database().await;

    let pay = api.pay(Pay::new(ledger.t1, "k"));
    beside_a_deposit(&ledger, &database, pay).await.assert_executed();

    ledger.assert_t1(12_500, 1).await;
}

#[tokio::test]
async fn a_payment_without_a_key_that_only_the_deposit_covers_is_executed() {
    let (_, ledger, database) = Api::with_database().await;
    let withdrawal = Withdrawal {
        account: None,
        recipient: RecipientId(RECIPIENT),
        amount: MinorUnits::new(12_000).unwrap(),
        currency: None,
    };
    let caller = Caller::internal(TenantId(ledger.t1));
    let use_case = WithdrawIdempotent::new(database.ledger(1));
    let invocation = Invocation::new("adjustment".to_owned(), Duration::from_secs(9));

    let withdraw = use_case.execute(&caller, &withdrawal, &Idempotency::Unkeyed, &invocation);
    let outcome = beside_a_deposit(&ledger, &database, withdraw).await.unwrap();

    assert!(matches!(outcome, WithdrawOutcome::Executed(_)), "{outcome:?}");
    assert_eq!(ledger.balance(ledger.a).await, 3_000);
}
