//! Fintech: the product's own payment, called below HTTP.

use std::collections::HashSet;

use anyhow::{Context, Result};
use futures_util::future::try_join_all;
use payments::config::MigrationConfig;
use payments::domain::{Caller, Idempotency, IdempotencyKey, MinorUnits, RecipientId, TenantId, Withdrawal};
use payments::repositories::{PostgresLedger, migrations};
use payments::use_cases::{WithdrawIdempotent, WithdrawOutcome};
use uuid::Uuid;

use super::{COPIES, Scene, count, database, invocation};
use crate::fixtures::{self, Tenant};
use crate::stack::postgres::{self, Postgres};

const BALANCE: i64 = 1_000_000;
const AMOUNT: i64 = 2_500;

pub(super) async fn play(server: &Postgres, rounds: usize) -> Result<Scene> {
    server.ensure_database("fintech").await?;
    let owner_url = server.url("fintech");
    migrations::run(&MigrationConfig::with_url(owner_url.clone())).await?;
    let owner = postgres::connect(&owner_url).await?;
    let tenant = Tenant { id: Uuid::new_v4(), name: "lab", account: Uuid::new_v4() };
    tenant.ensure(&owner, BALANCE).await?;
    let url = fixtures::app_url(&owner, &owner_url, fixtures::APP_PASSWORD).await?;
    let payer = Payer { use_case: WithdrawIdempotent::new(PostgresLedger::new(database(url)?)), tenant: tenant.id };

    let (mut done, mut replayed, mut refused) = (0, 0, 0);
    for _ in 0..rounds {
        let key = Uuid::new_v4().to_string();
        let outcomes = try_join_all((0..COPIES).map(|_| payer.pay(&key, AMOUNT))).await?;
        let ids: HashSet<Uuid> = outcomes.iter().filter_map(payment_id).collect();
        if ids.len() == 1 {
            done += count(&outcomes, |outcome| matches!(outcome, WithdrawOutcome::Executed(_)));
            replayed += count(&outcomes, |outcome| matches!(outcome, WithdrawOutcome::Replayed(_)));
        }
        refused += usize::from(payer.pay(&key, AMOUNT + 1).await? == WithdrawOutcome::KeyReused);
    }
    let spent = BALANCE - fixtures::balance(&owner, tenant.account).await?;
    Ok(Scene {
        archetype: "fintech",
        key_from: "the client",
        rounds,
        sent: rounds * COPIES,
        done,
        replayed,
        rival: "other amount: refused",
        rivals_answered: refused,
        rivals_sent: rounds,
        effect: "debits",
        effects: spent / AMOUNT,
        effects_expected: i64::try_from(rounds)?,
    })
}

struct Payer {
    use_case: WithdrawIdempotent<PostgresLedger>,
    tenant: Uuid,
}

impl Payer {
    async fn pay(&self, key: &str, amount: i64) -> Result<WithdrawOutcome> {
        let withdrawal = Withdrawal {
            account: None,
            recipient: RecipientId(Uuid::nil()),
            amount: MinorUnits::new(amount)?,
            currency: None,
        };
        let key = IdempotencyKey::parse(key.as_bytes()).context("the key")?;
        let caller = Caller::internal(TenantId(self.tenant));
        Ok(self.use_case.execute(&caller, &withdrawal, &Idempotency::Keyed(key), &invocation()).await?)
    }
}

fn payment_id(outcome: &WithdrawOutcome) -> Option<Uuid> {
    match outcome {
        WithdrawOutcome::Executed(payment) | WithdrawOutcome::Replayed(payment) => Some(payment.id.0),
        _ => None,
    }
}
