//! One call of the function, as the executor runs it: claim, second look, retries, and what the client is told.
//! Knows nothing of what is committed: only what its statements say.

use crate::database::{Call, Outcome};
use crate::guards::{Guard, Guards};
use crate::session::{Reply, Session, Snapshot, Statement, Why};

/// Tries of one call. The product has three where the database asks for another one; two show the same.
pub const TRIES: u8 = 2;

/// What the client is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// 200 or 402: final.
    Settled(Outcome),
    /// "Nothing happened, and nothing will": final. The protocol never says it; a flawed one does.
    Failed,
    /// 401 `nonce_reused`: sign anew.
    NonceReused,
    /// 409: a rival is still at work.
    Busy,
    /// 500 or 503: the outcome may be unknown.
    Unavailable,
}

/// What a worker is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// It is about to send a statement.
    Ready(Statement),
    /// It waits for what its statement says.
    Waiting(Session),
    /// It is about to answer.
    Telling(Answer),
}

/// A worker with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Worker {
    /// Whose request it serves.
    pub call: Call,
    /// The how many-th try this is.
    pub try_number: u8,
    /// What it is doing.
    pub phase: Phase,
    /// The snapshot that a flawed protocol keeps for the whole call.
    pub kept: Option<Snapshot>,
}

impl Worker {
    /// A worker that has just received a request.
    #[must_use]
    pub fn new(call: Call) -> Self {
        Self { call, try_number: 1, phase: Phase::Ready(Statement::Claim), kept: None }
    }

    /// It hears what its statement says.
    pub fn hear(&mut self, statement: Statement, reply: Reply, guards: &Guards) {
        self.phase = match (statement, reply) {
            (_, Reply::Created(outcome) | Reply::Found(outcome)) => Phase::Telling(Answer::Settled(outcome)),
            (_, Reply::NonceReused) => Phase::Telling(Answer::NonceReused),
            (Statement::Claim, Reply::Nothing) if !guards.stands(Guard::SecondLook) => {
                Phase::Telling(Answer::Settled(Outcome::Succeeded))
            }
            (Statement::Claim, Reply::Nothing) => Phase::Ready(Statement::Look(Why::NoRow)),
            (Statement::Claim, Reply::Duplicate) => Phase::Ready(Statement::Look(Why::Duplicate)),
            (Statement::Claim, Reply::WaitedInVain) => Phase::Ready(Statement::Look(Why::WaitedInVain)),
            (Statement::Look(Why::WaitedInVain), Reply::Nothing) | (Statement::Look(_), Reply::WaitedInVain) => {
                Phase::Telling(Answer::Busy)
            }
            (Statement::Look(Why::Duplicate), Reply::Nothing) => Phase::Telling(Answer::Unavailable),
            (Statement::Look(Why::NoRow), Reply::Nothing) | (_, Reply::TryAgain | Reply::Duplicate) => {
                return self.try_again();
            }
        };
    }

    /// Its connection is gone, and it does not know what became of the statement.
    pub fn lose_connection(&mut self, guards: &Guards) {
        if guards.stands(Guard::AskAgain) {
            self.try_again();
        } else {
            self.phase = Phase::Telling(Answer::Failed);
        }
    }

    /// The same claim again, on a connection that works; or the end of its patience.
    fn try_again(&mut self) {
        if self.try_number < TRIES {
            self.try_number += 1;
            self.phase = Phase::Ready(Statement::Claim);
        } else {
            self.phase = Phase::Telling(Answer::Unavailable);
        }
    }
}
