//! `cargo xtask`: the one entry point for people and CI.
//!
//! This file knows the command line and nothing of what the commands do.

mod commands;
mod conditions;
mod demo;
mod fixtures;
mod interrupt;
mod picture;
mod report;
mod rules;
mod signing;
mod stack;
mod tools;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use self::interrupt::Outcome;

/// Starts, tests and checks the payments stack. Tools it needs are provisioned into `.tools/`.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start everything, show a payment and its replay, serve until Ctrl-C
    Dev(commands::dev::Arguments),
    /// Send ten parallel duplicates through a network that cuts half of the connections, round after round
    Slo(commands::slo::Arguments),
    /// Show on real parts what goes wrong, and why ours does not
    Lab(commands::lab::Arguments),
    /// Measure every claim about speed beside its reference
    Bench(commands::bench::Arguments),
    /// Deploy the built stack to a local emulator of AWS, drive it, update it under load, delete it
    Rehearse(commands::rehearse::Arguments),
    /// Run everything that CI runs: check, unit and integration tests, slo
    Test,
    /// Kill, cut, freeze and crash everything while clients pay, then prove from the ledger that nobody paid twice
    Torture(commands::torture::Arguments),
    /// Create tenants, issue and retire their signing keys
    Client(commands::client::Arguments),
    /// Format, lints, layout rules, dependency audit, the template, links
    Check,
}

/// What a shell expects of a command that a signal ended.
const INTERRUPTED: u8 = 130;

#[tokio::main]
async fn main() -> ExitCode {
    let command = Cli::parse().command;
    // Serving until Ctrl-C is what `dev` is for; every other command has then not done its work.
    let when_interrupted = match command {
        Command::Dev(_) => ExitCode::SUCCESS,
        _ => ExitCode::from(INTERRUPTED),
    };
    let finished = match interrupt::supervise(run(command)).await {
        Ok(Outcome::Interrupted) => return when_interrupted,
        Ok(Outcome::Finished(result)) => result,
        Err(error) => Err(error),
    };
    match finished {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nerror: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Dev(arguments) => commands::dev::run(&arguments).await,
        Command::Slo(arguments) => commands::slo::run(&arguments).await,
        Command::Lab(arguments) => commands::lab::run(&arguments).await,
        Command::Bench(arguments) => commands::bench::run(&arguments).await,
        Command::Rehearse(arguments) => commands::rehearse::run(&arguments).await,
        Command::Test => commands::test::run().await,
        Command::Torture(arguments) => commands::torture::run(&arguments).await,
        Command::Client(arguments) => commands::client::run(&arguments).await,
        Command::Check => commands::check::run().await,
    }
}
