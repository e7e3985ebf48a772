//! Which payments this process has seen settled, the latest few thousand of them. A hint for where to look first, and
//! nothing more: it may have forgotten, and PostgreSQL decides in any case.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::domain::PaymentId;

/// Payments that are remembered at most, 8 bytes each. A later one takes the place of an earlier one.
const PLACES: usize = 8_192;

/// Some of the payments that were settled or found lately.
pub(super) struct RecentlySettled(Box<[AtomicU64]>);

impl RecentlySettled {
    pub(super) fn new() -> Self {
        Self((0..PLACES).map(|_| AtomicU64::new(0)).collect())
    }

    /// Remembers a payment.
    pub(super) fn remember(&self, payment: PaymentId) {
        let (place, mark) = self.place(payment);
        if let Some(place) = place {
            place.store(mark, Ordering::Relaxed);
        }
    }

    /// Whether a payment is remembered. Another one is mistaken for it once in 2^60 times, which costs one look-up.
    pub(super) fn contains(&self, payment: PaymentId) -> bool {
        let (place, mark) = self.place(payment);
        place.is_some_and(|place| place.load(Ordering::Relaxed) == mark)
    }

    /// An id is a hash: one half names the place, the other one marks it.
    fn place(&self, PaymentId(id): PaymentId) -> (Option<&AtomicU64>, u64) {
        let (place, mark) = id.as_u64_pair();
        let place = usize::try_from(place >> 32).ok().and_then(|place| self.0.get(place % PLACES));
        (place, mark)
    }
}

impl fmt::Debug for RecentlySettled {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RecentlySettled").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn what_was_remembered_is_known_until_another_takes_its_place() {
        let settled = RecentlySettled::new();
        let payment = |place: u64, mark| PaymentId(Uuid::from_u64_pair(place << 32, mark));
        settled.remember(payment(1, 7));
        assert!(settled.contains(payment(1, 7)));
        assert!(!settled.contains(payment(1, 8)) && !settled.contains(payment(2, 7)));

        settled.remember(payment(1 + u64::try_from(PLACES).unwrap(), 9));

        assert!(!settled.contains(payment(1, 7)));
    }
}
