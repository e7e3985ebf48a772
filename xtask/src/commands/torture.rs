//! `cargo xtask torture`: kills it, cuts it, freezes it, fills its disk while clients pay, and asks the ledger afterwards.
//!
//! The checker knows only what clients were told and what the database holds. docs/torture.md explains the report.

mod checker;
mod client;
mod crowd;
mod dump;
mod faults;
mod habits;
mod history;
mod overload;
mod phases;
mod stage;
mod target;
mod variants;
mod verdict;
mod world;

use std::time::Duration;

use anyhow::{Result, bail};

use crate::stack::{broken, functions};
use crate::tools::{self, pypi};
use crate::{report, workspace};

use phases::Plan;
pub(crate) use stage::Tools;
pub(crate) use variants::run as run_variants;
pub(crate) use verdict::Figures;

/// The stack whose logs folder is used.
const STACK: &str = "torture";
/// What is done when nothing else is asked for.
const PAYMENTS: u64 = 100_000;
const MINUTES: u64 = 60;

/// Options of `torture`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Payments to make under faults; 100,000 unless minutes are given
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    payments: Option<u64>,
    /// Minutes under faults at most; 60 by default
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=600))]
    minutes: Option<u64>,
    /// What everything random is made from; a fresh one by default
    #[arg(long)]
    seed: Option<u64>,
    /// Clients at once
    #[arg(long, default_value_t = 128, value_parser = clap::value_parser!(u16).range(1..=500))]
    clients: u16,
    /// Seconds at ten times the sustainable rate; 0 leaves them out
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(0..=600))]
    overload: u64,
    /// Torture the functions as a release builds them
    #[arg(long)]
    release: bool,
    /// Try the checker on servers with a mistake in them instead
    #[arg(long)]
    variants: bool,
}

impl Tools {
    /// Finds or provisions them.
    pub(crate) fn provide() -> Result<Self> {
        Ok(Self {
            cargo_lambda: pypi::CARGO_LAMBDA.provide()?,
            postgres: tools::postgres::provide()?,
            toxiproxy: tools::go::toxiproxy()?,
        })
    }
}

/// Runs on a stack of its own.
pub(crate) async fn run(arguments: &Arguments) -> Result<()> {
    println!("tools");
    let tools = Tools::provide()?;
    println!("build");
    let seed = arguments.seed.unwrap_or_else(fresh_seed);
    if arguments.variants {
        broken::build()?;
        let (_, missed) = run_variants(&tools, seed).await?;
        anyhow::ensure!(missed == 0, "the checker misjudged {missed} of the variants");
        return Ok(());
    }
    if arguments.release {
        functions::build_release()?;
    } else {
        functions::build()?;
    }
    let figures = run_with(&tools, arguments, seed).await?;
    let missed = figures.missed();
    if !missed.is_empty() {
        bail!("it does not hold: {}", missed.join("; "));
    }
    println!("\nIt holds.");
    Ok(())
}

/// The short form of the test: a minute of faults from a fresh seed, and seconds of overload.
pub(crate) async fn run_short(tools: &Tools) -> Result<Figures> {
    let arguments = Arguments {
        payments: None,
        minutes: Some(1),
        seed: None,
        clients: 32,
        overload: 5,
        release: false,
        variants: false,
    };
    run_with(tools, &arguments, fresh_seed()).await
}

/// A seed that no run had before.
pub(crate) fn fresh_seed() -> u64 {
    fastrand::u64(..1_000_000_000)
}

/// Runs, prints the table, writes the report; the verdict is the caller's to take.
async fn run_with(tools: &Tools, arguments: &Arguments, seed: u64) -> Result<Figures> {
    let plan = Plan {
        seed,
        release: arguments.release,
        payments: arguments.payments.or(arguments.minutes.is_none().then_some(PAYMENTS)),
        limit: Duration::from_secs(60 * arguments.minutes.unwrap_or(MINUTES)),
        clients: usize::from(arguments.clients),
        overload: Duration::from_secs(arguments.overload),
    };
    let command = command(arguments, seed);
    println!("repeat with\n  {command}\nstack\n  {}", tools.postgres.origin);
    let mut figures = phases::run(tools, &plan).await?;
    figures.command = command;
    println!("\n{}", figures.table());
    for finding in &figures.findings {
        println!("{:?} {}: {}", finding.flaw, finding.about, finding.text);
    }
    println!("report: {}", workspace::shown(&report::write("torture", &figures)?));
    Ok(figures)
}

fn command(arguments: &Arguments, seed: u64) -> String {
    let payments = arguments.payments.map(|payments| format!(" --payments {payments}")).unwrap_or_default();
    let minutes = arguments.minutes.map(|minutes| format!(" --minutes {minutes}")).unwrap_or_default();
    let (clients, overload) = (arguments.clients, arguments.overload);
    let release = if arguments.release { " --release" } else { "" };
    format!("cargo xtask torture{payments}{minutes}{release} --seed {seed} --clients {clients} --overload {overload}")
}
