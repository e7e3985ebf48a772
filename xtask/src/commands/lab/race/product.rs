//! The product's own statement, through its own repository, held just before its commit.

use std::time::Duration;

use anyhow::{Context, Result};
use payments::config::DatabaseConfig;
use payments::domain::{
    AccountId, Caller, Idempotency, IdempotencyKey, Invocation, MinorUnits, PaymentId, RecipientId, TenantId,
    Withdrawal,
};
use payments::ports::{CreatePayment as _, LedgerAnswer};
use payments::repositories::{Database, PostgresLedger};
use uuid::Uuid;

use super::scene::Scene;
use super::scratch::{AMOUNT, Scratch};
use super::ways::WAITS;
use crate::commands::lab::stage::Pace;
use crate::fixtures::{self, Tenant};

const BALANCE: i64 = 10_000;

/// Runs at commit and waits for the lab. Without the role's `lock_timeout`, or the held payment would give up itself.
const HOLD: &str = "CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = 0 AS $$
    BEGIN
        PERFORM pg_advisory_xact_lock_shared(1);
        RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER hold AFTER INSERT ON payments
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION hold();
    SELECT pg_advisory_lock(1)";

/// Two workers of the product with one key.
pub(super) async fn create_payment(scratch: &Scratch, pace: Pace) -> Result<Scene> {
    let mut scene = Scene::open("create_payment.sql (this product)", "0 rows", "200 P, after the second look", pace);
    let tenant = Tenant { id: Uuid::new_v4(), name: "lab race", account: Uuid::new_v4() };
    tenant.ensure(&scratch.observer, BALANCE).await?;
    let url = fixtures::app_url(&scratch.observer, &scratch.url, fixtures::APP_PASSWORD).await?;
    let key = IdempotencyKey::parse(b"lab-race")?;
    let p = key.stored(TenantId(tenant.id)).payment_id();
    scratch.observer.batch_execute(HOLD).await?;

    let first = tokio::spawn(pay(url.clone(), tenant.id, tenant.account, key.clone()));
    let a = scratch.until_waiting("advisory").await?;
    scene.step("A", "claim, debit, payment", "held before COMMIT (advisory)", "held before COMMIT (advisory)").await;
    let second = tokio::spawn(pay(url, tenant.id, tenant.account, key));
    let b = scratch.until_waiting("transactionid").await?;
    scene.step("B", "the same statement", WAITS, scratch.until_blocked(b, a).await?).await;
    scratch.observer.batch_execute("SELECT pg_advisory_unlock(1)").await?;
    let (first, second) = (first.await??, second.await??);
    scene.step("A", "COMMIT", "created P, 1 round trip, answers 200", shown(&first, p)).await;
    scene.step("B", "0 rows, second look", "found P, 2 round trips, answers 200", shown(&second, p)).await;
    let debits = (BALANCE - fixtures::balance(&scratch.observer, tenant.account).await?) / AMOUNT;
    Ok(scene.close(1, debits).await)
}

/// What a worker got, and what it cost.
type Got = (LedgerAnswer, u32);

async fn pay(url: String, tenant: Uuid, account: Uuid, key: IdempotencyKey) -> Result<Got> {
    let config = DatabaseConfig::with_url(url, 1);
    let ledger = PostgresLedger::new(Database::new(&config)?);
    let withdrawal = Withdrawal {
        account: Some(AccountId(account)),
        recipient: RecipientId(account),
        amount: MinorUnits::new(AMOUNT)?,
        currency: None,
    };
    let invocation = Invocation::new("lab".to_owned(), Duration::from_secs(10));
    let caller = Caller::internal(TenantId(tenant));
    let answer = ledger
        .create_payment(&caller, &withdrawal, &Idempotency::Keyed(key), &invocation)
        .await
        .context("the product's statement failed")?;
    Ok((answer, invocation.round_trips()))
}

fn shown((answer, round_trips): &Got, p: PaymentId) -> String {
    let trips = if *round_trips == 1 { "1 round trip".to_owned() } else { format!("{round_trips} round trips") };
    match answer {
        LedgerAnswer::Created(payment) if payment.id == p => format!("created P, {trips}, answers 200"),
        LedgerAnswer::Found(payment) if payment.id == p => format!("found P, {trips}, answers 200"),
        other => format!("{other:?}, {trips}"),
    }
}
