//! Runs the signing clients of the documentation against the running API, so that the documentation cannot rot.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use tokio_postgres::Client;
use uuid::Uuid;

use super::suites::Suite;
use crate::fixtures::{self, Tenant};
use crate::signing::Credentials;
use crate::stack::payments::PaymentStack;
use crate::tools::signing_clients::SigningClients;

/// Minor units that each client pays.
const AMOUNT: i64 = 2500;

/// Each client pays, and repeats its payment; each has to find exactly one debit.
pub(super) async fn run(stack: &PaymentStack, clients: SigningClients) -> Result<Suite> {
    let (mut passed, mut failed) = (0, 0);
    for (name, client) in clients.clients {
        match pays_once(stack, client).await {
            Ok(()) => {
                println!("  {name}: a payment and its replay");
                passed += 1;
            }
            Err(error) => {
                eprintln!("  {name}: {error:#}");
                failed += 1;
            }
        }
    }
    Ok(Suite::new("signing examples", passed, failed))
}

async fn pays_once(stack: &PaymentStack, mut client: Command) -> Result<()> {
    let tenant = Tenant { id: Uuid::new_v4(), name: "signing example", account: Uuid::new_v4() };
    tenant.ensure(&stack.ledger, 4 * AMOUNT).await?;
    let credentials = Credentials::local(tenant.id)?;
    client
        .env("BASE_URL", stack.parts.functions.base_url())
        .env("KEY_ID", credentials.key_id.to_string())
        .env("SECRET", credentials.secret_base64())
        .env("RECIPIENT_ID", Uuid::new_v4().to_string())
        .env("IDEMPOTENCY_KEY", Uuid::new_v4().to_string());
    let mut client = tokio::process::Command::from(client);
    let first = answer(&mut client).await?;
    let second = answer(&mut client).await?;
    ensure!(first == second, "the replay differs: {first} and {second}");
    ensure!(first.trim_end().ends_with("200"), "no 200: {first}");
    ensure!(fixtures::balance(&stack.ledger, tenant.account).await? == 3 * AMOUNT, "not exactly one debit");
    ensure!(payments(&stack.ledger, tenant.id).await? == 1, "not exactly one payment");
    Ok(())
}

async fn answer(client: &mut tokio::process::Command) -> Result<String> {
    let output = client.output().await.context("cannot start it")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(output.status.success(), "it failed: {text}{}", String::from_utf8_lossy(&output.stderr));
    Ok(text)
}

async fn payments(ledger: &Client, tenant: Uuid) -> Result<i64> {
    let row = ledger.query_one("SELECT count(*) FROM payments WHERE tenant_id = $1", &[&tenant]).await?;
    Ok(row.try_get(0)?)
}
