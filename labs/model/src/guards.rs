//! What keeps the protocol right. Each guard can be taken away, to see what it was for.

/// One guard of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Guard {
    /// `idempotency_keys_pkey`: a key has one row. Without it every claim inserts a row of its own.
    UniqueKey,
    /// The payment's id is derived from the key, and `payments_pkey` has it once. Without it each claim makes a random id,
    /// and a settled key is found by its row.
    PermanentId,
    /// Claim and debit commit together. Without it the claim commits first, and the debit in a transaction of its own.
    OneTransaction,
    /// A nonce is remembered. Without it the same bytes are admitted again.
    StoredNonce,
    /// A nonce belongs to the call that brought it. Without it the call's own retry is refused as well.
    NonceOfCall,
    /// Who lost a race looks what the winner did. Without it the loser answers as if its own request had been executed.
    SecondLook,
    /// Every statement has a snapshot of its own. Without it a call keeps the one of its first statement.
    FreshSnapshot,
    /// A decline is stored like a payment. Without it a decline is an error that rolls back.
    RememberedDecline,
    /// The decision is made on the locked balance. Without it, on the balance in the statement's snapshot.
    LockedBalance,
    /// The worker hears of success after the commit. Without it, before.
    AnswerAfterCommit,
    /// A lost connection leaves the outcome open, and the worker asks again. Without it the worker says that it failed.
    AskAgain,
}

impl Guard {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::UniqueKey,
        Self::PermanentId,
        Self::OneTransaction,
        Self::StoredNonce,
        Self::NonceOfCall,
        Self::SecondLook,
        Self::FreshSnapshot,
        Self::RememberedDecline,
        Self::LockedBalance,
        Self::AnswerAfterCommit,
        Self::AskAgain,
    ];
}

/// The guards that stand: all, but for those that were removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guards {
    removed: Vec<Guard>,
}

impl Guards {
    /// The protocol as it is.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// The protocol without these.
    #[must_use]
    pub fn without(removed: &[Guard]) -> Self {
        Self { removed: removed.to_vec() }
    }

    /// Whether this one stands.
    #[must_use]
    pub fn stands(&self, guard: Guard) -> bool {
        !self.removed.contains(&guard)
    }
}
