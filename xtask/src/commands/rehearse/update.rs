//! A new version of the stack while clients pay: a rotated master secret, another log level, the same money.
//!
//! The clients retry with the same key until they hear 200, as their duty is; every third payment they hang up early first.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Serialize;
use tokio::task::JoinSet;
use tokio_postgres::Client;
use uuid::Uuid;

use super::BALANCE;
use super::deployment::{ALIASED, Deployment, Resources, Version};
use super::gateway::{AMOUNT, Gateway, Payer};
use super::verdict::Verdict;
use crate::fixtures::{self, Tenant};

const CLIENTS: usize = 2;
/// Payments of each client before the update begins and after it has ended.
const AROUND: usize = 5;
/// Shorter than any answer takes, longer than a request is on its way.
const HANG_UP: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_mins(1);
const PAUSE: Duration = Duration::from_millis(100);

/// What the clients met.
#[derive(Default, Serialize)]
pub(super) struct Figures {
    payments: usize,
    during_the_update: usize,
    attempts: usize,
    hung_up: usize,
    replayed: usize,
    answers_other_than_200: usize,
}

/// One client's payments.
#[derive(Default)]
struct Story {
    ids: Vec<Uuid>,
    figures: Figures,
}

/// Where the update stands, for the clients.
#[derive(Default)]
struct Phase {
    begun: AtomicBool,
    over: AtomicBool,
}

/// Deploys `next` over the stack while clients pay from `tenant`'s account, which nobody else uses.
pub(super) async fn run(
    deployment: &Deployment<'_>,
    resources: &Resources,
    next: &Version,
    payers: Payers<'_>,
    ledger: &Client,
    verdict: &mut Verdict,
) -> Result<()> {
    let before = deployment.versions(resources).await?;
    let phase = Arc::new(Phase::default());
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        clients.spawn(pay_all_along(payers.payer()?, phase.clone()));
    }
    phase.begun.store(true, Ordering::Relaxed);
    let deployed = deployment.deploy(next).await;
    phase.over.store(true, Ordering::Relaxed);
    let mut stories = Vec::new();
    while let Some(story) = clients.join_next().await {
        stories.push(story.context("a client broke off")??);
    }
    deployed?;
    let after = deployment.versions(resources).await?;
    let moved = before.iter().zip(&after).filter(|(before, after)| before != after).count();
    verdict.note("aliases that lead to a new version", moved, moved == ALIASED.len());
    settle(&stories, payers.tenant, ledger, verdict).await
}

/// The clients of one tenant.
pub(super) struct Payers<'a> {
    pub(super) gateway: &'a Gateway,
    pub(super) master_secret: &'static str,
    pub(super) tenant: &'a Tenant<'a>,
}

impl Payers<'_> {
    fn payer(&self) -> Result<Payer> {
        Payer::new(self.gateway, self.master_secret, self.tenant)
    }
}

async fn pay_all_along(payer: Payer, phase: Arc<Phase>) -> Result<Story> {
    let mut story = Story::default();
    let mut left = AROUND;
    while left > 0 {
        let hang_up = story.ids.len() % 3 == 0;
        let id = pay_until_heard(&payer, hang_up, &mut story.figures).await?;
        story.ids.push(id);
        if phase.over.load(Ordering::Relaxed) {
            left -= 1;
        } else if phase.begun.load(Ordering::Relaxed) {
            story.figures.during_the_update += 1;
        }
    }
    Ok(story)
}

/// One payment: the same key until a 200 is heard.
async fn pay_until_heard(payer: &Payer, mut hang_up: bool, figures: &mut Figures) -> Result<Uuid> {
    let key = Uuid::new_v4().to_string();
    let deadline = Instant::now() + PATIENCE;
    figures.payments += 1;
    while Instant::now() < deadline {
        figures.attempts += 1;
        if std::mem::take(&mut hang_up) {
            // Unheard, whatever the answer was: it may have been made all the same.
            let unheard = tokio::time::timeout(HANG_UP, payer.pay(&key)).await.is_err();
            figures.hung_up += usize::from(unheard);
            continue;
        }
        match payer.pay(&key).await {
            Ok(answer) if answer.status == 200 => {
                figures.replayed += usize::from(answer.replayed);
                return answer.payment_id().context("a 200 names no payment");
            }
            _ => figures.answers_other_than_200 += 1,
        }
        tokio::time::sleep(PAUSE).await;
    }
    bail!("a client retried for {PATIENCE:?} and heard no 200")
}

/// Asks the database: every payment that a client heard of is there, no other is, and each was debited once.
async fn settle(stories: &[Story], tenant: &Tenant<'_>, ledger: &Client, verdict: &mut Verdict) -> Result<()> {
    let heard: HashSet<Uuid> = stories.iter().flat_map(|story| story.ids.iter().copied()).collect();
    let rows = ledger.query("SELECT id FROM payments WHERE account_id = $1", &[&tenant.account]).await?;
    let kept = rows.iter().map(|row| row.try_get(0)).collect::<Result<HashSet<Uuid>, _>>()?;
    let total = |of: fn(&Figures) -> usize| stories.iter().map(|story| of(&story.figures)).sum::<usize>();
    let figures = Figures {
        payments: total(|figures| figures.payments),
        during_the_update: total(|figures| figures.during_the_update),
        attempts: total(|figures| figures.attempts),
        hung_up: total(|figures| figures.hung_up),
        replayed: total(|figures| figures.replayed),
        answers_other_than_200: total(|figures| figures.answers_other_than_200),
    };
    verdict.note("payments that ended during the update", figures.during_the_update, figures.during_the_update > 0);
    verdict.note("answers lost and fetched by a replay", figures.replayed, figures.replayed > 0);
    let lost = heard.difference(&kept).count();
    verdict.note("payments that a client heard of and the ledger lacks", lost, lost == 0);
    let surplus = kept.difference(&heard).count() + figures.payments.abs_diff(heard.len());
    verdict.note("payments beyond one for each key", surplus, surplus == 0);
    let debited = BALANCE - fixtures::balance(ledger, tenant.account).await?;
    let expected = AMOUNT * i64::try_from(figures.payments)?;
    verdict.note("minor units debited too much or too little", debited - expected, debited == expected);
    verdict.update = Some(figures);
    Ok(())
}
