//! Load on the use case and its PostgreSQL ledger, without HTTP.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use payments::config::DatabaseConfig;
use payments::domain::{
    AccountId, Caller, Idempotency, IdempotencyKey, Invocation, MinorUnits, RecipientId, TenantId, Withdrawal,
};
use payments::repositories::{Database, PostgresLedger};
use payments::use_cases::{WithdrawIdempotent, WithdrawOutcome};

use crate::load::{self, Connection, Measured, Plan};
use crate::subjects::{Kind, RECIPIENT, TENANT, Wish, Wishes, to_settle};

/// Longer than any call may take.
const BUDGET: Duration = Duration::from_secs(20);

/// What to do to which database.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The application role's URL
    #[arg(long)]
    database_url: String,
    /// What the load does
    #[arg(long, value_enum)]
    kind: Kind,
    /// Keep each statement's plan on its connection
    #[arg(long)]
    prepared: bool,
    #[command(flatten)]
    plan: Plan,
}

/// Measures with as many connections to the database as callers.
pub(crate) async fn run(arguments: &Arguments) -> Result<Measured> {
    let plan = &arguments.plan;
    let ledger = ledger(&arguments.database_url, usize::try_from(plan.connections)?, arguments.prepared)?;
    let use_case = Arc::new(WithdrawIdempotent::new(ledger));
    let caller = |number| LedgerCaller {
        use_case: Arc::clone(&use_case),
        wishes: Wishes::new(arguments.kind, plan.accounts, number, plan.connections),
    };
    let callers: Vec<LedgerCaller> = (0..plan.connections).map(caller).collect();
    if arguments.kind == Kind::Replay {
        for wish in to_settle(plan.accounts, 0, 1) {
            let outcome = pay(&use_case, wish).await?;
            ensure!(["executed", "replayed"].contains(&outcome), "a payment to be replayed ended as {outcome}");
        }
    }
    load::run(callers, plan).await
}

/// A ledger with so many connections.
pub(crate) fn ledger(url: &str, connections: usize, prepared: bool) -> Result<PostgresLedger> {
    let config =
        DatabaseConfig { prepared_statements: prepared, ..DatabaseConfig::with_url(url.to_owned(), connections) };
    Ok(PostgresLedger::new(Database::new(&config)?))
}

/// The words of the domain for a wish.
pub(crate) fn in_words_of_the_domain(wish: Wish) -> Result<(Caller, Withdrawal, Idempotency)> {
    let withdrawal = Withdrawal {
        account: Some(AccountId(wish.account)),
        recipient: RecipientId(RECIPIENT),
        amount: MinorUnits::new(1)?,
        currency: None,
    };
    let key = IdempotencyKey::parse(wish.key.to_string().as_bytes())?;
    Ok((Caller::internal(TenantId(TENANT)), withdrawal, Idempotency::Keyed(key)))
}

struct LedgerCaller {
    use_case: Arc<WithdrawIdempotent<PostgresLedger>>,
    wishes: Wishes,
}

impl Connection for LedgerCaller {
    async fn call(&mut self) -> Result<String> {
        Ok(pay(&self.use_case, self.wishes.next()).await?.to_owned())
    }
}

async fn pay(use_case: &WithdrawIdempotent<PostgresLedger>, wish: Wish) -> Result<&'static str> {
    let (caller, withdrawal, key) = in_words_of_the_domain(wish)?;
    let invocation = Invocation::new("bench".to_owned(), BUDGET);
    Ok(match use_case.execute(&caller, &withdrawal, &key, &invocation).await? {
        WithdrawOutcome::Executed(_) => "executed",
        WithdrawOutcome::Replayed(_) => "replayed",
        WithdrawOutcome::Declined { .. } => "declined",
        WithdrawOutcome::InProgress => "in progress",
        _ => "refused",
    })
}
