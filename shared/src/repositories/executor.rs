//! What is the same for every idempotent operation: the second look after a lost race, the duplicate recognized by code
//! and constraint, the bounded wait for a rival, retries on a fresh connection, ambiguous commits, remaining time.
//! Knows no operation in particular.

use std::time::Duration;

use tokio_postgres::Row;

use crate::domain::Invocation;
use crate::ports::LedgerError;

use super::database::{Database, Statement};
use super::failure::{Failure, NextStep, RowError};

/// Tries of one call when the database asks for another one.
const TRIES: u32 = 3;
/// Tries of one call when connections get lost: the first, and one on a fresh connection.
const CONNECTIONS: u32 = 2;
/// The longest pause before the second try, in milliseconds; doubled for each further one.
const BACKOFF_MS: u64 = 20;

/// An operation that happens at most once: a statement that claims and acts in one step, and one that looks up what was done.
pub trait IdempotentOperation: Sync {
    /// What a row says.
    type Answer: Send;

    /// The unique constraints whose violation (23505) means that the operation was already done.
    const ALREADY_DONE: &'static [&'static str];

    /// Claims and acts in one statement; no row means that a live race was lost. It may be sent again at any time, so all of
    /// it must hang on the claim.
    fn claim(&self) -> Statement<'_>;

    /// The statement that decides what this row of the claim left undecided, and did without writing; `None` when the row
    /// says the end. It is sent once, and is a claim like the first.
    ///
    /// # Errors
    /// As [`answer`](Self::answer).
    fn exact_claim(&self, _undecided: &Row) -> Result<Option<Statement<'_>>, RowError> {
        Ok(None)
    }

    /// Whether the operation was probably settled before: then the look-up is sent first, and the claim only if that finds
    /// nothing. A hint; whatever it says, the answer is the same.
    fn is_probably_settled(&self) -> bool {
        false
    }

    /// Looks the settled operation up; no row means that there is none. Sent after the claim, so that its snapshot sees a rival.
    fn look_up(&self) -> Statement<'_>;

    /// The answer in a row of either statement.
    ///
    /// # Errors
    /// [`RowError`] when the row is not what the statements promise: a defect.
    fn answer(&self, row: &Row) -> Result<Self::Answer, RowError>;
}

/// The end of an idempotent operation.
#[derive(Debug, PartialEq, Eq)]
pub enum Settled<A> {
    /// It is done, by this call or another.
    Done(A),
    /// A rival held its lock for longer than the bounded wait, and left nothing to see.
    Busy,
}

/// Runs operations on a database.
#[derive(Clone, Debug)]
pub struct Executor {
    database: Database,
}

impl Executor {
    /// An executor on that database.
    #[must_use]
    pub fn new(database: Database) -> Self {
        Self { database }
    }

    /// Runs an idempotent operation to its end. Each try is the same claim again, so a commit whose answer was lost is
    /// found by the next try and not repeated.
    ///
    /// # Errors
    /// [`LedgerError`] when the outcome stays unknown within the invocation's time; the same operation, executed again, tells.
    pub async fn execute<O: IdempotentOperation>(
        &self,
        operation: &O,
        invocation: &Invocation,
    ) -> Result<Settled<O::Answer>, LedgerError> {
        let mut tries = 1;
        loop {
            let failure = match self.claim_or_look_up(operation, invocation).await {
                Ok(settled) => return Ok(settled),
                Err(failure) => failure,
            };
            if failure.leaves_outcome_open() {
                invocation.note_open_outcome();
            }
            self.prepare_next_try(failure, &mut tries, invocation).await?;
        }
    }

    /// Runs a statement that may be repeated freely.
    pub(super) async fn repeatable(
        &self,
        statement: Statement<'_>,
        invocation: &Invocation,
    ) -> Result<Vec<Row>, LedgerError> {
        let mut tries = 1;
        loop {
            let failure = match self.database.run(&statement, invocation).await {
                Ok(rows) => return Ok(rows),
                Err(failure) => failure,
            };
            self.prepare_next_try(failure, &mut tries, invocation).await?;
        }
    }

    async fn claim_or_look_up<O: IdempotentOperation>(
        &self,
        operation: &O,
        invocation: &Invocation,
    ) -> Result<Settled<O::Answer>, Failure> {
        if operation.is_probably_settled()
            && let Some(settled) = self.look_up(operation, invocation).await?
        {
            return Ok(settled);
        }
        let otherwise = match self.claim(operation, invocation).await {
            Ok(Some(row)) => return Ok(Settled::Done(operation.answer(&row)?)),
            Ok(None) => Err(Failure::RivalVanished),
            Err(failure) if failure.is_duplicate(O::ALREADY_DONE) => Err(failure),
            Err(failure) if failure.is_lock_timeout() => Ok(Settled::Busy),
            Err(failure) => return Err(failure),
        };
        invocation.count_lost_race();
        // The claim's snapshot is older than the rival's commit: only a fresh statement sees what the rival did.
        self.look_up(operation, invocation).await?.map_or(otherwise, Ok)
    }

    /// What was done before, if anything.
    async fn look_up<O: IdempotentOperation>(
        &self,
        operation: &O,
        invocation: &Invocation,
    ) -> Result<Option<Settled<O::Answer>>, Failure> {
        let rows = match self.database.run(&operation.look_up(), invocation).await {
            Err(failure) if failure.is_lock_timeout() => return Ok(Some(Settled::Busy)),
            rows => rows?,
        };
        rows.first().map(|row| Ok(Settled::Done(operation.answer(row)?))).transpose()
    }

    /// The row of the claim, exact where the first one decided nothing.
    async fn claim<O: IdempotentOperation>(
        &self,
        operation: &O,
        invocation: &Invocation,
    ) -> Result<Option<Row>, Failure> {
        let rows = self.database.run(&operation.claim(), invocation).await?;
        let Some(row) = rows.into_iter().next() else {
            return Ok(None);
        };
        let Some(exact) = operation.exact_claim(&row)? else {
            return Ok(Some(row));
        };
        let rows = self.database.run(&exact, invocation).await?;
        match rows.into_iter().next() {
            Some(row) if operation.exact_claim(&row)?.is_some() => Err(Failure::Undecided),
            row => Ok(row),
        }
    }

    /// Waits before the next try, or gives up with the failure.
    async fn prepare_next_try(
        &self,
        failure: Failure,
        tries: &mut u32,
        invocation: &Invocation,
    ) -> Result<(), LedgerError> {
        let next_step = failure.next_step();
        let allowed = match next_step {
            NextStep::TryAgain => TRIES,
            NextStep::TryOnFreshConnection => CONNECTIONS,
            NextStep::GiveUp => 0,
        };
        if *tries >= allowed {
            return Err(match failure {
                // An earlier statement of this call may have been executed: only a first one that was never sent is harmless.
                Failure::NoTime if invocation.round_trips() > 0 => LedgerError::Unavailable(failure.into()),
                failure => failure.into(),
            });
        }
        tracing::warn!(request_id = invocation.request_id(), tries = *tries, cause = ?failure, "trying again");
        if next_step == NextStep::TryOnFreshConnection {
            self.database.discard_idle_connections();
        }
        tokio::time::sleep(backoff(*tries)).await;
        *tries += 1;
        invocation.count_retry();
        Ok(())
    }
}

/// A random pause, so that rivals do not meet again at once.
fn backoff(tries: u32) -> Duration {
    Duration::from_millis(fastrand::u64(1..=BACKOFF_MS << tries.min(8)))
}
