//! `cargo xtask bench`: every claim about speed beside its reference, in one run on one PostgreSQL with durable commits.
//!
//! Each comparison takes turns, round after round; a row holds when the ratio of the medians meets its target.

mod cold_start;
mod direct;
mod driver;
mod emulator;
mod explain;
mod growth;
mod network;
mod over_http;
mod pgbench;
mod pictures;
mod purge;
mod round_trips;
mod row;
mod samples;
mod servers;
mod stage;

use std::time::Duration;

use anyhow::{Result, bail};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use self::row::Row;
use self::stage::Stage;
use crate::{report, workspace};

/// Options of `bench`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The form of about three minutes: fewer and shorter runs, smaller tables
    #[arg(long)]
    quick: bool,
    /// Only these parts
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,
    /// Also replace the pictures in `docs/img/`
    #[arg(long)]
    draw: bool,
}

/// What can be measured by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// The ledger beside pgbench
    Direct,
    /// The server beside the course's flow in Go and Rust
    Http,
    /// The same with a slower network to the database
    Network,
    /// Statements sent for a payment
    RoundTrips,
    /// The function beside hello world
    ColdStart,
    /// The functions behind `cargo lambda watch`
    Emulator,
    /// Payments while old keys are deleted
    Purge,
    /// Payments on tables with many keys
    Growth,
    /// Plans, buffers and write-ahead log of one payment
    Explain,
}

const PARTS: [Part; 9] = [
    Part::Direct,
    Part::Http,
    Part::Network,
    Part::RoundTrips,
    Part::ColdStart,
    Part::Emulator,
    Part::Purge,
    Part::Growth,
    Part::Explain,
];

/// How often and how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Turns of each subject.
    pub(crate) rounds: usize,
    /// Load before anything is counted.
    pub(crate) warmup: Duration,
    /// Load that is counted.
    pub(crate) time: Duration,
    /// Starts of a process.
    pub(crate) starts: usize,
    /// Old keys in the way of the purge.
    pub(crate) old_keys: i64,
    /// Keys in the tables whose growth is compared, the first the reference.
    pub(crate) sizes: &'static [i64],
    /// The longest time to fill a table.
    pub(crate) filling: Duration,
}

impl Pace {
    /// Turns where a p99 is judged: it differs by a tenth and more from one round to the next.
    fn rounds_of_a_p99(&self) -> usize {
        3 * self.rounds
    }
}

const QUICK: Pace = Pace {
    rounds: 3,
    warmup: Duration::from_millis(500),
    time: Duration::from_millis(1_500),
    starts: 40,
    old_keys: 100_000,
    sizes: &[10_000, 100_000],
    filling: Duration::from_secs(30),
};
const FULL: Pace = Pace {
    rounds: 5,
    warmup: Duration::from_secs(1),
    time: Duration::from_secs(4),
    starts: 200,
    old_keys: 1_000_000,
    sizes: &[10_000, 1_000_000, 10_000_000],
    filling: Duration::from_mins(10),
};

/// What a part has found.
#[derive(Default)]
pub(crate) struct Found {
    /// What is judged or reported.
    pub(crate) rows: Vec<Row>,
    /// What rows have no room for: latencies, curves, plans.
    pub(crate) figures: Map<String, Value>,
}

/// Measures, prints the table, writes the report; fails unless every target holds.
pub(crate) async fn run(arguments: &Arguments) -> Result<()> {
    let pace = if arguments.quick { QUICK } else { FULL };
    let stage = Stage::start(pace).await?;
    let mut found = Found::default();
    for part in PARTS.into_iter().filter(|part| arguments.only.is_empty() || arguments.only.contains(part)) {
        println!("\n{part:?}");
        let of_part = measure(part, &stage).await?;
        println!("{}", row::table(&of_part.rows));
        found.rows.extend(of_part.rows);
        found.figures.extend(of_part.figures);
        // After each part: what was measured is not lost when a later one breaks off.
        write(arguments, &stage, &found)?;
    }
    println!("\n{}", row::table(&found.rows));
    println!("report: {}", workspace::shown(&write(arguments, &stage, &found)?));
    pictures::publish(&found, arguments.draw)?;
    let missed = row::missed(&found.rows);
    if !missed.is_empty() {
        bail!("{} of {} targets are missed: {}", missed.len(), row::judged(&found.rows), missed.join("; "));
    }
    println!("\nEvery target holds.");
    Ok(())
}

/// Boxed, so that the compiler judges the parts one by one.
fn measure(part: Part, stage: &Stage) -> BoxFuture<'_, Result<Found>> {
    match part {
        Part::Direct => Box::pin(direct::run(stage)),
        Part::Http => Box::pin(over_http::run(stage)),
        Part::Network => Box::pin(network::run(stage)),
        Part::RoundTrips => Box::pin(round_trips::run(stage)),
        Part::ColdStart => Box::pin(cold_start::run(stage)),
        Part::Emulator => Box::pin(emulator::run(stage)),
        Part::Purge => Box::pin(purge::run(stage)),
        Part::Growth => Box::pin(growth::run(stage)),
        Part::Explain => Box::pin(explain::run(stage)),
    }
}

fn write(arguments: &Arguments, stage: &Stage, found: &Found) -> Result<std::path::PathBuf> {
    let processors = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let report = json!({
        "form": if arguments.quick { "quick" } else { "full" },
        "rounds": stage.pace.rounds,
        "seconds_per_round": stage.pace.time.as_secs_f64(),
        "connections": stage::CONNECTIONS,
        "hot_account_slots": stage::HOT_ACCOUNT_SLOTS,
        "processors": processors,
        "database": stage.origin,
        "rows": found.rows,
        "figures": found.figures,
    });
    report::write("bench", &report)
}
