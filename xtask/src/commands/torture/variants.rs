//! The checker's own test: servers with one mistake each, and one without. Each mistake must be caught, and nothing else.

use std::time::Duration;

use anyhow::Result;
use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;

use super::checker::{Findings, Flaw, check};
use super::faults;
use super::phases::{self, Plan};
use super::stage::{self, Tools};

const PAYMENTS: u64 = 250;
const CLIENTS: usize = 24;
/// A server that answers nobody must not hold the test up.
const LIMIT: Duration = Duration::from_secs(30);

/// A variant and what must be found.
struct Variant {
    name: &'static str,
    /// One of these at least; of the honest one, nothing at all.
    expected: &'static [Flaw],
}

const VARIANTS: [Variant; 4] = [
    Variant { name: "honest", expected: &[] },
    Variant { name: "check-then-act", expected: &[Flaw::DoubleDebit] },
    Variant { name: "replay-pays-again", expected: &[Flaw::DoubleDebit] },
    Variant { name: "commit-not-checked", expected: &[Flaw::LostAnswer] },
];

/// Runs them one after the other and returns how many were judged rightly and how many were not.
pub(crate) async fn run(tools: &Tools, seed: u64) -> Result<(usize, usize)> {
    println!("variants, seed {seed}");
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header(["variant", "expected", "found", "judged rightly"]);
    let (mut right, mut wrong) = (0, 0);
    for variant in &VARIANTS {
        let found = torture(tools, seed, variant.name).await?;
        let rightly = is_right(variant, &found);
        *(if rightly { &mut right } else { &mut wrong }) += 1;
        let shown = format!("{:?}", found.flaws());
        println!("  {}: {shown}", variant.name);
        if !rightly {
            found.list.iter().take(5).for_each(|finding| println!("    {}: {}", finding.about, finding.text));
        }
        table.add_row([variant.name, &format!("{:?}", variant.expected), &shown, if rightly { "yes" } else { "NO" }]);
    }
    println!("\n{table}");
    Ok((right, wrong))
}

async fn torture(tools: &Tools, seed: u64, variant: &'static str) -> Result<Findings> {
    let stage = stage::variant(tools, seed, variant).await?;
    let plan = Plan {
        seed,
        release: false,
        payments: Some(PAYMENTS),
        limit: LIMIT,
        clients: CLIENTS,
        overload: Duration::ZERO,
    };
    let experience = phases::endure(&stage, faults::FEW, &plan).await?;
    let dump = phases::reckon(&stage).await?;
    Ok(check(&experience.history, &dump, experience.answered_by_ms))
}

fn is_right(variant: &Variant, found: &Findings) -> bool {
    let flaws = found.flaws();
    if variant.expected.is_empty() {
        flaws.is_empty()
    } else {
        variant.expected.iter().all(|it| flaws.contains_key(it))
    }
}
