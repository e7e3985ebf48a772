//! The phases of a run: faults, the end of all questions, overload, and the reckoning.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::checker::{Dump, PaymentRow, check};
use super::client::Sender;
use super::crowd::Crowd;
use super::faults::{self, Lane, Lanes};
use super::habits::Clients;
use super::history::Journey;
use super::stage::{self, Stage, Tools};
use super::verdict::Figures;
use super::{dump, overload};
use crate::stack::postgres;

/// Once the faults have stopped, every client that asks on must know its outcome within this time.
const PATIENCE: Duration = Duration::from_secs(30);
const PROGRESS: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(200);

/// What to run.
pub(super) struct Plan {
    pub(super) seed: u64,
    /// Whether the functions are those of the release build.
    pub(super) release: bool,
    /// The faults end with this many settled payments, or when the time is up.
    pub(super) payments: Option<u64>,
    pub(super) limit: Duration,
    /// Clients at once.
    pub(super) clients: usize,
    /// Time at ten times the sustainable rate.
    pub(super) overload: Duration,
}

/// What clients experienced under faults.
pub(super) struct Experience {
    pub(super) history: Vec<Journey>,
    pub(super) sender: Arc<Sender>,
    /// When the faults were healed, on the history's clock, and by when everybody must know.
    healed_ms: u64,
    pub(super) answered_by_ms: u64,
    /// How long the faults went on, and how many outcomes were heard meanwhile.
    time: Duration,
    settled: u64,
}

/// Runs all phases on the product.
pub(super) async fn run(tools: &Tools, plan: &Plan) -> Result<Figures> {
    let stage = stage::product(tools, plan.seed, plan.release).await?;
    let scene = stage.scene.clone();
    println!("faults");
    let mut experience = endure(&stage, faults::ALL, plan).await?;
    let under_faults: HashSet<Uuid> = experience.history.iter().map(|journey| journey.wish.recipient).collect();
    let slowest_ms = experience.history.iter().filter_map(Journey::settled_ms).max().unwrap_or_default();
    let overload = if plan.overload.is_zero() {
        None
    } else {
        println!("overload");
        let phase = overload::Phase {
            sender: experience.sender.clone(),
            world: &scene.world,
            target: &scene.target,
            seed: plan.seed,
            duration: plan.overload,
        };
        Some(phase.run(&mut experience.history).await?)
    };
    println!("reckoning");
    let dump = reckon(&stage).await?;
    let payments: Vec<&PaymentRow> =
        dump.payments.iter().filter(|payment| under_faults.contains(&payment.recipient)).collect();
    let mut faults = scene.counts.applied();
    faults.insert("clock_skewed", experience.sender.skewed());
    let missing =
        faults::kinds(scene.disk.is_some()).into_iter().filter(|kind| faults.get(kind).is_none_or(|n| *n == 0));
    let mut figures = Figures {
        seed: plan.seed,
        payments: payments.len(),
        declined: payments.iter().filter(|payment| payment.status == "declined").count(),
        payments_in_overload: dump.payments.len() - payments.len(),
        payments_wanted: plan.payments,
        faults_missing: missing.collect(),
        not_carried_out: scene.counts.not_carried_out(),
        network_restarts: scene.toxiproxy.restarts(),
        not_applied: stage.no_small_disk.map(|reason| ("disk_full", reason)).into_iter().collect::<BTreeMap<_, _>>(),
        slowest_outcome_after_faults: seconds(slowest_ms.saturating_sub(experience.healed_ms)),
        process_starts: scene.target.fleet.starts(),
        seconds: experience.time.as_secs_f64(),
        payments_per_second: per_second(experience.settled, experience.time),
        overload,
        faults,
        ..Figures::default()
    };
    figures.count_history(&experience.history);
    figures.count_findings(&check(&experience.history, &dump, experience.answered_by_ms));
    Ok(figures)
}

/// Lets clients pay under faults until the plan is fulfilled, heals, and lets everybody ask to the end.
pub(super) async fn endure(stage: &Stage, lanes: &[Lane], plan: &Plan) -> Result<Experience> {
    let (give_up, deadline) = watch::channel(None);
    let sender = Arc::new(Sender::new(stage.scene.world.clone(), stage.urls.clone())?);
    let clients = Clients { sender: sender.clone(), deadline };
    let crowd = Arc::new(Crowd::new(clients, stage.scene.world.clone(), plan.seed));
    let started = Instant::now();
    let mut paying = crowd.open(plan.clients);
    let lanes = Lanes::start(&stage.scene, lanes, plan.seed);
    let mut shown = started;
    while started.elapsed() < plan.limit && plan.payments.is_none_or(|wanted| crowd.settled() < wanted) {
        sleep(POLL).await;
        if let Some(ended) = paying.try_join_next() {
            ended??;
        }
        if shown.elapsed() >= PROGRESS {
            shown = Instant::now();
            progress(stage, crowd.settled(), started.elapsed());
        }
    }
    let (time, settled) = (started.elapsed(), crowd.settled());
    lanes.heal().await;
    crowd.close();
    give_up.send_replace(Some(Instant::now() + PATIENCE));
    let healed_ms = sender.now_ms();
    let answered_by_ms = healed_ms + u64::try_from(PATIENCE.as_millis())?;
    finish(&mut paying).await?;
    Ok(Experience { history: crowd.take_history(), sender, healed_ms, answered_by_ms, time, settled })
}

async fn finish(paying: &mut JoinSet<Result<()>>) -> Result<()> {
    while let Some(ended) = paying.join_next().await {
        ended??;
    }
    Ok(())
}

/// Reads the ledger once nothing happens in it any more.
pub(super) async fn reckon(stage: &Stage) -> Result<Dump> {
    let mut ledger =
        postgres::connect(&stage.scene.owner_url).await.context("the database is gone after the faults")?;
    overload::wait_until_quiet(&ledger).await.context("payments go on although nobody pays any more")?;
    dump::read(&mut ledger, &stage.scene.world.openings()).await
}

fn progress(stage: &Stage, settled: u64, time: Duration) {
    let faults: u64 = stage.scene.counts.applied().values().sum();
    let pace = per_second(settled, time);
    println!("  {:>5.0} s  {settled:>7} outcomes, {pace:.0}/s, {faults} faults", time.as_secs_f64());
}

#[expect(clippy::cast_precision_loss, reason = "counts of a run are far below 2^52")]
fn per_second(count: u64, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

fn seconds(milliseconds: u64) -> f64 {
    Duration::from_millis(milliseconds).as_secs_f64()
}
