//! What is committed: keys, payments, nonces, one balance. Knows nothing of who wrote it.

use crate::guards::{Guard, Guards};

/// An idempotency key, by its number. Both belong to one tenant and name the same account.
pub type Key = usize;

/// How many keys there are.
pub const KEYS: usize = 2;
/// What a payment, and a top-up, moves.
pub const AMOUNT: i8 = 1;

/// What became of a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// Paid: 200.
    Succeeded,
    /// The balance did not cover it: 402.
    Declined,
}

/// The nonce of one signed request: a key, and the number of the client's try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Nonce {
    /// Whose request it is.
    pub key: Key,
    /// The client's first try is 1.
    pub attempt: u8,
}

/// One call of the function. The same bytes make two calls when a stranger captured them and sends them too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Call {
    /// What its request is signed with.
    pub nonce: Nonce,
    /// Sent by who captured the request.
    pub stranger: bool,
}

/// A payment's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PaymentId {
    /// Derived from the key.
    OfKey(Key),
    /// Made up by one statement of one call.
    Random(Call, u8),
}

/// A row of `payments`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Payment {
    /// Its primary key.
    pub id: PaymentId,
    /// The key that it was made for. Only the properties read it.
    pub key: Key,
    /// What became of it.
    pub outcome: Outcome,
}

/// A row of `idempotency_keys`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyRow {
    /// The key.
    pub key: Key,
    /// The payment that was claimed with it.
    pub payment: PaymentId,
}

/// Everything that is committed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Database {
    /// `accounts.balance`.
    pub balance: i8,
    /// `idempotency_keys`, in order.
    pub keys: Vec<KeyRow>,
    /// `payments`, in order.
    pub payments: Vec<Payment>,
    /// `nonces`, in order: each with the call that may use it.
    pub nonces: Vec<Call>,
}

impl Database {
    /// One account with money, and nothing else.
    #[must_use]
    pub fn new(balance: i8) -> Self {
        Self { balance, keys: Vec::new(), payments: Vec::new(), nonces: Vec::new() }
    }

    /// Whether the key has a row.
    #[must_use]
    pub fn has_key(&self, key: Key) -> bool {
        self.keys.iter().any(|row| row.key == key)
    }

    /// The payment with that id.
    #[must_use]
    pub fn payment(&self, id: PaymentId) -> Option<&Payment> {
        self.payments.iter().find(|payment| payment.id == id)
    }

    /// The payments that were made for a key: more than one is what must never be.
    pub fn payments_of(&self, key: Key) -> impl Iterator<Item = &Payment> {
        self.payments.iter().filter(move |payment| payment.key == key)
    }

    /// What a look-up by key finds.
    #[must_use]
    pub fn settled(&self, key: Key, guards: &Guards) -> Option<Outcome> {
        let id = if guards.stands(Guard::PermanentId) {
            PaymentId::OfKey(key)
        } else {
            self.keys.iter().find(|row| row.key == key)?.payment
        };
        self.payment(id).map(|payment| payment.outcome)
    }

    /// The call that a nonce belongs to.
    #[must_use]
    pub fn owner(&self, nonce: Nonce) -> Option<Call> {
        self.nonces.iter().find(|call| call.nonce == nonce).copied()
    }

    /// Stores a call's nonce, once.
    pub fn store_nonce(&mut self, call: Call) {
        if self.owner(call.nonce).is_none() {
            insert(&mut self.nonces, call);
        }
    }

    /// Stores a key's row.
    pub fn store_key(&mut self, row: KeyRow) {
        insert(&mut self.keys, row);
    }

    /// Stores a payment.
    pub fn store_payment(&mut self, payment: Payment) {
        insert(&mut self.payments, payment);
    }

    /// Deletes a key's row, as the purge does.
    pub fn purge(&mut self, key: Key) {
        self.keys.retain(|row| row.key != key);
    }
}

/// Keeps the order, so that the same rows are the same state whoever came first.
fn insert<T: Ord>(rows: &mut Vec<T>, row: T) {
    let place = rows.partition_point(|other| *other < row);
    rows.insert(place, row);
}
