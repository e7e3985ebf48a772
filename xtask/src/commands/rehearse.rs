//! `cargo xtask rehearse`: deploys the built stack to a local emulator of AWS, as docs/deploy.md says, and drives it.

mod build;
mod deployment;
mod gateway;
mod payments;
mod purge;
mod teardown;
mod update;
mod verdict;

use std::path::PathBuf;
use std::time::Instant;

use ::payments::config::MigrationConfig;
use ::payments::repositories::migrations;
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

pub(crate) use self::build::Effort;
use self::deployment::{Deployment, Version};
use self::gateway::{Gateway, Payer};
use self::update::Payers;
use self::verdict::Verdict;
use crate::fixtures::Tenant;
use crate::stack::emulator::Emulator;
use crate::stack::functions::LOCAL_MASTER_SECRETS;
use crate::stack::payments::Database;
use crate::stack::postgres::{self, Cluster};
use crate::stack::{lock, ports};
use crate::tools::python::Python;
use crate::tools::{self, pypi, python};
use crate::{report, workspace};

/// Names the logs' folder.
const STACK: &str = "rehearse";
/// Minor units that an account starts with.
const BALANCE: i64 = 100_000_000;
/// The master secret that the rotation puts first. NOT A SECRET: it is published here.
const NEXT_SECRET: &str = "cmVoZWFyc2FsIG9ubHk6IG5vdCBhIHNlY3JldCBlaXRoZXIsIGNvbWVzIHNlY29uZA==";

/// Options of `rehearse`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Leave the deployed stack up until Ctrl-C instead of deleting it
    #[arg(long)]
    keep: bool,
    /// Build with all optimisation, as for AWS: takes several times as long
    #[arg(long)]
    release: bool,
}

/// What a rehearsal needs beyond Rust.
pub(crate) struct Tools {
    /// What `sam build` builds with.
    compilers: [PathBuf; 2],
    postgres: tools::postgres::Binaries,
    sam: Python,
    emulator: Python,
}

impl Tools {
    /// Finds or provisions them.
    pub(crate) fn provide() -> Result<Self> {
        Ok(Self {
            compilers: [pypi::CARGO_LAMBDA.provide()?, pypi::ZIG.provide()?],
            postgres: tools::postgres::provide()?,
            sam: python::TEMPLATE.provide()?,
            emulator: python::EMULATOR.provide()?,
        })
    }
}

/// Rehearses and fails unless everything held.
pub(crate) async fn run(arguments: &Arguments) -> Result<()> {
    println!("tools");
    let effort = if arguments.release { Effort::AsDeployed } else { Effort::Quick };
    let verdict = rehearse(Tools::provide()?, effort, arguments.keep).await?;
    if verdict.failed() > 0 {
        bail!("{} of {} cases do not hold", verdict.failed(), verdict.failed() + verdict.passed());
    }
    println!("\nThe template deploys, serves, updates and goes.");
    Ok(())
}

/// Rehearses on parts of its own, prints the table and writes the report; the verdict is the caller's to take.
pub(crate) async fn rehearse(tools: Tools, effort: Effort, keep: bool) -> Result<Verdict> {
    let _lock = lock::take(&workspace::local().join("rehearse.lock"), "`rehearse`")?;
    println!("build");
    let template = build::run(&tools.sam, &tools.compilers, effort)?;
    println!("stack\n  {}", tools.postgres.origin);
    let started = Instant::now();
    let cluster = Cluster { name: "rehearse-postgres", stack: STACK, port: ports::free()?, durable: true, keep: false };
    let database = Database::start(&tools.postgres, &cluster).await?;
    let mut emulator = Emulator::start(tools.emulator, STACK).await?;
    let owner_url = database.owner_url();
    let deployment = Deployment {
        emulator: &emulator,
        sam: &tools.sam,
        template,
        app_url: owner_url.replacen("postgres://postgres@", "postgres://payments_app@", 1),
        owner_url,
    };
    let mut verdict = Verdict::default();
    drive(&deployment, keep, &mut verdict).await?;
    verdict.seconds = started.elapsed().as_secs_f64();
    println!("\n{}", verdict.table());
    println!("report: {}", workspace::shown(&report::write("rehearse", &verdict.report())?));
    if keep {
        println!("\nThe stack stays until Ctrl-C.");
        return Err(emulator.process().broken().await);
    }
    Ok(verdict)
}

