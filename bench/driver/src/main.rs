//! Drives what `cargo xtask bench` measures, and prints what it saw as one JSON object. A release build, so that it costs
//! the measured little of the machine.

mod cold_start;
mod http_load;
mod ledger_load;
mod load;
mod purge;
mod request_cost;
mod round_trips;
mod subjects;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about)]
struct Cli {
    #[command(subcommand)]
    drive: Drive,
}

#[derive(Subcommand)]
enum Drive {
    /// Load over HTTP on any server that speaks the API
    Http(http_load::Arguments),
    /// The same load on the ledger itself
    Ledger(ledger_load::Arguments),
    /// One process of a function, from its start to its first answer
    ColdStart(cold_start::Arguments),
    /// The scheduled purge, until nothing is left to delete
    Purge(purge::Arguments),
    /// Round trips of a new payment, a replay and a lost race, counted on the wire
    RoundTrips(round_trips::Arguments),
    /// Requests through the handler without a database, to count instructions
    RequestCost(request_cost::Arguments),
}

#[tokio::main]
async fn main() -> Result<()> {
    let figures = match Cli::parse().drive {
        Drive::Http(arguments) => serde_json::to_value(http_load::run(&arguments).await?)?,
        Drive::Ledger(arguments) => serde_json::to_value(ledger_load::run(&arguments).await?)?,
        Drive::ColdStart(arguments) => serde_json::to_value(cold_start::run(&arguments).await?)?,
        Drive::Purge(arguments) => serde_json::to_value(purge::run(&arguments).await?)?,
        Drive::RoundTrips(arguments) => serde_json::to_value(round_trips::run(&arguments).await?)?,
        Drive::RequestCost(arguments) => serde_json::to_value(request_cost::run(&arguments).await?)?,
    };
    println!("{figures}");
    Ok(())
}
