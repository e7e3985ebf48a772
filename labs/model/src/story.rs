//! A path in words, one line for each step. `A2` is the call that serves the second try of key A; `A2'` is the same bytes,
//! sent by a stranger.

use std::fmt;

use crate::database::{Call, Key, Outcome};
use crate::guards::Guards;
use crate::possible::Action;
use crate::session::{Reply, Session, Statement, Step};
use crate::state::{Place, State};
use crate::worker::{Answer, Phase, Worker};

/// What happened, and what it led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Story {
    /// One line for each step.
    pub steps: Vec<String>,
    /// What is committed, and what clients were told.
    pub end: String,
}

impl Story {
    /// Tells a path: each state with the action that was taken in it, and the last state without one.
    #[must_use]
    pub fn of(path: &[(State, Option<Action>)], guards: &Guards) -> Self {
        let steps = path
            .windows(2)
            .filter_map(|pair| pair[0].1.map(|action| step(&pair[0].0, action, &pair[1].0, guards)))
            .collect();
        Self { steps, end: path.last().map(|(state, _)| end(state)).unwrap_or_default() }
    }
}

impl fmt::Display for Story {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.steps.iter().enumerate() {
            writeln!(formatter, "{:4}. {step}", index + 1)?;
        }
        write!(formatter, "      => {}", self.end)
    }
}

fn step(before: &State, action: Action, after: &State, guards: &Guards) -> String {
    let who = |index: usize| name(before.workers[index].call);
    match action {
        Action::Ask(key) => format!("client {} sends try {}", letter(key), after.clients[key].attempts),
        Action::AskCaptured(nonce) => {
            format!("a stranger sends the bytes of {} again", name(Call { nonce, stranger: false }))
        }
        Action::Send(index) => sends(&before.workers[index], &after.workers[index]),
        Action::Proceed(place) => proceeds(before, place, guards),
        Action::Hear(index) => format!("{} hears it", who(index)),
        Action::Tell(index) => tells(&before.workers[index]),
        Action::Crash(index) => format!("FAULT: the worker of {} crashes", who(index)),
        Action::LoseAnswer(index) => format!("FAULT: the answer of {} is lost", who(index)),
        Action::Cut(index) => format!("FAULT: the database connection of {} breaks", who(index)),
        Action::Refuse(index) => format!("FAULT: PostgreSQL rolls the statement of {} back", who(index)),
        Action::WaitInVain(index) => format!("FAULT: the statement of {} has waited too long", who(index)),
        Action::Restart => "FAULT: PostgreSQL restarts".to_owned(),
        Action::GiveUp(index) => {
            format!("the abandoned statement of {} is rolled back", name(before.orphans[index].call))
        }
        Action::Purge(key) => format!("the purge deletes the row of key {}", letter(key)),
        Action::TopUp => format!("somebody pays in; balance {}", after.database.balance),
    }
}

fn sends(before: &Worker, after: &Worker) -> String {
    let again = if before.try_number > 1 { " again" } else { "" };
    let what = match before.phase {
        Phase::Ready(Statement::Look(_)) => "a second look",
        _ => "the claim",
    };
    let sees = after.session().and_then(|session| session.snapshot.settled).map_or("no payment", outcome);
    format!("{} sends {what}{again}; its snapshot sees: {sees}", name(before.call))
}

fn proceeds(before: &State, place: Place, guards: &Guards) -> String {
    let Some(session) = before.session(place) else { return String::new() };
    let call = match place {
        Place::Worker(_) => name(session.call),
        Place::Orphan(_) => format!("{}, abandoned", name(session.call)),
    };
    let (mut now, mut after) = (*session, before.database.clone());
    now.proceed(&mut after, guards);
    match now.step {
        Step::Begun | Step::Admitted => format!("{call}: the nonce is its own"),
        Step::Written(written) => {
            let early = if before.database.keys == after.keys { "" } else { "; the claim alone is committed" };
            format!("{call}: holds key and account, writes \"{}\"{early}", outcome(written.outcome))
        }
        Step::Ended(reply) => {
            let committed = before.database.payments.len() < after.payments.len();
            let balance = if committed { format!("; committed, balance {}", after.balance) } else { String::new() };
            format!("{call}: {}{balance}", says(session, reply))
        }
    }
}

fn says(session: &Session, reply: Reply) -> String {
    match reply {
        Reply::Created(what) => format!("row \"created, {}\"", outcome(what)),
        Reply::Found(what) => format!("row \"found, {}\"", outcome(what)),
        Reply::Nothing if session.statement == Statement::Claim => "no row: the key is taken".to_owned(),
        Reply::Nothing => "no row: nothing found".to_owned(),
        Reply::NonceReused => "row \"nonce_reused\"".to_owned(),
        Reply::Duplicate => "ERROR 23505 on payments_pkey, rolled back".to_owned(),
        Reply::WaitedInVain => "ERROR 55P03, rolled back".to_owned(),
        Reply::TryAgain => "ERROR 40001, rolled back".to_owned(),
    }
}

fn tells(worker: &Worker) -> String {
    let answer = match worker.phase {
        Phase::Telling(Answer::Settled(Outcome::Succeeded)) => "200",
        Phase::Telling(Answer::Settled(Outcome::Declined)) => "402",
        Phase::Telling(Answer::Failed) => "\"failed, nothing happened\"",
        Phase::Telling(Answer::NonceReused) => "401 nonce_reused",
        Phase::Telling(Answer::Busy) => "409",
        _ => "503",
    };
    let whom = if worker.call.stranger {
        "the stranger".to_owned()
    } else {
        format!("client {}", letter(worker.call.nonce.key))
    };
    format!("{} tells {whom}: {answer}", name(worker.call))
}

fn end(state: &State) -> String {
    let payments: Vec<_> = state
        .database
        .payments
        .iter()
        .map(|payment| format!("{} {}", letter(payment.key), outcome(payment.outcome)))
        .collect();
    let keys: Vec<_> = state.database.keys.iter().map(|row| letter(row.key).to_string()).collect();
    let told: Vec<_> = state
        .clients
        .iter()
        .enumerate()
        .flat_map(|(key, client)| {
            [(client.told_succeeded, "200"), (client.told_declined, "402"), (client.told_failed, "failed")]
                .into_iter()
                .filter(|(told, _)| *told)
                .map(move |(_, what)| format!("{} {what}", letter(key)))
        })
        .collect();
    let list = |items: &[String]| if items.is_empty() { "none".to_owned() } else { items.join(", ") };
    format!(
        "payments: {}; key rows: {}; balance {}; told: {}",
        list(&payments),
        list(&keys),
        state.database.balance,
        list(&told)
    )
}

fn name(call: Call) -> String {
    format!("{}{}{}", letter(call.nonce.key), call.nonce.attempt, if call.stranger { "'" } else { "" })
}

fn letter(key: Key) -> char {
    if key == 0 { 'A' } else { 'B' }
}

fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Succeeded => "succeeded",
        Outcome::Declined => "declined",
    }
}
