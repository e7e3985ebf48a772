//! Payments on PostgreSQL: two idempotent operations, one guarded by the client's key and one by its own payment id.

use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use crate::domain::{
    AccountId, Caller, Currency, Idempotency, Invocation, PaymentId, StoredKey, StoredNonce, Withdrawal,
};
use crate::ports::{CreatePayment, LedgerAnswer, LedgerError};

use super::database::{Statement, Typed};
use super::executor::{IdempotentOperation, Settled};
use super::failure::RowError;
use super::{PostgresLedger, get_payment, payment_row};

impl CreatePayment for PostgresLedger {
    async fn create_payment(
        &self,
        caller: &Caller,
        withdrawal: &Withdrawal,
        idempotency: &Idempotency,
        invocation: &Invocation,
    ) -> Result<LedgerAnswer, LedgerError> {
        let settled = match idempotency {
            Idempotency::Keyed(key) => {
                self.create_keyed(key.stored(caller.tenant), caller, withdrawal, invocation).await?
            }
            Idempotency::Unkeyed => {
                let operation = UnkeyedPayment::new(PaymentId(Uuid::now_v7()), caller, withdrawal);
                self.executor.execute(&operation, invocation).await?
            }
        };
        Ok(match settled {
            Settled::Done(answer) => answer,
            Settled::Busy => LedgerAnswer::InProgress,
        })
    }
}

impl PostgresLedger {
    /// A payment with a key. What this process has seen settled is looked up first: a replay then costs neither the claim's
    /// plan nor its set-up.
    async fn create_keyed(
        &self,
        key: StoredKey,
        caller: &Caller,
        withdrawal: &Withdrawal,
        invocation: &Invocation,
    ) -> Result<Settled<LedgerAnswer>, LedgerError> {
        let payment = key.payment_id();
        let seen_settled = self.recently_settled.contains(payment);
        let operation = KeyedPayment::new(key, caller, withdrawal, seen_settled);
        let settled = self.executor.execute(&operation, invocation).await?;
        if let Settled::Done(LedgerAnswer::Created(_) | LedgerAnswer::Found(_)) = settled {
            self.recently_settled.remember(payment);
        }
        Ok(settled)
    }
}

/// The most slots of an account, see `account_slots_slots_in_range`.
const MAX_SLOTS: i32 = 1024;

/// What all statements need, in the types of their columns.
struct Parameters {
    payment: Uuid,
    tenant: Uuid,
    account: Option<Uuid>,
    recipient: Uuid,
    amount: i64,
    currency: Option<String>,
}

impl Parameters {
    fn new(payment: PaymentId, caller: &Caller, withdrawal: &Withdrawal) -> Self {
        Self {
            payment: payment.0,
            tenant: caller.tenant.0,
            account: withdrawal.account.map(|AccountId(id)| id),
            recipient: withdrawal.recipient.0,
            amount: withdrawal.amount.get(),
            currency: withdrawal.currency.as_ref().map(Currency::to_string),
        }
    }

    /// In the order of all statements.
    fn typed(&self) -> Typed<'_> {
        vec![
            (&self.payment, Type::UUID),
            (&self.tenant, Type::UUID),
            (&self.account, Type::UUID),
            (&self.recipient, Type::UUID),
            (&self.amount, Type::INT8),
            (&self.currency, Type::TEXT),
        ]
    }
}

/// The slot at which the search of a free one begins: a random one, so that payments of one account spread. A remainder of
/// it is taken, as nobody knows here how many slots there are.
fn first_slot() -> i32 {
    fastrand::i32(0..MAX_SLOTS)
}

/// What admits the call: the version of its signing key and its nonce; neither for an internal caller.
struct Admission {
    version: Option<i64>,
    nonce: Option<Uuid>,
    /// Ties the nonce to this call, so that a second try of the call does not trip over it.
    call: Uuid,
}

impl Admission {
    fn new(caller: &Caller) -> Self {
        Self {
            version: caller.version().map(i64::from),
            nonce: caller.nonce().map(|StoredNonce(nonce)| nonce),
            call: Uuid::new_v4(),
        }
    }

    /// In the order of the claim.
    fn typed(&self) -> Typed<'_> {
        vec![(&self.version, Type::INT8), (&self.nonce, Type::UUID), (&self.call, Type::UUID)]
    }
}

/// A payment that is claimed by its idempotency key.
struct KeyedPayment {
    key: Uuid,
    parameters: Parameters,
    admission: Admission,
    first_slot: i32,
    seen_settled: bool,
}

impl KeyedPayment {
    fn new(key: StoredKey, caller: &Caller, withdrawal: &Withdrawal, seen_settled: bool) -> Self {
        Self {
            key: key.0,
            parameters: Parameters::new(key.payment_id(), caller, withdrawal),
            admission: Admission::new(caller),
            first_slot: first_slot(),
            seen_settled,
        }
    }

    /// In the order of both claims.
    fn typed(&self) -> Typed<'_> {
        let mut parameters: Typed<'_> = vec![(&self.key, Type::UUID)];
        parameters.extend(self.parameters.typed());
        parameters.extend(self.admission.typed());
        parameters
    }
}

impl IdempotentOperation for KeyedPayment {
    type Answer = LedgerAnswer;

