//! One statement that PostgreSQL is executing, step by step: READ COMMITTED, one transaction, effects visible at the commit.
//! Knows nothing of who waits for it, or of whether anybody still does.

use crate::database::{AMOUNT, Call, Database, KeyRow, Outcome, Payment, PaymentId};
use crate::guards::{Guard, Guards};

/// What was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Statement {
    /// `create_payment.sql`.
    Claim,
    /// `create_payment_second_look.sql`, and why it was sent.
    Look(Why),
}

/// Why a second look is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Why {
    /// The claim returned no row: a rival has committed the key.
    NoRow,
    /// The claim met 23505 on `payments_pkey`.
    Duplicate,
    /// The claim waited for a rival as long as it may.
    WaitedInVain,
}

/// What a statement sees, as it was when the statement began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Snapshot {
    /// What had become of the key.
    pub settled: Option<Outcome>,
    /// The balance; only a flawed protocol decides on it.
    pub balance: Option<i8>,
}

/// What the statement wrote and has not committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Written {
    /// The payment's id.
    pub id: PaymentId,
    /// What it says.
    pub outcome: Outcome,
    /// The balance after it.
    pub balance: i8,
}

/// How far a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// It has its snapshot.
    Begun,
    /// It holds its nonce.
    Admitted,
    /// It holds the account and the key, and has written.
    Written(Written),
    /// It is over, committed or rolled back, and says this.
    Ended(Reply),
}

/// What a statement says at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reply {
    /// A row: this statement did it.
    Created(Outcome),
    /// A row: it was done before.
    Found(Outcome),
    /// No row.
    Nothing,
    /// A row: another call used the nonce.
    NonceReused,
    /// 23505 on `payments_pkey`; rolled back.
    Duplicate,
    /// 55P03, `lock_timeout`; rolled back.
    WaitedInVain,
    /// 40001 or 40P01; rolled back.
    TryAgain,
}

/// A running statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Session {
    /// The call that sent it.
    pub call: Call,
    /// The call's how many-th try.
    pub try_number: u8,
    /// What was sent.
    pub statement: Statement,
    /// What it sees.
    pub snapshot: Snapshot,
    /// How far it is.
    pub step: Step,
}

impl Session {
    /// Whether it holds its nonce without having committed it.
    #[must_use]
    pub fn holds_nonce(&self) -> bool {
        matches!(self.step, Step::Admitted | Step::Written(_))
    }

    /// Whether it holds the account's row and the key.
    #[must_use]
    pub fn holds_account(&self) -> bool {
        matches!(self.step, Step::Written(_))
    }

    /// Whether it is over.
    #[must_use]
    pub fn reply(&self) -> Option<Reply> {
        if let Step::Ended(reply) = self.step { Some(reply) } else { None }
    }

    /// Whether it cannot go on before that other one ends.
    #[must_use]
    pub fn waits_for(&self, other: &Self, database: &Database, guards: &Guards) -> bool {
        match self.step {
            Step::Begun => {
                guards.stands(Guard::StoredNonce)
                    && other.call.nonce == self.call.nonce
                    && other.holds_nonce()
                    && database.owner(self.call.nonce).is_none()
            }
            Step::Admitted => {
                let same_key = other.call.nonce.key == self.call.nonce.key;
                self.snapshot.settled.is_none()
                    && other.holds_account()
                    && (same_key || guards.stands(Guard::LockedBalance))
            }
            Step::Written(_) | Step::Ended(_) => false,
        }
    }

    /// Its next step.
    pub fn proceed(&mut self, database: &mut Database, guards: &Guards) {
        self.step = match self.step {
            Step::Begun if self.is_refused(database, guards) => Step::Ended(Reply::NonceReused),
            Step::Begun if self.statement == Statement::Claim => Step::Admitted,
            Step::Begun => self.end_unwritten(database, self.snapshot.settled.map_or(Reply::Nothing, Reply::Found)),
            Step::Admitted => match self.snapshot.settled {
                Some(outcome) => self.end_unwritten(database, Reply::Found(outcome)),
                None => self.claim(database, guards),
            },
            Step::Written(written) => self.commit(written, database, guards),
            Step::Ended(reply) => Step::Ended(reply),
        };
    }

    /// The conflict on `nonces_pkey`.
    fn is_refused(&self, database: &Database, guards: &Guards) -> bool {
        guards.stands(Guard::StoredNonce)
            && database
                .owner(self.call.nonce)
                .is_some_and(|owner| owner != self.call || !guards.stands(Guard::NonceOfCall))
    }

    /// A commit of nothing but the nonce.
    fn end_unwritten(&self, database: &mut Database, reply: Reply) -> Step {
        database.store_nonce(self.call);
        Step::Ended(reply)
    }

    /// `claim`, `debit` and `payment`, with the account locked.
    fn claim(&self, database: &mut Database, guards: &Guards) -> Step {
        let key = self.call.nonce.key;
        if guards.stands(Guard::UniqueKey) && database.has_key(key) {
            return self.end_unwritten(database, Reply::Nothing);
        }
        let id = if guards.stands(Guard::PermanentId) {
            PaymentId::OfKey(key)
        } else {
            PaymentId::Random(self.call, self.try_number)
        };
        if database.payment(id).is_some() {
            return Step::Ended(Reply::Duplicate);
        }
        let balance = self.snapshot.balance.unwrap_or(database.balance);
        let outcome = if balance >= AMOUNT { Outcome::Succeeded } else { Outcome::Declined };
        if outcome == Outcome::Declined && !guards.stands(Guard::RememberedDecline) {
            return Step::Ended(Reply::Created(outcome));
        }
        if !guards.stands(Guard::OneTransaction) {
            database.store_nonce(self.call);
            database.store_key(KeyRow { key, payment: id });
        }
        let balance = if outcome == Outcome::Succeeded { balance - AMOUNT } else { balance };
        Step::Written(Written { id, outcome, balance })
    }

    fn commit(&self, written: Written, database: &mut Database, guards: &Guards) -> Step {
        let Written { id, outcome, balance } = written;
        let key = self.call.nonce.key;
        database.store_nonce(self.call);
        if guards.stands(Guard::OneTransaction) {
            database.store_key(KeyRow { key, payment: id });
        }
        database.store_payment(Payment { id, key, outcome });
        if outcome == Outcome::Succeeded {
            database.balance = balance;
        }
        Step::Ended(Reply::Created(outcome))
    }
}
