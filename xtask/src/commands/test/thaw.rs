//! Thaw: functions are frozen, the database restarts meanwhile, they wake up, and the next requests must succeed.
//!
//! Lambda freezes a process between two invocations; it wakes up with a connection whose other end is gone.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::suites::Suite;
use crate::fixtures::Tenant;
use crate::signing::Proof;
use crate::stack::family::Frozen;
use crate::stack::functions::AuthMode;
use crate::stack::http;
use crate::stack::payments::{Database, PaymentStack};
use crate::stack::postgres;

/// The function that is frozen.
const FUNCTION: &str = "create_payment";
const BALANCE: i64 = 1_000_000;
const LIMIT: Duration = Duration::from_secs(15);

/// Freezes every process of the function, restarts the database, thaws, pays as often as there are processes.
pub(super) async fn run(stack: &mut PaymentStack) -> Result<Suite> {
    let tenant = Tenant { id: Uuid::new_v4(), name: "thaw", account: Uuid::new_v4() };
    tenant.ensure(&stack.ledger, BALANCE).await?;
    let payments = format!("{}/api/v1/payments", stack.parts.functions.base_url());
    let warm = pay(&payments, tenant.id).await?;
    ensure!(warm == 200, "before the freeze a payment is answered {warm}");

    let frozen = Frozen::freeze(stack.parts.functions.process().pid(), FUNCTION);
    ensure!(frozen.count() > 0, "no process of {FUNCTION} to freeze");
    let Database::Own(server) = &mut stack.parts.database else {
        anyhow::bail!("the thaw test restarts the database, so it needs one of its own");
    };
    server.restart().await?;
    stack.ledger = postgres::connect(&stack.parts.database.owner_url()).await?;
    let processes = frozen.thaw();

    // At once, so that every process that slept gets one.
    let mut requests = JoinSet::new();
    for _ in 0..processes {
        let payments = payments.clone();
        requests.spawn(async move { pay(&payments, tenant.id).await });
    }
    let answers = requests.join_all().await.into_iter().collect::<Result<Vec<_>>>()?;
    println!("  {processes} × {FUNCTION} frozen, database restarted, thawed; answers {answers:?}");
    let good = answers.iter().filter(|status| **status == 200).count();
    Ok(Suite::new("thaw", good, answers.len() - good))
}

/// One payment with a key of its own, sent once.
async fn pay(payments: &str, tenant: Uuid) -> Result<u16> {
    let client = http::client(LIMIT)?;
    let body = json!({ "amount": 2500, "recipient_id": Uuid::new_v4() });
    let request = client.post(payments).header("Idempotency-Key", Uuid::new_v4().to_string()).json(&body).build()?;
    let request = Proof::local(AuthMode::Hmac, tenant)?.add_to(request)?;
    Ok(client.execute(request).await.context("no answer after the thaw")?.status().as_u16())
}
