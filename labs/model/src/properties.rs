//! What must hold: the promise in terms of what clients were told and what is committed; and the moments that a check must
//! have seen before its silence means anything.

use stateright::Property;

use crate::client::Client;
use crate::database::{AMOUNT, Database, KEYS, Key, Outcome};
use crate::protocol::Protocol;
use crate::session::{Reply, Statement, Step, Why};
use crate::state::State;
use crate::worker::{Answer, Phase};

/// A key's money moves at most once.
pub const NO_DOUBLE_DEBIT: &str = "no key is debited twice";
/// Balance = start + deposits - payments, and not below zero.
pub const NO_DRIFT: &str = "the balance adds up and is not negative";
/// What a client was told is what is committed.
pub const TRUTH: &str = "an answer told is the truth";
/// All final answers of a key are the same.
pub const ONE_ANSWER: &str = "no key has two answers";
/// No key is claimed without a payment, unless somebody is still making it.
pub const NO_BURNT_KEY: &str = "no key is burnt";
/// `nonce_reused` is said only to another call than the one that has the nonce.
pub const OWN_NONCE: &str = "no call is refused its own nonce";
/// A captured request is worth nothing once the client's own was served, and the other way round.
pub const ONE_USE: &str = "the same bytes are served once";
/// A live race is decided without 23505: that takes a purge in the middle.
pub const NO_ERROR: &str = "a race without a purge raises no error";
/// Without a fault every call ends with a final answer.
pub const NOT_SENT_AWAY: &str = "nobody is sent away without a fault";
/// Whoever keeps asking gets a final answer, once the faults are over.
pub const FINAL: &str = "every client gets its final answer";

/// All properties.
#[must_use]
pub fn all() -> Vec<Property<Protocol>> {
    let mut all = promises();
    all.extend(moments());
    all
}

fn promises() -> Vec<Property<Protocol>> {
    vec![
        Property::always(NO_DOUBLE_DEBIT, |_, state: &State| (0..KEYS).all(|key| debits(&state.database, key) <= 1)),
        Property::always(NO_DRIFT, |protocol: &Protocol, state: &State| {
            let deposits = amount(usize::from(protocol.left.top_ups - state.left.top_ups));
            let paid = amount((0..KEYS).map(|key| debits(&state.database, key)).sum());
            let Database { balance, .. } = state.database;
            balance >= 0 && balance == protocol.balance + deposits - paid
        }),
        Property::always(TRUTH, |_, state: &State| {
            each_client(state, |key, client| is_true(&state.database, key, client))
        }),
        Property::always(ONE_ANSWER, |_, state: &State| {
            each_client(state, |_, client| {
                [client.told_succeeded, client.told_declined, client.told_failed].iter().filter(|told| **told).count()
                    <= 1
            })
        }),
        Property::always(NO_BURNT_KEY, |_, state: &State| {
            state.database.keys.iter().all(|row| {
                let in_hand = |step| matches!(step, Step::Written(written) if written.id == row.payment);
                state.database.payment(row.payment).is_some()
                    || state.sessions().any(|(_, session)| in_hand(session.step))
            })
        }),
        Property::always(OWN_NONCE, |_, state: &State| {
            state.workers.iter().all(|worker| {
                worker.phase != Phase::Telling(Answer::NonceReused)
                    || state.database.owner(worker.call.nonce) != Some(worker.call)
            })
        }),
        Property::always(ONE_USE, |_, state: &State| {
            state.captured.is_none_or(|captured| {
                !(captured.served && state.clients[captured.nonce.key].was_served(captured.nonce.attempt))
            })
        }),
        Property::always(NO_ERROR, |protocol: &Protocol, state: &State| {
            state.left.purges < protocol.left.purges
                || state.sessions().all(|(_, session)| session.reply() != Some(Reply::Duplicate))
        }),
        Property::always(NOT_SENT_AWAY, |protocol: &Protocol, state: &State| {
            state.left.faults < protocol.left.faults
                || state
                    .workers
                    .iter()
                    .all(|worker| !matches!(worker.phase, Phase::Telling(Answer::Busy | Answer::Unavailable)))
        }),
        // Once content, a client stays so, and no path goes in circles (`State::fuel`): a path on which it never holds
        // ends in a state that shows it. So the checker's blind spot for joining paths does not matter here.
        Property::eventually(FINAL, |_, state: &State| each_client(state, |_, client| client.is_content())),
    ]
}

