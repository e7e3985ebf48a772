//! The faults: lanes that strike side by side, each with dice of its own from the run's seed.
//!
//! A strike that could not be carried out, because another one was in its way, counts as none of its kind.

mod database;
mod duties;
mod network;
mod processes;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::target::Target;
use super::world::{World, dice};
use crate::stack::postgres::Postgres;
use crate::stack::small_disk::SmallDisk;
use crate::stack::toxiproxy::Toxiproxy;

pub(super) use network::{Decks, Side, Ways};

/// What a lane does again and again.
#[derive(Clone, Copy)]
pub(super) enum Strike {
    /// SIGKILL to a process that serves.
    Kill,
    /// SIGSTOP, and SIGCONT a while later.
    Freeze,
    /// `pg_terminate_backend` on sessions of the functions.
    Terminate,
    /// PostgreSQL's immediate shutdown, and recovery.
    Crash,
    /// A toxic on one of the ways, under that name.
    Network(Side, &'static str),
    /// A transaction that holds an account's lock for longer than a payment waits.
    Lock,
    /// Sessions that leave no room for another one.
    Crowd,
    /// A file system without a free byte.
    FullDisk,
    /// Keys made old, and the purge.
    Purge,
    /// The next version of a tenant's signing key, and the end of the one before.
    RotateSecret,
    /// Another master secret comes first, and every process starts anew with it.
    RotateMaster,
    /// The function `migrate`.
    Migrate,
    /// Another number of slots for an account's balance.
    Split,
    /// Money for an account that ran out of it. No fault, but it must not get lost either.
    TopUp,
}

/// A strike, and the pause before each in milliseconds.
pub(super) type Lane = (Strike, Range<u64>);

/// Everything at once, at the pace of a long run.
pub(super) const ALL: &[Lane] = &[
    (Strike::Kill, 800..2_500),
    (Strike::Freeze, 1_000..4_000),
    (Strike::Terminate, 1_000..3_000),
    (Strike::Crash, 12_000..25_000),
    (Strike::Network(Side::Client, "first"), 300..1_500),
    (Strike::Network(Side::Client, "second"), 1_000..4_000),
    (Strike::Network(Side::Database, "first"), 800..2_500),
    (Strike::Network(Side::Database, "second"), 2_000..5_000),
    (Strike::Lock, 1_500..5_000),
    (Strike::Crowd, 8_000..15_000),
    (Strike::FullDisk, 10_000..20_000),
    (Strike::Purge, 500..1_500),
    (Strike::RotateSecret, 2_000..5_000),
    (Strike::RotateMaster, 15_000..25_000),
    (Strike::Migrate, 2_000..6_000),
    (Strike::Split, 1_000..3_000),
    (Strike::TopUp, 200..800),
];

/// What a counter-example meets.
pub(super) const FEW: &[Lane] = &[
    (Strike::Kill, 600..1_200),
    (Strike::Terminate, 200..600),
    (Strike::Network(Side::Client, "first"), 50..300),
    (Strike::TopUp, 200..800),
];

/// How often each kind of fault was applied, and how many strikes were not carried out.
#[derive(Default)]
pub(super) struct Counts {
    applied: Mutex<BTreeMap<&'static str, u64>>,
    not_carried_out: AtomicU64,
}

impl Counts {
    /// One more, or several.
    pub(super) fn add(&self, kind: &'static str, times: u64) {
        *self.applied.lock().unwrap_or_else(PoisonError::into_inner).entry(kind).or_default() += times;
    }

    /// Every kind.
    pub(super) fn applied(&self) -> BTreeMap<&'static str, u64> {
        self.applied.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Strikes of any kind that something was in the way of.
    pub(super) fn not_carried_out(&self) -> u64 {
        self.not_carried_out.load(Relaxed)
    }

