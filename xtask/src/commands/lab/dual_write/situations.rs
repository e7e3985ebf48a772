//! The five situations, the same for every subject, and what is counted in each.
//!
//! No subject has a hook for them: rows are locked, processes killed and commands paused from outside.

mod actor;
mod row_lock;

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use uuid::Uuid;

use self::actor::Actor;
use self::row_lock::RowLock;
use super::subjects::{Dies, Subject};
use crate::commands::lab::client::{AMOUNT, Client, Heard, Wish};
use crate::commands::lab::stage::{CLIENTS, STACK, View};
use crate::commands::slo::faults;
use crate::commands::slo::rounds::{self, BALANCE, Load};
use crate::fixtures::{self, Tenant};

/// How long a client goes on asking; longer than the short lock lives.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long to wait for a lock's end before it is taken for one that stays.
const LOCK_PATIENCE: Duration = Duration::from_millis(1_500);
/// Rounds of the load at most.
const MOST_ROUNDS: usize = 15;
const KEY_TTL_MS: u64 = 24 * 60 * 60 * 1000;
/// Stands for the day, so that nobody has to wait that long.
const SHORT_KEY_TTL_MS: u64 = 300;

/// Something that happens to a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Situation {
    /// Ten clients with one key through a network that cuts half of the connections.
    Load,
    /// The process dies between its two writes; the client retries.
    Crash,
    /// The payment waits in the database for longer than a lock lives; a duplicate comes.
    Slow,
    /// Redis starts anew without its data; the client retries.
    Loss,
    /// The key's time is over; the client retries.
    Expiry,
}

impl Situation {
    /// In the order in which they are shown.
    pub(super) const ALL: [Self; 5] = [Self::Load, Self::Crash, Self::Slow, Self::Loss, Self::Expiry];

    /// For a person.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Load => "10 at once, half cut",
            Self::Crash => "crash between the writes",
            Self::Slow => "slower than the lock",
            Self::Loss => "Redis loses its data",
            Self::Expiry => "after the key's TTL",
        }
    }
}

/// What was counted.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Cell {
    /// The situation.
    pub(super) situation: Situation,
    /// Debits of each key.
    pub(super) debits: Vec<i64>,
    /// Payment ids that the clients of one key were told, at most.
    pub(super) payment_ids: usize,
    /// Clients that never learned the outcome.
    pub(super) unanswered: u64,
    /// Tries that were answered "later" or not at all.
    pub(super) retries: u64,
}

impl Cell {
    /// The most debits of one key.
    pub(super) fn most(&self) -> i64 {
        self.debits.iter().copied().max().unwrap_or_default()
    }

    /// The fewest debits of one key.
    pub(super) fn fewest(&self) -> i64 {
        self.debits.iter().copied().min().unwrap_or_default()
    }
}

/// Where the situations take place.
pub(super) struct Theatre<'a> {
    pub(super) stage: &'a View<'a>,
    pub(super) tenant: &'a Tenant<'a>,
    pub(super) client: &'a Client,
    pub(super) rounds: u16,
}