/// Every step of docs/deploy.md that the emulator reaches, in its order.
async fn drive(deployment: &Deployment<'_>, keep: bool, verdict: &mut Verdict) -> Result<()> {
    println!("deploy");
    let ledger = postgres::connect(&deployment.owner_url).await?;
    ledger.batch_execute("CREATE ROLE payments_app LOGIN").await.context("cannot create the functions' role")?;
    let secret = deployment.create_secret(LOCAL_MASTER_SECRETS).await?;
    deployment.deploy(&Version { secret, log_level: "info" }).await?;
    let resources = deployment.resources().await?;
    verdict.resources = resources.count();
    let incomplete = resources.incomplete.join(", ");
    verdict.note("resources deployed", resources.count(), resources.count() > 0 && incomplete.is_empty());
    let base_url = deployment.output("BaseUrl").await?;
    println!("  {base_url}, reached at {}", deployment.emulator.address());

    let gateway = Gateway::at(&base_url, deployment.emulator)?;
    let tenant = Tenant { id: Uuid::new_v4(), name: "rehearsal", account: Uuid::new_v4() };
    let payer = Payer::new(&gateway, LOCAL_MASTER_SECRETS, &tenant)?;
    let early = payer.pay("too-early").await?;
    verdict.note("refused before the first migration", early.status, early.status == 503);
    migrate(deployment, verdict).await?;
    tenant.ensure(&ledger, BALANCE).await?;

    println!("payments");
    let successor = Payer::new(&gateway, NEXT_SECRET, &tenant)?;
    let paid = payments::run(&payer, &successor, &ledger, verdict).await?;
    println!("purge");
    purge::run(deployment, &resources, &ledger, &paid, verdict).await?;
    payments::replay(&payer, &paid, "replay of the purged key: same bytes", verdict).await?;

    println!("update");
    rotate(deployment, &resources, &gateway, &ledger, verdict).await?;
    payments::replay(&successor, &paid, "replay signed under the next master secret", verdict).await?;
    if !keep {
        println!("delete");
        teardown::run(deployment, &resources, verdict).await?;
    }
    Ok(())
}

async fn migrate(deployment: &Deployment<'_>, verdict: &mut Verdict) -> Result<()> {
    let function = deployment.output("MigrateFunction").await?;
    for (name, first) in [("migrate on an empty database", true), ("migrate again applies nothing", false)] {
        let migrated = deployment.invoke(&function, &json!({})).await?;
        let applied = migrated.get("applied").and_then(Value::as_array).map_or(0, Vec::len);
        verdict.note(name, format!("{applied} applied"), (applied > 0) == first);
    }
    // The same migrations as this checkout has: nothing is left to be done.
    let owner = MigrationConfig::with_url(deployment.owner_url.clone());
    let left = migrations::run(&owner).await.context("cannot look at the schema")?.applied.len();
    verdict.note("migrations left out", left, left == 0);
    Ok(())
}

/// Both master secrets are valid from the update on.
async fn rotate(
    deployment: &Deployment<'_>,
    resources: &deployment::Resources,
    gateway: &Gateway,
    ledger: &Client,
    verdict: &mut Verdict,
) -> Result<()> {
    let tenant = Tenant { id: Uuid::new_v4(), name: "during the update", account: Uuid::new_v4() };
    tenant.ensure(ledger, BALANCE).await?;
    let secret = deployment.rotate_secret(&format!("{NEXT_SECRET},{LOCAL_MASTER_SECRETS}")).await?;
    let next = Version { secret, log_level: "debug" };
    let payers = Payers { gateway, master_secret: LOCAL_MASTER_SECRETS, tenant: &tenant };
    update::run(deployment, resources, &next, payers, ledger, verdict).await
}
