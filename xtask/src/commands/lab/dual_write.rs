//! `lab dual-write`: Redis as the guard, its usual repairs and the product, in the same five situations.

mod coins;
mod situations;
mod subjects;
mod verdict;

use std::time::Instant;

use anyhow::Result;
use uuid::Uuid;

use self::situations::Cell;
use self::subjects::{SUBJECTS, Subject};
use super::client::Client;
use super::shown::Shown;
use super::stage::{Pace, View};
use crate::commands::slo::rounds::BALANCE;
use crate::fixtures::Tenant;

/// What one subject did in each situation, in the order of the situations.
struct Row {
    subject: &'static Subject,
    cells: Vec<Cell>,
}

/// Puts every subject into every situation.
pub(super) async fn run(stage: &View<'_>, pace: Pace) -> Result<Shown> {
    let started = Instant::now();
    let tenant = Tenant { id: Uuid::new_v4(), name: "lab dual-write", account: Uuid::new_v4() };
    tenant.ensure(&stage.stack.ledger, BALANCE).await?;
    let rounds = if pace == Pace::Quick { 1 } else { 5 };
    let theatre = situations::Theatre { stage, tenant: &tenant, client: &Client::of(tenant.id)?, rounds };
    let mut rows = Vec::new();
    for subject in &SUBJECTS {
        println!("{}", subject.name);
        rows.push(Row { subject, cells: theatre.play(subject).await? });
    }
    Ok(Shown {
        lab: "dual-write",
        table: verdict::table(&rows),
        conditions: verdict::conditions(&rows),
        figures: verdict::figures(&rows, started.elapsed(), rounds),
        picture: coins::draw(&rows),
    })
}
