//! One call of a function: the time it has left, and what it spent.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// One call, from the host that received it down to the repository.
#[derive(Debug)]
pub struct Invocation {
    request_id: String,
    deadline: Instant,
    round_trips: AtomicU32,
}

impl Invocation {
    /// A call that has to be answered within `budget`.
    #[must_use]
    pub fn new(request_id: String, budget: Duration) -> Self {
        Self { request_id, deadline: Instant::now() + budget, round_trips: AtomicU32::new(0) }
    }

    /// The id of this call in logs and in the `X-Request-Id` header of its response.
    #[must_use]
    pub fn request_id(&self) -> &str {
        &self.request_id
    }

    /// The time left to answer; zero when there is none.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Counts one statement sent to the database.
    pub fn count_round_trip(&self) {
        self.round_trips.fetch_add(1, Ordering::Relaxed);
    }

    /// How many statements this call has sent to the database.
    #[must_use]
    pub fn round_trips(&self) -> u32 {
        self.round_trips.load(Ordering::Relaxed)
    }
}