/// Moments that are worth nothing as such. A check that never reached them would have shown nothing.
fn moments() -> Vec<Property<Protocol>> {
    vec![
        Property::sometimes("a 200 is lost: paid, nobody at work, the client not told", |_, state: &State| {
            some_client(state, |key, client| {
                debits(&state.database, key) == 1 && !client.is_content() && !state.is_served(key)
            })
        }),
        Property::sometimes("a race is lost", |_, state: &State| any_ready(state, Statement::Look(Why::NoRow))),
        Property::sometimes("a commit is ambiguous: a call asks again what it has paid", |_, state: &State| {
            state.workers.iter().any(|worker| {
                worker.phase == Phase::Ready(Statement::Claim)
                    && worker.try_number > 1
                    && state.database.owner(worker.call.nonce) == Some(worker.call)
                    && debits(&state.database, worker.call.nonce.key) == 1
            })
        }),
        Property::sometimes("a statement runs on beside its own second try", |_, state: &State| {
            state.workers.iter().any(|worker| {
                worker.session().is_some() && state.orphans.iter().any(|orphan| orphan.call == worker.call)
            })
        }),
        Property::sometimes("a purged key is asked for again and found", |_, state: &State| {
            state.sessions().any(|(_, session)| {
                matches!(session.reply(), Some(Reply::Found(_))) && !state.database.has_key(session.call.nonce.key)
            })
        }),
        Property::sometimes("a purge in the middle of a race: 23505 on payments_pkey", |_, state: &State| {
            any_ready(state, Statement::Look(Why::Duplicate))
        }),
        Property::sometimes("a decline is repeated after a top-up", |protocol: &Protocol, state: &State| {
            state.left.top_ups < protocol.left.top_ups
                && state.database.balance >= AMOUNT
                && state.sessions().any(|(_, session)| session.reply() == Some(Reply::Found(Outcome::Declined)))
        }),
        Property::sometimes("a duplicate hears 409", |_, state: &State| any_telling(state, Answer::Busy)),
        Property::sometimes("a call gives up: 503", |_, state: &State| any_telling(state, Answer::Unavailable)),
        Property::sometimes("a captured request is refused", |_, state: &State| {
            state
                .workers
                .iter()
                .any(|worker| worker.call.stranger && worker.phase == Phase::Telling(Answer::NonceReused))
        }),
        Property::sometimes("a captured request came first, and the client's own is refused", |_, state: &State| {
            state
                .workers
                .iter()
                .any(|worker| !worker.call.stranger && worker.phase == Phase::Telling(Answer::NonceReused))
        }),
        Property::sometimes("both keys are settled, one paid and one declined", |_, state: &State| {
            let told = |told: fn(&Client) -> bool| state.clients.iter().any(told);
            told(|client| client.told_succeeded) && told(|client| client.told_declined)
        }),
    ]
}

/// How often a key's money has moved.
fn debits(database: &Database, key: Key) -> usize {
    database.payments_of(key).filter(|payment| payment.outcome == Outcome::Succeeded).count()
}

fn amount(times: usize) -> i8 {
    i8::try_from(times).unwrap_or(i8::MAX) * AMOUNT
}

fn is_true(database: &Database, key: Key, client: Client) -> bool {
    let stored = |outcome| database.payments_of(key).any(|payment| payment.outcome == outcome);
    (!client.told_succeeded || stored(Outcome::Succeeded))
        && (!client.told_declined || stored(Outcome::Declined))
        && (!client.told_failed || database.payments_of(key).next().is_none())
}

fn each_client(state: &State, holds: impl Fn(Key, Client) -> bool) -> bool {
    state.clients.iter().enumerate().all(|(key, client)| holds(key, *client))
}

fn some_client(state: &State, holds: impl Fn(Key, Client) -> bool) -> bool {
    state.clients.iter().enumerate().any(|(key, client)| holds(key, *client))
}

fn any_ready(state: &State, statement: Statement) -> bool {
    state.workers.iter().any(|worker| worker.phase == Phase::Ready(statement))
}

fn any_telling(state: &State, answer: Answer) -> bool {
    state.workers.iter().any(|worker| worker.phase == Phase::Telling(answer))
}
