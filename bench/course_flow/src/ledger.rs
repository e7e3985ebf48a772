//! The course's flow: BEGIN, INSERT of the key, SELECT … FOR UPDATE, UPDATE, INSERT of the payment, COMMIT.
//! Statements are prepared once for each connection.

use anyhow::{Context as _, Result};
use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime, Transaction};
use time::OffsetDateTime;
use tokio_postgres::{NoTls, Row};
use uuid::Uuid;

const CLAIM: &str = "INSERT INTO idempotency_keys (key, payment_id) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING";
const LOCK: &str = "SELECT balance, currency FROM accounts WHERE id = $1 FOR UPDATE";
const DEBIT: &str = "UPDATE accounts SET balance = balance - $2 WHERE id = $1";
const RECORD: &str = "INSERT INTO payments (id, account_id, recipient_id, amount, currency, status) \
    VALUES ($1, $2, $3, $4, $5, $6) RETURNING created_at";
const FIND: &str = "SELECT p.id, p.account_id, p.recipient_id, p.amount, p.currency, p.status, p.created_at \
    FROM idempotency_keys k JOIN payments p ON p.id = k.payment_id WHERE k.key = $1";

/// What is to be paid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    /// The account that pays.
    pub(crate) account: Uuid,
    /// Who receives the money.
    pub(crate) recipient: Uuid,
    /// Minor units.
    pub(crate) amount: i64,
}

/// A payment that was decided.
pub(crate) struct Payment {
    pub(crate) id: Uuid,
    pub(crate) order: Order,
    pub(crate) currency: String,
    /// `succeeded` or `declined`.
    pub(crate) status: String,
    pub(crate) created_at: OffsetDateTime,
}

/// How a request ended.
pub(crate) enum Outcome {
    /// Paid or declined now.
    Executed(Payment),
    /// Paid or declined before.
    Replayed(Payment),
    /// No such account.
    UnknownAccount,
    /// The key belongs to another request.
    KeyReused,
}

/// The accounts, payments and keys.
pub(crate) struct Ledger {
    pool: Pool,
}

impl Ledger {
    /// Connects when it is first used.
    pub(crate) fn new(url: &str, connections: usize) -> Result<Self> {
        let config: tokio_postgres::Config = url.parse().context("DATABASE_URL is not usable")?;
        let manager = Manager::from_config(config, NoTls, ManagerConfig { recycling_method: RecyclingMethod::Fast });
        let pool = Pool::builder(manager).max_size(connections).runtime(Runtime::Tokio1).build()?;
        Ok(Self { pool })
    }

    /// Pays once for each key.
    pub(crate) async fn pay(&self, key: Uuid, order: &Order) -> Result<Outcome> {
        let mut client = self.pool.get().await.context("no connection to the database")?;
        let transaction = client.transaction().await?;
        let id = Uuid::new_v4();
        let claim = transaction.prepare_cached(CLAIM).await?;
        if transaction.execute(&claim, &[&key, &id]).await? == 0 {
            return replay(&transaction, key, order).await;
        }
        let lock = transaction.prepare_cached(LOCK).await?;
        let Some(account) = transaction.query_opt(&lock, &[&order.account]).await? else {
            return Ok(Outcome::UnknownAccount);
        };
        let (balance, currency): (i64, String) = (account.try_get(0)?, account.try_get(1)?);
        let payment = decide(&transaction, id, order, balance, currency).await?;
        transaction.commit().await?;
        Ok(Outcome::Executed(payment))
    }
}

async fn decide(
    transaction: &Transaction<'_>,
    id: Uuid,
    order: &Order,
    balance: i64,
    currency: String,
) -> Result<Payment> {
    let status = if balance >= order.amount { "succeeded" } else { "declined" };
    if status == "succeeded" {
        let debit = transaction.prepare_cached(DEBIT).await?;
        transaction.execute(&debit, &[&order.account, &order.amount]).await?;
    }
    let record = transaction.prepare_cached(RECORD).await?;
    let values: [&(dyn tokio_postgres::types::ToSql + Sync); 6] =
        [&id, &order.account, &order.recipient, &order.amount, &currency, &status];
    let created_at = transaction.query_one(&record, &values).await?.try_get(0)?;
    Ok(Payment { id, order: order.clone(), currency, status: status.to_owned(), created_at })
}

/// Reads what was decided; the transaction is rolled back as it is dropped.
async fn replay(transaction: &Transaction<'_>, key: Uuid, order: &Order) -> Result<Outcome> {
    let find = transaction.prepare_cached(FIND).await?;
    let payment = payment(&transaction.query_one(&find, &[&key]).await?)?;
    Ok(if payment.order == *order { Outcome::Replayed(payment) } else { Outcome::KeyReused })
}

fn payment(row: &Row) -> Result<Payment> {
    Ok(Payment {
        id: row.try_get(0)?,
        order: Order { account: row.try_get(1)?, recipient: row.try_get(2)?, amount: row.try_get(3)? },
        currency: row.try_get(4)?,
        status: row.try_get(5)?,
        created_at: row.try_get(6)?,
    })
}
