//! Which account pays, and which requests find none.

use uuid::Uuid;

use crate::support::ledger::{create_account, create_tenant};
use crate::support::{Api, Pay};

#[tokio::test]
async fn c4_the_account_of_another_tenant_does_not_exist_and_the_key_stays_free() {
    let (api, ledger) = Api::with_ledger().await;

    let of_another = api.pay(Pay::new(ledger.t1, "k").account(ledger.z)).await;
    of_another.assert_problem(404, "account_not_found");
    ledger.assert_noop().await;
    let of_nobody = api.pay(Pay::new(ledger.t1, "k").account(Uuid::new_v4())).await;
    assert_eq!(of_another.body, of_nobody.body, "the two look alike");
    ledger.assert_noop().await;

    api.pay(Pay::new(ledger.t1, "k")).await.assert_executed();
    ledger.assert_t1(7_500, 1).await;
    assert_eq!(ledger.balance(ledger.z).await, 10_000);
}

#[tokio::test]
async fn a_named_account_pays_and_the_default_one_does_not() {
    let (api, ledger) = Api::with_ledger().await;
    let second_account = ledger.second_account().await;

    let answer = api.pay(Pay::new(ledger.t1, "k").account(second_account)).await;

    answer.assert_executed();
    assert_eq!(answer.json()["account_id"], second_account.to_string());
    ledger.assert_t1(10_000, 1).await;
    assert_eq!(ledger.balance(second_account).await, 7_500);
}

#[tokio::test]
async fn a_tenant_without_a_default_account_has_to_name_one() {
    let (api, ledger) = Api::with_ledger().await;
    let tenant = create_tenant(&ledger.owner).await;
    let account = create_account(&ledger.owner, tenant, "EUR", 10_000).await;

    let unnamed = api.pay(Pay::new(tenant, "k")).await;
    unnamed.assert_problem(404, "account_not_found");
    ledger.assert_noop().await;

    api.pay(Pay::new(tenant, "k").account(account)).await.assert_executed();
    assert_eq!(ledger.balance(account).await, 7_500);
}

#[tokio::test]
async fn an_unknown_tenant_is_a_caller_who_is_not_known() {
    let (api, ledger) = Api::with_ledger().await;

    let unknown = api.pay(Pay::fresh(Uuid::new_v4())).await;
    let pretending = api.pay(Pay::fresh(Uuid::new_v4()).account(ledger.a)).await;

    unknown.assert_problem(401, "unauthenticated");
    pretending.assert_problem(401, "unauthenticated");
    ledger.assert_noop().await;
}

#[tokio::test]
async fn another_currency_than_the_accounts_is_refused_and_the_key_stays_free() {
    let (api, ledger) = Api::with_ledger().await;

    let refused = api.pay(Pay::new(ledger.t1, "k").currency("USD")).await;
    refused.assert_problem(400, "currency_mismatch");
    ledger.assert_noop().await;

    api.pay(Pay::new(ledger.t1, "k").currency("EUR")).await.assert_executed();
    ledger.assert_t1(7_500, 1).await;
}
