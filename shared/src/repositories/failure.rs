//! What went wrong with a statement, and what that means: one table from SQLSTATE to the next step.

use deadpool::managed::PoolError;
use tokio_postgres::error::SqlState;

use crate::ports::LedgerError;

use super::connector::ConnectError;

/// The row is not what its statement promises: a defect, and never an outcome.
#[derive(Debug, thiserror::Error)]
#[error("the row was not understood")]
pub struct RowError(#[source] Box<dyn std::error::Error + Send + Sync>);

impl RowError {
    /// A row with that in it.
    #[must_use]
    pub fn new(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(cause.into())
    }

    /// A word in the column `result` that this version does not know.
    #[must_use]
    pub fn unknown_result(result: &str) -> Self {
        Self::new(format!("unknown result {result}"))
    }
}

impl From<tokio_postgres::Error> for RowError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::new(error)
    }
}

impl From<RowError> for LedgerError {
    fn from(error: RowError) -> Self {
        Self::Defect(error.into())
    }
}

/// Why a statement gave no rows.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// Too little time was left; nothing was sent.
    #[error("too little time is left")]
    NoTime,
    /// There was no connection to send it on.
    #[error("no connection")]
    NoConnection(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// No answer in time. It may still be executed, or have been.
    #[error("no answer in time")]
    TimedOut,
    /// PostgreSQL refused it, or the connection broke.
    #[error("the statement failed")]
    Statement(#[source] Refusal),
    /// The row is not what the statement promises.
    #[error(transparent)]
    Row(#[from] RowError),
    /// The race was lost, but the winner's payment is not there: it was rolled back.
    #[error("the rival vanished")]
    RivalVanished,
    /// Not even the exact claim decided: what it decides on changed while it waited.
    #[error("what decides has changed meanwhile")]
    Undecided,
}

/// What PostgreSQL or the connection said. Without PostgreSQL's DETAIL and CONTEXT: they quote rows, and no row belongs
/// in a log.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(super) struct Refusal {
    /// `None` when the connection broke instead.
    state: Option<SqlState>,
    constraint: Option<String>,
    connection_lost: bool,
    message: String,
}

impl From<tokio_postgres::Error> for Refusal {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(refused) = error.as_db_error() else {
            return Self {
                state: None,
                constraint: None,
                connection_lost: error.is_closed() || is_io(&error),
                message: error.to_string(),
            };
        };
        Self {
            state: Some(refused.code().clone()),
            constraint: refused.constraint().map(str::to_owned),
            connection_lost: false,
            message: format!("{} {}: {}", refused.severity(), refused.code().code(), refused.message()),
        }
    }
}

/// A table, a column or a right is missing: the migrations that this version needs have not run yet.
#[derive(Debug, thiserror::Error)]
#[error("the schema is not ready for this version: run `migrate`")]
struct SchemaNotReady(#[source] Failure);

/// What to do after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextStep {
    /// The database asks for another try: a serialization failure or a deadlock (PostgreSQL 40001 and 40P01, Aurora DSQL OC000 and OC001).
    TryAgain,
    /// The connection is lost, or leads to a server that takes no writes. What was sent may have been committed;
    /// the same statement on a fresh connection tells, because it is idempotent.
    TryOnFreshConnection,
    /// Give up.
    GiveUp,
}

impl Failure {
    /// PostgreSQL refused a statement, or the connection broke.
    pub(super) fn statement(error: tokio_postgres::Error) -> Self {
        Self::Statement(error.into())
    }

    /// The pool had nothing to lend.
    pub(super) fn no_connection(error: PoolError<ConnectError>) -> Self {
        Self::NoConnection(match error {
            PoolError::Backend(error) => error.into(),
            error => error.into(),
        })
    }

    /// Whether what was sent may have been committed all the same: no answer came, not even a refusal.
    pub(super) fn leaves_outcome_open(&self) -> bool {
        match self {
            Self::TimedOut => true,
            Self::Statement(refusal) => refusal.state.is_none(),
            _ => false,
        }
    }

    pub(super) fn next_step(&self) -> NextStep {
        match self {
            Self::RivalVanished | Self::Undecided => NextStep::TryAgain,
            Self::NoConnection(_) | Self::TimedOut => NextStep::TryOnFreshConnection,
            Self::NoTime | Self::Row(_) => NextStep::GiveUp,
            Self::Statement(refusal) => match &refusal.state {
                None if refusal.connection_lost => NextStep::TryOnFreshConnection,
                None => NextStep::GiveUp,
                Some(state) => next_step_after(state.code()),
            },
        }
    }