    /// `payments_pkey`: a rival paid after our snapshot and its key was purged already. `idempotency_keys_pkey`: a rival's claim.
    const ALREADY_DONE: &'static [&'static str] = &["payments_pkey", "idempotency_keys_pkey"];

    fn claim(&self) -> Statement<'_> {
        let mut parameters = self.typed();
        parameters.push((&self.first_slot, Type::INT4));
        Statement { sql: include_str!("sql/create_payment.sql"), parameters }
    }

    fn exact_claim(&self, undecided: &Row) -> Result<Option<Statement<'_>>, RowError> {
        Ok(is_undecided(undecided)?.then(|| Statement {
            sql: include_str!("sql/create_payment_from_all_slots.sql"),
            parameters: self.typed(),
        }))
    }

    fn is_probably_settled(&self) -> bool {
        self.seen_settled
    }

    fn look_up(&self) -> Statement<'_> {
        second_look(&self.parameters, &self.admission)
    }

    fn answer(&self, row: &Row) -> Result<LedgerAnswer, RowError> {
        answer(row)
    }
}

/// A payment without a key. Its own id is its guard: a retry of this call finds what the call did before.
struct UnkeyedPayment {
    parameters: Parameters,
    admission: Admission,
    first_slot: i32,
}

impl UnkeyedPayment {
    fn new(id: PaymentId, caller: &Caller, withdrawal: &Withdrawal) -> Self {
        Self {
            parameters: Parameters::new(id, caller, withdrawal),
            admission: Admission::new(caller),
            first_slot: first_slot(),
        }
    }
}

impl IdempotentOperation for UnkeyedPayment {
    type Answer = LedgerAnswer;

    const ALREADY_DONE: &'static [&'static str] = &["payments_pkey"];

    fn claim(&self) -> Statement<'_> {
        let mut parameters = self.parameters.typed();
        parameters.push((&self.first_slot, Type::INT4));
        Statement { sql: include_str!("sql/create_payment_unkeyed.sql"), parameters }
    }

    fn exact_claim(&self, undecided: &Row) -> Result<Option<Statement<'_>>, RowError> {
        Ok(is_undecided(undecided)?.then(|| Statement {
            sql: include_str!("sql/create_payment_unkeyed_from_all_slots.sql"),
            parameters: self.parameters.typed(),
        }))
    }

    fn look_up(&self) -> Statement<'_> {
        second_look(&self.parameters, &self.admission)
    }

    fn answer(&self, row: &Row) -> Result<LedgerAnswer, RowError> {
        // Nobody else knows the id, so a payment that is found under it is this call's own.
        answer(row).map(|answer| match answer {
            LedgerAnswer::Found(payment) => LedgerAnswer::Created(payment),
            other => other,
        })
    }
}

/// An internal caller has no nonce to bring: its look only reads.
fn second_look<'a>(p: &'a Parameters, admission: &'a Admission) -> Statement<'a> {
    if admission.nonce.is_none() {
        return get_payment::get(&p.tenant, &p.payment, &admission.version);
    }
    Statement {
        sql: include_str!("sql/create_payment_second_look.sql"),
        parameters: vec![
            (&p.tenant, Type::UUID),
            (&p.payment, Type::UUID),
            (&admission.version, Type::INT8),
            (&admission.nonce, Type::UUID),
            (&admission.call, Type::UUID),
        ],
    }
}

/// Whether no single slot decided it.
fn is_undecided(row: &Row) -> Result<bool, RowError> {
    Ok(payment_row::result(row)? == "undecided")
}

fn answer(row: &Row) -> Result<LedgerAnswer, RowError> {
    Ok(match payment_row::result(row)? {
        "created" => LedgerAnswer::Created(payment_row::payment(row)?),
        "found" => LedgerAnswer::Found(payment_row::payment(row)?),
        "unknown_caller" => LedgerAnswer::UnknownCaller,
        "nonce_reused" => LedgerAnswer::NonceReused,
        "unknown_account" => LedgerAnswer::UnknownAccount,
        "currency_mismatch" => LedgerAnswer::CurrencyMismatch,
        other => return Err(RowError::unknown_result(other)),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    /// The text of each part of a statement, without comments.
    fn parts(sql: &str) -> BTreeMap<String, String> {
        let lines = sql.lines().filter(|line| !line.trim_start().starts_with("--"));
        let statement = lines.collect::<Vec<_>>().join("\n").replacen("WITH ", "", 1).replace("\n)\n", "\n),\n");
        let named = statement.split("\n),\n").filter_map(|part| part.split_once(" AS ("));
        named.map(|(name, text)| (name.to_owned(), text.to_owned())).collect()
    }

    #[test]
    fn what_two_claims_of_one_payment_have_in_common_is_written_alike() {
        let keyed = [include_str!("sql/create_payment.sql"), include_str!("sql/create_payment_from_all_slots.sql")];
        let unkeyed = [
            include_str!("sql/create_payment_unkeyed.sql"),
            include_str!("sql/create_payment_unkeyed_from_all_slots.sql"),
        ];
        let of_keyed = ["caller", "nonce", "admitted", "existing", "account", "claim", "payment"];
        for (claims, names) in [(keyed, &of_keyed[..]), (unkeyed, &["tenant", "account", "payment"][..])] {
            let [any_slot, all_slots] = claims.map(parts);
            for name in names {
                assert!(any_slot.contains_key(*name), "{name}");
                assert_eq!(any_slot.get(*name), all_slots.get(*name), "{name}");
            }
            // They differ in where the money comes from.
            assert_ne!(any_slot.get("debit"), all_slots.get("debit"));
        }
    }
}
