//! Everything at one moment.

use crate::client::Client;
use crate::database::{Call, Database, KEYS, Key, Nonce};
use crate::guards::Guards;
use crate::session::{Session, Statement, Step};
use crate::worker::{Phase, TRIES, Worker};

/// What may still happen besides the protocol itself. Finite, so that every path ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Left {
    /// A crash, a cut, a lost answer, a statement or a server that fails, a wait that is too long.
    pub faults: u8,
    /// Tries that a client sends beside a running one, or after its answer.
    pub extra_attempts: u8,
    /// Rows that the purge deletes.
    pub purges: u8,
    /// Deposits.
    pub top_ups: u8,
    /// Requests that a stranger captures and sends as well.
    pub captures: u8,
}

/// A request that a stranger sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Captured {
    /// Which one.
    pub nonce: Nonce,
    /// The stranger got 200 or 402 for it.
    pub served: bool,
}

/// Everything at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// What is committed.
    pub database: Database,
    /// The processes that have a call, in order of the calls: which process it is makes no difference.
    pub workers: Vec<Worker>,
    /// Statements that run although nobody waits for them any more, in order.
    pub orphans: Vec<Session>,
    /// One client for each key.
    pub clients: [Client; KEYS],
    /// What a stranger sent.
    pub captured: Option<Captured>,
    /// What may still happen.
    pub left: Left,
}

/// A running statement: of a worker, or the n-th that nobody waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Of that worker.
    Worker(usize),
    /// An orphan.
    Orphan(usize),
}

impl State {
    /// The beginning.
    #[must_use]
    pub fn new(balance: i8, left: Left) -> Self {
        Self {
            database: Database::new(balance),
            workers: Vec::new(),
            orphans: Vec::new(),
            clients: [Client::default(); KEYS],
            captured: None,
            left,
        }
    }

    /// The statement of that place.
    #[must_use]
    pub fn session(&self, place: Place) -> Option<&Session> {
        match place {
            Place::Orphan(index) => self.orphans.get(index),
            Place::Worker(index) => self.workers.get(index)?.session(),
        }
    }

    /// All running statements.
    pub fn sessions(&self) -> impl Iterator<Item = (Place, &Session)> {
        let orphans = self.orphans.iter().enumerate().map(|(index, session)| (Place::Orphan(index), session));
        let heard = self.workers.iter().enumerate();
        heard
            .filter_map(|(index, worker)| worker.session().map(|session| (Place::Worker(index), session)))
            .chain(orphans)
    }

    /// Whether a worker serves a try of the client's own.
    #[must_use]
    pub fn is_served(&self, key: Key) -> bool {
        self.workers.iter().any(|worker| worker.call.nonce.key == key && !worker.call.stranger)
    }

    /// Whether that statement cannot go on before another one ends.
    #[must_use]
    pub fn waits(&self, place: Place, session: &Session, guards: &Guards) -> bool {
        self.sessions().any(|(other, rival)| other != place && session.waits_for(rival, &self.database, guards))
    }

    /// An idle worker receives a request.
    pub fn receive(&mut self, call: Call) {
        let place = self.workers.partition_point(|other| other.call < call);
        self.workers.insert(place, Worker::new(call));
    }

    /// Nobody waits for the statement any more; unless it is over, it runs on.
    pub fn abandon(&mut self, session: Session) {
        if session.reply().is_none() {
            let place = self.orphans.partition_point(|other| *other < session);
            self.orphans.insert(place, session);
        }
    }

    /// How much can still happen: less after every action, so there is no way round in circles.
    #[must_use]
    pub fn fuel(&self, limit: u8) -> u32 {
        let Left { faults, extra_attempts, purges, top_ups, captures } = self.left;
        let budgets = u32::from(faults + extra_attempts + purges + top_ups + captures);
        let attempts: u32 = self.clients.iter().map(|client| u32::from(limit.saturating_sub(client.attempts))).sum();
        let workers: u32 = self.workers.iter().map(Worker::fuel).sum();
        let orphans: u32 = self.orphans.iter().map(Session::fuel).sum();
        (budgets + attempts) * 100 + workers + orphans
    }
}

impl Session {
    fn fuel(&self) -> u32 {
        match self.step {
            Step::Begun => 4,
            Step::Admitted => 3,
            Step::Written(_) => 2,
            Step::Ended(_) => 1,
        }
    }
}

impl Worker {
    /// The statement that it waits for.
    #[must_use]
    pub fn session(&self) -> Option<&Session> {
        if let Phase::Waiting(session) = &self.phase { Some(session) } else { None }
    }

    fn fuel(&self) -> u32 {
        let phase = match &self.phase {
            Phase::Ready(Statement::Claim) => 20,
            Phase::Waiting(session) if session.statement == Statement::Claim => 14 + session.fuel(),
            Phase::Ready(Statement::Look(_)) => 12,
            Phase::Waiting(session) => 4 + session.fuel(),
            Phase::Telling(_) => 1,
        };
        phase + 30 * u32::from(TRIES - self.try_number)
    }
}