impl Theatre<'_> {
    /// Puts the subject into each situation.
    pub(super) async fn play(&self, subject: &Subject) -> Result<Vec<Cell>> {
        let mut actor = Actor::start(self.stage, subject, KEY_TTL_MS).await?;
        let mut cells = Vec::new();
        for situation in Situation::ALL {
            let cell = match situation {
                Situation::Load => self.load(&actor, subject).await,
                Situation::Crash => self.crash(&mut actor, subject).await,
                Situation::Slow => self.slow(&actor).await,
                Situation::Loss => self.loss(&mut actor).await,
                Situation::Expiry => self.expiry(&mut actor).await,
            };
            let cell = cell.with_context(|| format!("{}: {}", subject.name, situation.name()))?;
            println!("  {:<26} debits of one key: {}", situation.name(), cell.most());
            cells.push(cell);
        }
        Ok(cells)
    }

    /// The SLO's own load.
    async fn load(&self, actor: &Actor<'_>, subject: &Subject) -> Result<Cell> {
        let url = faults::open(self.stage.toxiproxy, &Uuid::new_v4().to_string(), actor.port()).await?;
        let load = Load { k6: &self.stage.tools.slo.k6, logs: STACK, rounds: self.rounds, vus: CLIENTS };
        let ledger = &self.stage.stack.ledger;
        let (mut rounds, mut debits) = (Vec::new(), Vec::new());
        loop {
            let played = rounds::run(ledger, &load, &url).await?;
            actor.until_idle(ledger).await?;
            for round in &played {
                debits.push((BALANCE - fixtures::balance(ledger, round.account).await?) / AMOUNT);
            }
            rounds.extend(played);
            // A race is not lost every time: whoever is told to lose it gets further rounds, and all of them are shown.
            if !subject.loses_races() || debits.iter().any(|debits| *debits > 1) || rounds.len() >= MOST_ROUNDS {
                break;
            }
        }
        Ok(Cell {
            situation: Situation::Load,
            debits,
            payment_ids: rounds.iter().map(|round| round.payment_ids.len()).max().unwrap_or_default(),
            unanswered: rounds.iter().map(|round| u64::from(CLIENTS) - round.final_200).sum(),
            retries: rounds.iter().map(|round| round.attempts - u64::from(CLIENTS)).sum(),
        })
    }

    /// The process dies between its two writes; the product, which has one, dies while that one runs.
    async fn crash(&self, actor: &mut Actor<'_>, subject: &Subject) -> Result<Cell> {
        let wish = self.wish().await?;
        let ledger = &self.stage.stack.ledger;
        let sessions = actor.sessions();
        let mut victim = actor.victim().await?;
        let row = RowLock::take(&self.stage.stack.parts.database.owner_url(), wish.account).await?;
        let url = victim.base_url();
        let first = self.client.pay(&url, wish);
        let disaster = async {
            row.until_waiting(ledger, sessions, 1).await?;
            match subject.dies {
                Dies::AfterTheDatabase => {
                    victim.pause_redis_writes().await?;
                    row.release().await?;
                    self.until_payment(wish.account).await?;
                    victim.crash();
                }
                Dies::BeforeTheDatabase => {
                    victim.crash();
                    row.release().await?;
                }
                Dies::DuringTheStatement => {
                    victim.crash();
                    row.release().await?;
                    // PostgreSQL goes on without its client: this is the commit that nobody hears of.
                    self.until_payment(wish.account).await?;
                }
            }
            victim.resume_redis().await
        };
        let (first, disaster) = tokio::join!(first, disaster);
        disaster?;
        ensure!(first.is_err(), "the dead process answered {first:?}");
        victim.recover().await?;
        drop(victim);
        actor.until_idle(ledger).await?;
        let heard = self.client.pay_until_answered(&actor.base_url(), wish, PATIENCE).await;
        self.cell(Situation::Crash, wish, &[heard]).await
    }

    /// The first payment waits for the account's row until its lock is gone; then a duplicate comes.
    async fn slow(&self, actor: &Actor<'_>) -> Result<Cell> {
        let wish = self.wish().await?;
        let ledger = &self.stage.stack.ledger;
        let row = RowLock::take(&self.stage.stack.parts.database.owner_url(), wish.account).await?;
        let url = actor.base_url();
        let first = self.client.pay_until_answered(&url, wish, PATIENCE);
        let duplicate = async {
            row.until_waiting(ledger, actor.sessions(), 1).await?;
            actor.until_forgotten(&format!("lock:{}", wish.key), LOCK_PATIENCE).await?;
            let heard = self.client.pay_until_answered(&url, wish, PATIENCE);
            let release = async {
                // A duplicate that is refused or told of a payment never comes to wait: then there is nothing to wait for.
                row.until_waiting_for_at_most(ledger, actor.sessions(), 2, Duration::from_millis(300)).await?;
                row.release().await
            };
            let (heard, released) = tokio::join!(heard, release);
            released.map(|()| heard)
        };
        let (first, duplicate) = tokio::join!(first, duplicate);
        self.cell(Situation::Slow, wish, &[first, duplicate?]).await
    }

    /// Paid and answered; then Redis dies and comes back empty.
    async fn loss(&self, actor: &mut Actor<'_>) -> Result<Cell> {
        let wish = self.wish().await?;
        let first = self.client.pay_until_answered(&actor.base_url(), wish, PATIENCE).await;
        ensure!(first.is_settled(), "the first payment was answered {first:?}");
        actor.lose_redis().await?;
        let second = self.client.pay_until_answered(&actor.base_url(), wish, PATIENCE).await;
        self.cell(Situation::Loss, wish, &[first, second]).await
    }

    /// Paid and answered; then the key is too old to be kept.
    async fn expiry(&self, actor: &mut Actor<'_>) -> Result<Cell> {
        actor.shorten_memory(SHORT_KEY_TTL_MS).await?;
        let wish = self.wish().await?;
        let first = self.client.pay_until_answered(&actor.base_url(), wish, PATIENCE).await;
        ensure!(first.is_settled(), "the first payment was answered {first:?}");
        actor.outlive(wish).await?;
        let second = self.client.pay_until_answered(&actor.base_url(), wish, PATIENCE).await;
        self.cell(Situation::Expiry, wish, &[first, second]).await
    }

    /// A fresh key and a fresh account with enough for every duplicate to do damage.
    async fn wish(&self) -> Result<Wish> {
        let wish = Wish { account: Uuid::new_v4(), key: Uuid::new_v4() };
        fixtures::ensure_account(&self.stage.stack.ledger, self.tenant.id, wish.account, BALANCE).await?;
        Ok(wish)
    }

    async fn until_payment(&self, account: Uuid) -> Result<()> {
        let paid = "SELECT count(*) > 0 FROM payments WHERE account_id = $1";
        row_lock::until(&self.stage.stack.ledger, paid, &[&account]).await
    }

    async fn cell(&self, situation: Situation, wish: Wish, heard: &[Heard]) -> Result<Cell> {
        let debited = BALANCE - fixtures::balance(&self.stage.stack.ledger, wish.account).await?;
        let told = heard.iter().filter_map(|heard| heard.last.as_ref()?.payment);
        Ok(Cell {
            situation,
            debits: vec![debited / AMOUNT],
            payment_ids: told.collect::<std::collections::HashSet<_>>().len(),
            unanswered: heard.iter().filter(|heard| !heard.is_settled()).map(|_| 1).sum(),
            retries: heard.iter().map(|heard| u64::from(heard.retries)).sum(),
        })
    }
}