    /// Whether the connection must not be used again.
    pub(super) fn spoils_connection(&self) -> bool {
        match self {
            Self::TimedOut => true,
            Self::Statement(refusal) => refusal.state.is_none() || self.next_step() == NextStep::TryOnFreshConnection,
            _ => false,
        }
    }

    /// Whether it says that the operation was already done: SQLSTATE 23505 **and** one of these constraints, nothing else.
    pub(super) fn is_duplicate(&self, constraints: &[&str]) -> bool {
        let Self::Statement(refusal) = self else {
            return false;
        };
        refusal.state == Some(SqlState::UNIQUE_VIOLATION)
            && refusal.constraint.as_deref().is_some_and(|name| constraints.contains(&name))
    }

    /// Whether the role's `lock_timeout` ended the wait for a rival.
    pub(super) fn is_lock_timeout(&self) -> bool {
        matches!(self, Self::Statement(refusal) if refusal.state == Some(SqlState::LOCK_NOT_AVAILABLE))
    }
}

fn next_step_after(state: &str) -> NextStep {
    match state {
        "40001" | "40P01" | "OC000" | "OC001" => NextStep::TryAgain,
        "25006" | "57P01" | "57P02" | "57P03" => NextStep::TryOnFreshConnection,
        state if state.starts_with("08") => NextStep::TryOnFreshConnection,
        _ => NextStep::GiveUp,
    }
}

fn is_io(error: &tokio_postgres::Error) -> bool {
    std::error::Error::source(error).is_some_and(<dyn std::error::Error>::is::<std::io::Error>)
}

impl From<Failure> for LedgerError {
    fn from(failure: Failure) -> Self {
        match &failure {
            Failure::NoTime => Self::DeadlineTooNear,
            Failure::Row(_) => Self::Defect(failure.into()),
            Failure::Statement(refusal) => match &refusal.state {
                Some(state) if is_schema_not_ready(state.code()) => Self::Unavailable(SchemaNotReady(failure).into()),
                Some(state) if !is_passing(state.code()) => Self::Defect(failure.into()),
                _ => Self::Unavailable(failure.into()),
            },
            Failure::NoConnection(_) | Failure::TimedOut | Failure::RivalVanished | Failure::Undecided => {
                Self::Unavailable(failure.into())
            }
        }
    }
}

/// Whether the state says what a schema says that is older than this code: undefined table, undefined column, no right.
/// An operator's state and no defect of the request: it passes with the migration.
fn is_schema_not_ready(state: &str) -> bool {
    matches!(state, "42P01" | "42703" | "42501")
}

/// Whether the state says that the server cannot now, and not that the statement is wrong: lost races, connection
/// trouble, exhausted resources (53), operator intervention and time-outs (57), a locked object (55P03), no login (28).
fn is_passing(state: &str) -> bool {
    next_step_after(state) != NextStep::GiveUp
        || ["28", "53", "57"].iter().any(|class| state.starts_with(class))
        || state == "55P03"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c18_serialization_failures_and_deadlocks_are_tried_again() {
        for state in ["40001", "40P01", "OC000", "OC001"] {
            assert_eq!(next_step_after(state), NextStep::TryAgain, "{state}");
        }
    }

    #[test]
    fn c19_lost_and_read_only_connections_are_replaced() {
        for state in ["25006", "57P01", "57P02", "57P03", "08000", "08003", "08006"] {
            assert_eq!(next_step_after(state), NextStep::TryOnFreshConnection, "{state}");
        }
    }

    #[test]
    fn everything_else_is_not_tried_again() {
        for state in ["23505", "23514", "25P02", "42601", "53300", "55P03", "57014", "XX000"] {
            assert_eq!(next_step_after(state), NextStep::GiveUp, "{state}");
        }
    }

    #[test]
    fn what_the_server_cannot_do_now_is_unavailable_and_what_is_wrong_is_a_defect() {
        for state in ["40001", "08006", "28P01", "53100", "53300", "55P03", "57014", "57P03"] {
            assert!(is_passing(state), "{state}");
        }
        for state in ["23505", "23514", "25P02", "42601", "42883", "XX001"] {
            assert!(!is_passing(state) && !is_schema_not_ready(state), "{state}");
        }
    }

    #[test]
    fn a_schema_that_is_behind_is_unavailable_and_is_not_tried_again() {
        for state in ["42P01", "42703", "42501"] {
            assert!(is_schema_not_ready(state), "{state}");
            assert_eq!(next_step_after(state), NextStep::GiveUp, "{state}");
        }
    }
}
