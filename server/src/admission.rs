//! How many requests are at work at once. Knows no request.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bounds the work in hand: what is beyond it is refused at once, and costs neither memory nor a wait.
pub(crate) struct Admission {
    places: Arc<Semaphore>,
    all: u32,
}

/// A place, taken until it is dropped.
pub(crate) struct Admitted(#[expect(dead_code, reason = "held, not looked at")] OwnedSemaphorePermit);

impl Admission {
    /// So many places.
    pub(crate) fn new(places: usize) -> Self {
        let all = u32::try_from(places).unwrap_or(u32::MAX).max(1);
        Self { places: Arc::new(Semaphore::new(usize::try_from(all).unwrap_or(usize::MAX))), all }
    }

    /// A place, if one is free.
    pub(crate) fn admit(&self) -> Option<Admitted> {
        Arc::clone(&self.places).try_acquire_owned().ok().map(Admitted)
    }

    /// Waits until every place is free.
    pub(crate) async fn idle(&self) {
        // It fails only when the semaphore is closed, and nobody closes it.
        let _ = self.places.acquire_many(self.all).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_beyond_the_places_is_refused_until_one_is_free() {
        let admission = Admission::new(2);
        let first = admission.admit();
        let second = admission.admit().unwrap();
        assert!(first.is_some() && admission.admit().is_none());
        drop(second);
        assert!(admission.admit().is_some());
        drop(first);
        admission.idle().await;
    }
}
