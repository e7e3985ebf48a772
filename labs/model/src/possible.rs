//! What can happen in a state. Every action that is possible is tried, so an order of events that can be is one that is checked.

use crate::database::{KEYS, Key, Nonce};
use crate::guards::Guard;
use crate::protocol::{Protocol, WORKERS};
use crate::state::{Place, State};
use crate::worker::Phase;

/// One thing that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The client sends a try to an idle worker.
    Ask(Key),
    /// A stranger sends a captured request to an idle worker.
    AskCaptured(Nonce),
    /// A worker sends its statement, and PostgreSQL begins it.
    Send(usize),
    /// PostgreSQL does a statement's next step.
    Proceed(Place),
    /// A worker hears what its statement says.
    Hear(usize),
    /// A worker's answer arrives.
    Tell(usize),
    /// Fault: a worker dies; in its place an idle one starts. Its statement runs on.
    Crash(usize),
    /// Fault: the answer is lost on the way.
    LoseAnswer(usize),
    /// Fault: the connection breaks. Its statement runs on, or has ended.
    Cut(usize),
    /// Fault: PostgreSQL rolls a statement back and says so.
    Refuse(usize),
    /// Fault: a statement has waited for a rival as long as it may.
    WaitInVain(usize),
    /// Fault: PostgreSQL restarts. What is not committed is gone, and so are all connections.
    Restart,
    /// PostgreSQL notices that nobody waits for a statement, and rolls it back.
    GiveUp(usize),
    /// The purge deletes a key's row.
    Purge(Key),
    /// Somebody pays in.
    TopUp,
}

impl Action {
    /// Whether it is one of those that are counted as faults.
    #[must_use]
    pub fn is_fault(self) -> bool {
        matches!(
            self,
            Self::Crash(_) | Self::LoseAnswer(_) | Self::Cut(_) | Self::Refuse(_) | Self::WaitInVain(_) | Self::Restart
        )
    }
}

impl Protocol {
    pub(crate) fn client_actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.workers.len() == WORKERS {
            return;
        }
        for (key, client) in state.clients.iter().enumerate() {
            let is_extra = client.is_content() || state.is_served(key);
            // The keys are alike: which of them comes first makes no difference.
            let comes_first = key == 0 || state.clients[key - 1].attempts > 0;
            if comes_first
                && client.attempts < self.limit()
                && (!is_extra || client.attempts > 0 && state.left.extra_attempts > 0)
            {
                actions.push(Action::Ask(key));
            }
            if client.attempts > 0 && state.left.captures > 0 {
                actions.push(Action::AskCaptured(Nonce { key, attempt: client.attempts }));
            }
        }
    }

    pub(crate) fn worker_actions(&self, state: &State, actions: &mut Vec<Action>) {
        let faulty = state.left.faults > 0;
        for (index, worker) in state.workers.iter().enumerate() {
            match &worker.phase {
                Phase::Ready(_) => actions.push(Action::Send(index)),
                Phase::Telling(_) => {
                    actions.push(Action::Tell(index));
                    if faulty {
                        actions.push(Action::LoseAnswer(index));
                    }
                    continue;
                }
                Phase::Waiting(session) => {
                    let early = !self.guards.stands(Guard::AnswerAfterCommit) && session.holds_account();
                    if session.reply().is_some() || early {
                        actions.push(Action::Hear(index));
                    }
                    if faulty {
                        actions.push(Action::Cut(index));
                    }
                    if faulty && session.reply().is_none() {
                        actions.push(Action::Refuse(index));
                        if state.waits(Place::Worker(index), session, &self.guards) {
                            actions.push(Action::WaitInVain(index));
                        }
                    }
                }
            }
            if faulty {
                actions.push(Action::Crash(index));
            }
        }
    }

    pub(crate) fn database_actions(&self, state: &State, actions: &mut Vec<Action>) {
        let mut locked = false;
        for (place, session) in state.sessions() {
            locked |= session.holds_account();
            if session.reply().is_none() && !state.waits(place, session, &self.guards) {
                actions.push(Action::Proceed(place));
            }
            if let Place::Orphan(index) = place {
                actions.push(Action::GiveUp(index));
            }
        }
        if state.left.faults > 0 && state.sessions().next().is_some() {
            actions.push(Action::Restart);
        }
        if state.left.purges > 0 {
            actions.extend((0..KEYS).filter(|key| state.database.has_key(*key)).map(Action::Purge));
        }
        if state.left.top_ups > 0 && !locked {
            actions.push(Action::TopUp);
        }
    }
}
