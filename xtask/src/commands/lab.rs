//! `cargo xtask lab <name>`: shows on real parts what goes wrong, and why the product does not.
//!
//! Each lab shows what it tells and fails when that did not happen. The labs know the parts; the parts know no lab.

mod archetypes;
mod client;
mod dual_write;
mod lost_200;

mod race;
mod shown;
mod stage;
mod trade_offs;

use anyhow::{Result, bail};

pub(crate) use self::stage::Tools;
use self::stage::{Pace, STACK, Stage, View};
use crate::stack::payments::PaymentStack;
use crate::stack::toxiproxy::Toxiproxy;

/// Options of `lab`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// What to see
    #[arg(value_enum)]
    lab: Lab,
    /// The short form that `test` runs: fewer repetitions, no pauses for the reader
    #[arg(long)]
    quick: bool,
    /// Also replace the lab's picture in `docs/img/`
    #[arg(long)]
    draw: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Lab {
    /// Messenger, Git push and feed on the payments' own mechanism, each sent many times at once
    Archetypes,
    /// What one call of each guard costs on this machine
    TradeOffs,
    /// Redis as the guard, its usual repairs and the product: debits per key, side by side
    DualWrite,
    /// Two workers, one key, in slow motion
    Race,
    /// The answer is lost after the commit, and the client retries
    #[value(name = "lost-200")]
    Lost200,
}

/// Runs one lab on parts of its own and fails when it did not show what it tells.
pub(crate) async fn run(arguments: &Arguments) -> Result<()> {
    let pace = if arguments.quick { Pace::Quick } else { Pace::Full };
    let shown = match arguments.lab {
        Lab::Archetypes => return archetypes::run(arguments.quick).await,
        Lab::TradeOffs => return trade_offs::run(arguments.quick).await,
        Lab::DualWrite => dual_write::run(&Stage::start().await?.view(), pace).await?,
        Lab::Lost200 => lost_200::run(&Stage::start().await?.view(), pace).await?,
        Lab::Race => {
            let database = stage::database().await?;
            race::run(&database.owner_url(), pace).await?
        }
    };
    shown.publish(arguments.draw)?;
    let missed = shown.missed();
    if !missed.is_empty() {
        bail!("the lab did not show what it tells: {}", missed.join("; "));
    }
    println!("\nShown as told.");
    Ok(())
}

/// The quick forms of the labs, those that need a whole stack on one that is up: conditions that hold, and conditions that
/// do not.
pub(crate) async fn run_quick_on(stack: &PaymentStack, tools: &Tools) -> Result<(usize, usize)> {
    let toxiproxy = Toxiproxy::start(&tools.slo.toxiproxy, STACK).await?;
    let stage = View { stack, toxiproxy: &toxiproxy, tools };
    let all = [
        race::run(&stack.parts.database.owner_url(), Pace::Quick).await?,
        lost_200::run(&stage, Pace::Quick).await?,
        dual_write::run(&stage, Pace::Quick).await?,
    ];
    let (mut held, mut missed) = archetypes::run_quick().await?;
    for shown in &all {
        shown.publish(false)?;
        shown.missed().iter().for_each(|condition| eprintln!("  {}: {condition}", shown.lab));
        missed += shown.missed().len();
        held += shown.conditions.len() - shown.missed().len();
    }
    Ok((held, missed))
}
