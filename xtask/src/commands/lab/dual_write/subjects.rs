//! Who is compared: the anti-pattern, its usual repairs, the product.

/// A day: a lock that is kept as long as the key.
const DAY_MS: u64 = 24 * 60 * 60 * 1000;
/// Stands for the usual 10 to 30 s, so that nobody has to wait that long.
const SHORT_LOCK_MS: u64 = 1_000;

/// What is expected of a subject in a situation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// One debit and one payment id for everybody.
    Once,
    /// More than one debit.
    Twice,
    /// No debit, although a client was told of one.
    NotAtAll,
    /// One debit, and a client that does not learn of it.
    Unanswered,
    /// Shown as it comes.
    Any,
}

/// When a process is killed: between its two writes, whichever comes first, or during the only one.
#[derive(Clone, Copy)]
pub(super) enum Dies {
    /// The money has moved; Redis is not told any more.
    AfterTheDatabase,
    /// Redis is told; the money does not move any more.
    BeforeTheDatabase,
    /// The statement is under way; its answer finds nobody.
    DuringTheStatement,
}

/// A way to guard a payment.
pub(super) struct Subject {
    /// For a person.
    pub(super) name: &'static str,
    /// The counter-example's order of steps; none for the product.
    pub(super) flow: Option<&'static str>,
    /// How long a lock lives whose holder does not release it.
    pub(super) lock_ttl_ms: u64,
    /// The worst moment to die.
    pub(super) dies: Dies,
    /// What is expected, in the order of the situations.
    pub(super) expected: [Expected; 5],
}

impl Subject {
    /// Whether it is expected to pay more than once under the load.
    pub(super) fn loses_races(&self) -> bool {
        matches!(self.expected, [Expected::Twice, ..])
    }
}

use Expected::{Any, NotAtAll, Once, Twice, Unanswered};

/// In the order in which they are shown.
pub(super) const SUBJECTS: [Subject; 6] = [
    Subject {
        name: "Redis check, then set",
        flow: Some("anti-pattern"),
        lock_ttl_ms: SHORT_LOCK_MS,
        dies: Dies::AfterTheDatabase,
        expected: [Twice, Twice, Twice, Twice, Twice],
    },
    Subject {
        name: "SET NX lock that expires",
        flow: Some("lock-first"),
        lock_ttl_ms: SHORT_LOCK_MS,
        dies: Dies::AfterTheDatabase,
        expected: [Any, Twice, Twice, Twice, Twice],
    },
    Subject {
        name: "SET NX lock for a day",
        flow: Some("lock-first"),
        lock_ttl_ms: DAY_MS,
        dies: Dies::AfterTheDatabase,
        expected: [Any, Unanswered, Any, Twice, Twice],
    },
    Subject {
        name: "Redis first, then database",
        flow: Some("redis-first"),
        lock_ttl_ms: SHORT_LOCK_MS,
        dies: Dies::BeforeTheDatabase,
        expected: [Any, NotAtAll, Any, Twice, Twice],
    },
    Subject {
        name: "database first, then Redis",
        flow: Some("database-first"),
        lock_ttl_ms: SHORT_LOCK_MS,
        dies: Dies::AfterTheDatabase,
        expected: [Twice, Twice, Twice, Twice, Twice],
    },
    Subject {
        name: "unique index (this product)",
        flow: None,
        lock_ttl_ms: SHORT_LOCK_MS,
        dies: Dies::DuringTheStatement,
        expected: [Once, Once, Once, Once, Once],
    },
];
