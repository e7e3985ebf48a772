//! The whole, as the checker sees it: where it begins, and what each action leads to.

use stateright::{Model, Property};

use crate::database::{AMOUNT, Call, Key, Nonce};
use crate::guards::{Guard, Guards};
use crate::possible::Action;
use crate::properties;
use crate::session::{Reply, Session, Snapshot, Step};
use crate::state::{Captured, Left, Place, State};
use crate::worker::{Answer, Phase, Worker};

/// Processes of the function.
pub const WORKERS: usize = 3;

/// The model: a protocol, and how much may happen to it.
#[derive(Clone, Debug)]
pub struct Protocol {
    /// What keeps it right.
    pub guards: Guards,
    /// What is on the account at the start. A payment takes [`AMOUNT`]: with one of it, one of the two keys is declined.
    pub balance: i8,
    /// What may happen.
    pub left: Left,
}

impl Protocol {
    /// The most tries that a client can need: one, and one more for each thing that can spoil one. Who needs more will
    /// never be content.
    #[must_use]
    pub fn limit(&self) -> u8 {
        1 + self.left.faults + self.left.extra_attempts + self.left.captures
    }

    fn send(&self, state: &mut State, index: usize) {
        let worker = &mut state.workers[index];
        let Phase::Ready(statement) = worker.phase else { return };
        let now = Snapshot {
            settled: state.database.settled(worker.call.nonce.key, &self.guards),
            balance: (!self.guards.stands(Guard::LockedBalance)).then_some(state.database.balance),
        };
        let snapshot = worker.kept.unwrap_or(now);
        if !self.guards.stands(Guard::FreshSnapshot) {
            worker.kept = Some(snapshot);
        }
        let (call, try_number) = (worker.call, worker.try_number);
        worker.phase = Phase::Waiting(Session { call, try_number, statement, snapshot, step: Step::Begun });
    }

    fn proceed(&self, state: &mut State, place: Place) {
        match place {
            Place::Worker(index) => {
                if let Phase::Waiting(session) = &mut state.workers[index].phase {
                    session.proceed(&mut state.database, &self.guards);
                }
            }
            Place::Orphan(index) => {
                // Taken out and put back, so that they stay in order.
                let mut session = state.orphans.remove(index);
                session.proceed(&mut state.database, &self.guards);
                state.abandon(session);
            }
        }
    }

    fn hear(&self, state: &mut State, index: usize) {
        let worker = &mut state.workers[index];
        let Phase::Waiting(session) = worker.phase else { return };
        match session.step {
            Step::Ended(reply) => worker.hear(session.statement, reply, &self.guards),
            Step::Written(written) => {
                worker.phase = Phase::Telling(Answer::Settled(written.outcome));
                state.abandon(session);
            }
            Step::Begun | Step::Admitted => {}
        }
    }

    fn cut(&self, state: &mut State, index: usize) {
        let worker = &mut state.workers[index];
        let Phase::Waiting(session) = worker.phase else { return };
        worker.lose_connection(&self.guards);
        state.abandon(session);
    }

    fn restart(&self, state: &mut State) {
        state.orphans.clear();
        for worker in &mut state.workers {
            if worker.session().is_some() {
                worker.lose_connection(&self.guards);
            }
        }
    }
}

/// Ends a worker's statement with that reply, rolled back.
fn end(state: &mut State, index: usize, reply: Reply) {
    if let Phase::Waiting(session) = &mut state.workers[index].phase {
        session.step = Step::Ended(reply);
    }
}

fn tell(state: &mut State, index: usize) {
    let Worker { call, phase, .. } = state.workers.remove(index);
    let Phase::Telling(answer) = phase else { return };
    if !call.stranger {
        state.clients[call.nonce.key].hear(answer, call.nonce.attempt);
    } else if let (Some(captured), Answer::Settled(_)) = (&mut state.captured, answer) {
        captured.served = true;
    }
}

fn crash(state: &mut State, index: usize) {
    if let Phase::Waiting(session) = state.workers.remove(index).phase {
        state.abandon(session);
    }
}

fn ask(state: &mut State, key: Key) {
    let is_extra = state.clients[key].is_content() || state.is_served(key);
    state.left.extra_attempts -= u8::from(is_extra);
    state.clients[key].attempts += 1;
    let attempt = state.clients[key].attempts;
    state.receive(Call { nonce: Nonce { key, attempt }, stranger: false });
}

impl Model for Protocol {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::new(self.balance, self.left)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        self.client_actions(state, actions);
        self.worker_actions(state, actions);
        self.database_actions(state, actions);
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Ask(key) => ask(&mut state, key),
            Action::AskCaptured(nonce) => {
                state.left.captures -= 1;
                state.captured = Some(Captured { nonce, served: false });
                state.receive(Call { nonce, stranger: true });
            }
            Action::Send(index) => self.send(&mut state, index),
            Action::Proceed(place) => self.proceed(&mut state, place),
            Action::Hear(index) => self.hear(&mut state, index),
            Action::Tell(index) => tell(&mut state, index),
            Action::Crash(index) => crash(&mut state, index),
            Action::LoseAnswer(index) => drop(state.workers.remove(index)),
            Action::Cut(index) => self.cut(&mut state, index),
            Action::Refuse(index) => end(&mut state, index, Reply::TryAgain),
            Action::WaitInVain(index) => end(&mut state, index, Reply::WaitedInVain),
            Action::Restart => self.restart(&mut state),
            Action::GiveUp(index) => drop(state.orphans.remove(index)),
            Action::Purge(key) => {
                state.left.purges -= 1;
                state.database.purge(key);
            }
            Action::TopUp => {
                state.left.top_ups -= 1;
                state.database.balance += AMOUNT;
            }
        }
        state.left.faults -= u8::from(action.is_fault());
        debug_assert!(state.fuel(self.limit()) < last.fuel(self.limit()), "{action:?} costs nothing");
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}