    fn add_not_carried_out(&self) {
        self.not_carried_out.fetch_add(1, Relaxed);
    }
}

/// Kinds that a run on this scene can apply.
pub(super) fn kinds(disk: bool) -> Vec<&'static str> {
    let mut kinds = vec![
        "process_killed",
        "process_frozen",
        "backend_terminated",
        "database_crashed",
        "lock_held",
        "connection_limit_reached",
        "purge_run",
        "key_purged",
        "secret_rotated",
        "master_secret_rotated",
        "migrated",
        "slots_changed",
        "clock_skewed",
    ];
    if disk {
        kinds.push(database::DISK_FULL);
    }
    kinds.extend(network::kinds());
    kinds
}

/// What the faults are applied to.
pub(super) struct Scene {
    pub(super) target: Arc<Target>,
    pub(super) world: Arc<World>,
    /// The ledger's owner's URL, past the broken network.
    pub(super) owner_url: String,
    /// The functions' URL, past the broken network.
    pub(super) app_url: String,
    pub(super) toxiproxy: Toxiproxy,
    /// One fault at a time stops the server or fills its disk: it could not recover without room.
    pub(super) postgres: tokio::sync::Mutex<Postgres>,
    /// Where the ledger lies, if it could be laid on a small file system.
    pub(super) disk: Option<SmallDisk>,
    pub(super) counts: Counts,
    pub(super) decks: Decks,
    /// The version of each tenant's signing key.
    pub(super) versions: tokio::sync::Mutex<Vec<i32>>,
}

/// Running lanes.
pub(super) struct Lanes {
    stop: watch::Sender<bool>,
    running: JoinSet<()>,
}

impl Lanes {
    /// Lets every lane strike from now on.
    pub(super) fn start(scene: &Arc<Scene>, lanes: &[Lane], seed: u64) -> Self {
        let (stop, stopped) = watch::channel(false);
        let mut running = JoinSet::new();
        for (number, (strike, pause)) in (0..).zip(lanes.iter().cloned()) {
            // Lanes' dice are far from those of the clients, which count from 0 on.
            let rng = dice(seed, u64::MAX / 2 + number);
            running.spawn(strike_on(scene.clone(), strike, pause, rng, stopped.clone()));
        }
        Self { stop, running }
    }

    /// Ends the faults: returns when the last one is healed.
    pub(super) async fn heal(self) {
        self.stop.send_replace(true);
        self.running.join_all().await;
    }
}

async fn strike_on(
    scene: Arc<Scene>,
    strike: Strike,
    pause: Range<u64>,
    mut rng: fastrand::Rng,
    mut stopped: watch::Receiver<bool>,
) {
    loop {
        let pause = Duration::from_millis(rng.u64(pause.clone()));
        if tokio::time::timeout(pause, stopped.wait_for(|stop| *stop)).await.is_ok() {
            return;
        }
        // Strikes hit each other too: what fails because of that is only not counted.
        if scene.apply(strike, &mut rng).await.is_err() {
            scene.counts.add_not_carried_out();
        }
    }
}

impl Scene {
    async fn apply(&self, strike: Strike, rng: &mut fastrand::Rng) -> Result<()> {
        match strike {
            Strike::Kill => processes::kill(self, rng),
            Strike::Freeze => processes::freeze(self, rng),
            Strike::Terminate => database::terminate(self, rng).await,
            Strike::Crash => database::crash(self).await,
            Strike::Network(side, lane) => network::strike(self, side, lane, rng).await,
            Strike::Lock => database::hold_lock(self, rng).await,
            Strike::Crowd => database::crowd(self, rng).await,
            Strike::FullDisk => database::fill_disk(self, rng).await,
            Strike::Purge => duties::purge(self, rng).await,
            Strike::RotateSecret => duties::rotate_secret(self, rng).await,
            Strike::RotateMaster => duties::rotate_master(self).await,
            Strike::Migrate => duties::migrate(self).await,
            Strike::Split => duties::split(self, rng).await,
            Strike::TopUp => duties::top_up(self, rng).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_carried_out_is_no_kind_of_fault() {
        let counts = Counts::default();
        counts.add("process_killed", 2);
        counts.add_not_carried_out();
        assert_eq!(counts.applied(), BTreeMap::from([("process_killed", 2)]));
        assert_eq!(counts.not_carried_out(), 1);
    }
}
