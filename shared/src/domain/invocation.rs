//! One call of a function: the time it has left, and what it spent.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// One call, from the host that received it down to the repository.
#[derive(Debug)]
pub struct Invocation {
    request_id: String,
    trace_id: Option<String>,
    deadline: Instant,
    round_trips: AtomicU32,
    retries: AtomicU32,
    lost_races: AtomicU32,
    pool_wait_us: AtomicU64,
    open_outcome: AtomicBool,
}

impl Invocation {
    /// A call that has to be answered within `budget`.
    #[must_use]
    pub fn new(request_id: String, budget: Duration) -> Self {
        Self {
            request_id,
            trace_id: None,
            deadline: Instant::now() + budget,
            round_trips: AtomicU32::new(0),
            retries: AtomicU32::new(0),
            lost_races: AtomicU32::new(0),
            pool_wait_us: AtomicU64::new(0),
            open_outcome: AtomicBool::new(false),
        }
    }

    /// The same call as a part of a trace.
    #[must_use]
    pub fn traced(self, trace_id: Option<String>) -> Self {
        Self { trace_id, ..self }
    }

    /// The id of this call in logs and in the `X-Request-Id` header of its response.
    #[must_use]
    pub fn request_id(&self) -> &str {
        &self.request_id
    }

    /// The id of the trace that this call belongs to.
    #[must_use]
    pub fn trace_id(&self) -> Option<&str> {
        self.trace_id.as_deref()
    }

    /// The time left to answer; zero when there is none.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Counts one statement sent to the database.
    pub fn count_round_trip(&self) {
        self.round_trips.fetch_add(1, Relaxed);
    }

    /// How many statements this call has sent to the database.
    #[must_use]
    pub fn round_trips(&self) -> u32 {
        self.round_trips.load(Relaxed)
    }

    /// Counts one more try after a failure.
    pub fn count_retry(&self) {
        self.retries.fetch_add(1, Relaxed);
    }

    /// How many further tries this call needed.
    #[must_use]
    pub fn retries(&self) -> u32 {
        self.retries.load(Relaxed)
    }

    /// Counts a race for a key that another call won or holds.
    pub fn count_lost_race(&self) {
        self.lost_races.fetch_add(1, Relaxed);
    }

    /// How many races this call lost.
    #[must_use]
    pub fn lost_races(&self) -> u32 {
        self.lost_races.load(Relaxed)
    }

    /// Adds a wait for a connection, new or from the pool.
    pub fn add_pool_wait(&self, wait: Duration) {
        self.pool_wait_us.fetch_add(u64::try_from(wait.as_micros()).unwrap_or(u64::MAX), Relaxed);
    }

    /// How long this call waited for connections.
    #[must_use]
    pub fn pool_wait(&self) -> Duration {
        Duration::from_micros(self.pool_wait_us.load(Relaxed))
    }

    /// Notes that something was sent whose outcome did not come back. A later try of this call may still learn it.
    pub fn note_open_outcome(&self) {
        self.open_outcome.store(true, Relaxed);
    }

    /// Whether the outcome of something that was sent did not come back at once.
    #[must_use]
    pub fn had_open_outcome(&self) -> bool {
        self.open_outcome.load(Relaxed)
    }
}
