//! Withdrawals without a key: internal adjustments, executed once for each call.

use std::time::Duration;

use payments::domain::{
    AccountId, Caller, Currency, Idempotency, Invocation, MinorUnits, RecipientId, TenantId, Withdrawal,
};
use payments::repositories::PostgresLedger;
use payments::use_cases::{WithdrawIdempotent, WithdrawOutcome};
use uuid::Uuid;

use crate::support::database::{config, ledger_with};
use crate::support::{Api, Fault, Ledger, Wire};

/// A withdrawal from the tenant's default account.
fn withdrawal(amount: i64) -> Withdrawal {
    Withdrawal {
        account: None,
        recipient: RecipientId(crate::support::api::RECIPIENT),
        amount: MinorUnits::new(amount).unwrap(),
        currency: None,
    }
}

async fn withdraw(postgres: &PostgresLedger, tenant: Uuid, withdrawal: &Withdrawal) -> (WithdrawOutcome, u32) {
    let invocation = Invocation::new("adjustment".to_owned(), Duration::from_secs(9));
    let outcome = WithdrawIdempotent::new(postgres.clone())
        .execute(&Caller::internal(TenantId(tenant)), withdrawal, &Idempotency::Unkeyed, &invocation)
        .await
        .unwrap();
    (outcome, invocation.round_trips())
}

async fn assert_state(ledger: &Ledger, balance: i64, payments: i64) {
    assert_eq!(ledger.balance(ledger.a).await, balance);
    assert_eq!((ledger.payments(ledger.t1).await, ledger.keys(ledger.t1).await), (payments, 0));
}

#[tokio::test]
async fn each_call_is_a_payment_of_its_own_and_leaves_no_key() {
    let (_, ledger, database) = Api::with_database().await;
    let postgres = database.ledger(1);

    let (first, first_trips) = withdraw(&postgres, ledger.t1, &withdrawal(2_500)).await;
    let (second, second_trips) = withdraw(&postgres, ledger.t1, &withdrawal(2_500)).await;

    let (WithdrawOutcome::Executed(first), WithdrawOutcome::Executed(second)) = (first, second) else {
        panic!("both are executed");
    };
    assert_ne!(first.id, second.id);
    assert_eq!((first_trips, second_trips), (1, 1));
    assert_state(&ledger, 5_000, 2).await;
}

#[tokio::test]
async fn a_balance_that_does_not_cover_it_is_a_decline() {
    let (_, ledger, database) = Api::with_database().await;

    let (outcome, _) = withdraw(&database.ledger(1), ledger.t1, &withdrawal(10_001)).await;

    assert!(matches!(outcome, WithdrawOutcome::Declined { replayed: false, .. }), "{outcome:?}");
    assert_state(&ledger, 10_000, 1).await;
}

#[tokio::test]
async fn what_cannot_be_paid_leaves_nothing() {
    let (_, ledger, database) = Api::with_database().await;
    let postgres = database.ledger(1);
    let mine = withdrawal(2_500);

    let of_another = Withdrawal { account: Some(AccountId(ledger.z)), ..mine.clone() };
    assert_eq!(withdraw(&postgres, ledger.t1, &of_another).await.0, WithdrawOutcome::UnknownAccount);
    let in_dollars = Withdrawal { currency: Some(Currency::parse("USD").unwrap()), ..mine.clone() };
    assert_eq!(withdraw(&postgres, ledger.t1, &in_dollars).await.0, WithdrawOutcome::CurrencyMismatch);
    assert_eq!(withdraw(&postgres, Uuid::new_v4(), &mine).await.0, WithdrawOutcome::UnknownCaller);

    ledger.assert_noop().await;
}

#[tokio::test]
async fn c20_one_whose_reply_is_lost_is_found_again_and_not_repeated() {
    let (_, ledger, database) = Api::with_database().await;
    let wire = Wire::to(&database.app_url()).await;
    wire.lose_replies(1);

    let (outcome, round_trips) = withdraw(&ledger_with(&config(wire.url(), 1)), ledger.t1, &withdrawal(2_500)).await;

    assert!(matches!(outcome, WithdrawOutcome::Executed(_)), "{outcome:?}");
    assert_eq!(round_trips, 3, "lost, refused by payments_pkey, looked up");
    assert_state(&ledger, 7_500, 1).await;
}

#[tokio::test]
async fn c18_one_that_fails_to_serialize_is_executed_once() {
    let (_, ledger, database) = Api::with_database().await;
    Fault::new("40001", 2).inject(&ledger.owner).await;

    let (outcome, _) = withdraw(&database.ledger(1), ledger.t1, &withdrawal(2_500)).await;

    assert!(matches!(outcome, WithdrawOutcome::Executed(_)), "{outcome:?}");
    assert_state(&ledger, 7_500, 1).await;
}
