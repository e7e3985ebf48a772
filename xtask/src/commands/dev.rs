//! `cargo xtask dev`: starts everything, shows one payment and its replay, serves until Ctrl-C.

mod env_file;

use std::fmt::Write as _;

use anyhow::Result;
use uuid::Uuid;

use self::env_file::EnvFile;

use crate::fixtures::Tenant;
use crate::signing::{Credentials, Proof};
use crate::stack::functions::{self, AuthMode, LOCAL_MASTER_SECRETS};
use crate::stack::payments::{self, Database, PaymentStack, Serving};
use crate::stack::postgres::{Cluster, Postgres};
use crate::stack::{lock, ports};
use crate::tools::{self, pypi};
use crate::{demo, workspace};

/// Names the data folder below `.local/`.
const CLUSTER: &str = "postgres";
/// Minor units that the demo accounts are topped up to: 10,000.00 EUR.
const BALANCE: i64 = 1_000_000;

/// The same ids on every start, so that what a person noted down stays true.
const DEMO: Tenant<'_> = Tenant {
    id: Uuid::from_u128(0x0198_0000_0000_7000_8000_0000_0000_0001),
    name: "demo",
    account: Uuid::from_u128(0x0198_0000_0000_7000_8000_0000_0000_000a),
};
const OTHER: Tenant<'_> = Tenant {
    id: Uuid::from_u128(0x0198_0000_0000_7000_8000_0000_0000_0002),
    name: "other",
    account: Uuid::from_u128(0x0198_0000_0000_7000_8000_0000_0000_000b),
};

/// Options of `dev`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Port of the API on 127.0.0.1
    #[arg(long, default_value_t = 9000)]
    port: u16,
    /// Port of the database that is started unless `DATABASE_URL` names one
    #[arg(long, default_value_t = 5433)]
    db_port: u16,
    /// Processes per function at most
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=100))]
    concurrency: u16,
    /// How callers prove who they are
    #[arg(long, value_enum, default_value_t = AuthMode::Hmac)]
    auth_mode: AuthMode,
}

/// Serves until it is interrupted; ends by itself only with an error, when a part dies.
pub(crate) async fn run(arguments: &Arguments) -> Result<()> {
    let _lock = lock::take(&workspace::local().join("dev.lock"), "`cargo xtask dev`")?;
    let env_file = EnvFile::begin(workspace::local().join("dev.env"))?;
    // A shell that has sourced dev.env names our own database, which is not running yet.
    let own = Postgres::url_at(arguments.db_port, payments::DATABASE);
    let given = std::env::var("DATABASE_URL").ok().filter(|url| !url.is_empty() && *url != own);
    ports::require_free(arguments.port, "the API", "--port")?;
    if given.is_none() {
        require_free_for_database(arguments.db_port)?;
    }
    println!("tools");
    let cargo_lambda = pypi::CARGO_LAMBDA.provide()?;
    let database = database(given, arguments.db_port).await?;
    println!("functions");
    functions::build()?;
    let serving = Serving {
        stack: "dev",
        port: arguments.port,
        concurrency: arguments.concurrency,
        auth_mode: arguments.auth_mode,
    };
    let mut stack = PaymentStack::start(&cargo_lambda, database, &serving).await?;
    for tenant in [&DEMO, &OTHER] {
        tenant.ensure(&stack.ledger, BALANCE).await?;
    }
    let proof = Proof::local(serving.auth_mode, DEMO.id)?;
    env_file.write(&environment(&stack, serving.auth_mode)?)?;
    let table = demo::run(stack.parts.functions.base_url(), &stack.ledger, &DEMO, &proof).await?;
    println!("\n{table}\n");
    println!("API        {}/api/v1/payments", stack.parts.functions.base_url());
    println!("database   {}", stack.parts.database.shown());
    println!("logs       {}", workspace::shown(&workspace::logs(serving.stack)));
    println!("settings   source {}", workspace::shown(&env_file.keep()));
    println!("\nCtrl-C stops everything.");
    Err(stack.parts.broken().await)
}

/// A server that a killed run left behind is ours to stop; any other on this port is not.
fn require_free_for_database(port: u16) -> Result<()> {
    let free = || ports::require_free(port, "the database", "--db-port");
    if free().is_ok() {
        return Ok(());
    }
    Postgres::stop_leftover(&tools::postgres::provide()?, CLUSTER)?;
    free()
}

async fn database(given: Option<String>, port: u16) -> Result<Database> {
    if let Some(url) = given {
        println!("database\n  from DATABASE_URL");
        return Ok(Database::Given(url));
    }
    let binaries = tools::postgres::provide()?;
    println!("database\n  {}", binaries.origin);
    let cluster = Cluster { name: CLUSTER, stack: "dev", port, durable: true, keep: true };
    Database::start(&binaries, &cluster).await
}

/// What a shell needs to know of this stack.
fn environment(stack: &PaymentStack, auth_mode: AuthMode) -> Result<String> {
    let mut text = format!(
        "BASE_URL={}\nDATABASE_URL='{}'\nAUTH_MODE={}\n",
        stack.parts.functions.base_url(),
        stack.parts.database.owner_url(),
        auth_mode.as_str(),
    );
    for (prefix, tenant) in [("", &DEMO), ("OTHER_", &OTHER)] {
        let credentials = Credentials::local(tenant.id)?;
        write!(
            text,
            "{prefix}TENANT_ID={}\n{prefix}ACCOUNT_ID={}\n{prefix}KEY_ID={}\n{prefix}SECRET={}\n",
            tenant.id,
            tenant.account,
            credentials.key_id,
            credentials.secret_base64(),
        )?;
    }
    writeln!(text, "# The functions' own, for `cargo xtask client`. Local development only: it is published.")?;
    writeln!(text, "MASTER_SECRETS={LOCAL_MASTER_SECRETS}")?;
    Ok(text)
}
