//! Everybody who pays: as many clients at once as the plan says, each with one wish after the other, and their history.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use tokio::task::JoinSet;

use super::habits::{Clients, Visit};
use super::history::Journey;
use super::world::{World, dice};

/// So many clients may be away at once; beyond that, somebody returns before anybody new comes. In a long run that is after
/// minutes, in a short one when the faults have stopped.
const AWAY: usize = 300;

/// The clients of a run and what they experienced.
pub(super) struct Crowd {
    clients: Clients,
    world: Arc<World>,
    seed: u64,
    next: AtomicU64,
    settled: AtomicU64,
    closing: AtomicBool,
    away: Mutex<Vec<Journey>>,
    history: Mutex<Vec<Journey>>,
}

impl Crowd {
    /// Nobody has come yet.
    pub(super) fn new(clients: Clients, world: Arc<World>, seed: u64) -> Self {
        Self {
            clients,
            world,
            seed,
            next: AtomicU64::new(0),
            settled: AtomicU64::new(0),
            closing: AtomicBool::new(false),
            away: Mutex::new(Vec::new()),
            history: Mutex::new(Vec::new()),
        }
    }

    /// Lets that many clients pay, until [`Self::close`] and everybody is done.
    pub(super) fn open(self: &Arc<Self>, clients: usize) -> JoinSet<Result<()>> {
        let mut running = JoinSet::new();
        for _ in 0..clients {
            let crowd = self.clone();
            running.spawn(async move { crowd.pay_on().await });
        }
        running
    }

    /// Nobody new comes; those who are away come back, and everybody asks on.
    pub(super) fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }

    /// Wishes whose outcome a client knows.
    pub(super) fn settled(&self) -> u64 {
        self.settled.load(Ordering::Relaxed)
    }

    /// Everything that happened so far.
    pub(super) fn take_history(&self) -> Vec<Journey> {
        std::mem::take(&mut *self.history.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn pay_on(&self) -> Result<()> {
        loop {
            let closing = self.closing.load(Ordering::Relaxed);
            if let Some(journey) = self.somebody_away(closing) {
                let journey = self.clients.come_back(journey, self.dice()).await?;
                self.note(journey);
            } else if closing {
                return Ok(());
            } else {
                let mut rng = self.dice();
                let wish = self.world.wish(&mut rng)?;
                match self.clients.visit(wish, rng).await? {
                    Visit::Over(journey) => self.note(journey),
                    Visit::Unfinished(journey) => self.away().push(journey),
                }
            }
        }
    }

    /// Whoever has been away the longest, if it is time.
    fn somebody_away(&self, closing: bool) -> Option<Journey> {
        let mut away = self.away();
        let due = if closing { !away.is_empty() } else { away.len() > AWAY };
        due.then(|| away.remove(0))
    }

    fn note(&self, journey: Journey) {
        if journey.settled_ms().is_some() {
            self.settled.fetch_add(1, Ordering::Relaxed);
        }
        self.history.lock().unwrap_or_else(PoisonError::into_inner).push(journey);
    }

    fn dice(&self) -> fastrand::Rng {
        dice(self.seed, self.next.fetch_add(1, Ordering::Relaxed))
    }

    fn away(&self) -> std::sync::MutexGuard<'_, Vec<Journey>> {
        self.away.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
