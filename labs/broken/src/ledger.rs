//! The steps of a payment on the product's tables, one SQL statement each. Knows no order of steps.

use anyhow::{Context as _, Result};
use deadpool_postgres::{Client, Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use tokio_postgres::{GenericClient, NoTls, Row};
use uuid::Uuid;

/// As many as the clients of the trial, so that none waits for a connection.
const CONNECTIONS: usize = 24;
const COLUMNS: &str = "id, account_id, recipient_id, amount, currency, status, \
    to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') AS created_at";

/// What is to be paid.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Order {
    /// The idempotency key as it is stored.
    pub(crate) key: Uuid,
    /// The account that pays.
    pub(crate) account: Uuid,
    /// Who receives the money.
    pub(crate) recipient: Uuid,
    /// Minor units.
    pub(crate) amount: i64,
}

/// What was paid or declined.
pub(crate) struct Payment {
    pub(crate) id: Uuid,
    pub(crate) account: Uuid,
    pub(crate) recipient: Uuid,
    /// Minor units.
    pub(crate) amount: i64,
    pub(crate) currency: String,
    pub(crate) status: String,
    /// RFC 3339 in UTC.
    pub(crate) created_at: String,
}

/// The connections.
pub(crate) struct Ledger(Pool);

impl Ledger {
    /// Connects when it is first used.
    pub(crate) fn new(url: &str) -> Result<Self> {
        let config: tokio_postgres::Config = url.parse().context("DATABASE_URL is not usable")?;
        let manager =
            Manager::from_config(config, NoTls, ManagerConfig { recycling_method: RecyclingMethod::Verified });
        Ok(Self(Pool::builder(manager).max_size(CONNECTIONS).runtime(Runtime::Tokio1).build()?))
    }

    /// A connection.
    pub(crate) async fn client(&self) -> Result<Client> {
        self.0.get().await.context("no connection to the database")
    }
}

/// The account that pays when a request names none.
pub(crate) async fn default_account(client: &impl GenericClient, tenant: Uuid) -> Result<Uuid> {
    let sql = "SELECT default_account_id FROM tenants WHERE id = $1";
    Ok(client.query_one(sql, &[&tenant]).await?.try_get(0)?)
}

/// The payment of a key.
pub(crate) async fn payment_of(client: &impl GenericClient, key: Uuid) -> Result<Option<Payment>> {
    let sql =
        format!("SELECT {COLUMNS} FROM payments WHERE id = (SELECT payment_id FROM idempotency_keys WHERE key = $1)");
    client.query_opt(&sql, &[&key]).await?.as_ref().map(payment).transpose()
}

/// Takes the money. False: there is not enough.
pub(crate) async fn withdraw(client: &impl GenericClient, order: &Order) -> Result<bool> {
    let sql = "UPDATE account_slots SET balance = balance - $2 WHERE account_id = $1 AND slot = 0 AND balance >= $2";
    Ok(client.execute(sql, &[&order.account, &order.amount]).await? == 1)
}

/// Records a payment.
pub(crate) async fn insert_payment(
    client: &impl GenericClient,
    id: Uuid,
    order: &Order,
    status: &str,
) -> Result<Payment> {
    let sql = format!(
        "INSERT INTO payments (id, tenant_id, account_id, from_default, recipient_id, amount, currency, status) \
         SELECT $1, tenant_id, account_id, false, $3, $4, currency, $5 FROM account_slots \
         WHERE account_id = $2 AND slot = 0 RETURNING {COLUMNS}"
    );
    payment(&client.query_one(&sql, &[&id, &order.account, &order.recipient, &order.amount, &status]).await?)
}

/// Lets the key name the payment; an error if it names one already.
pub(crate) async fn insert_key(client: &impl GenericClient, key: Uuid, payment: &Payment) -> Result<()> {
    let sql = "INSERT INTO idempotency_keys (key, payment_id, status) VALUES ($1, $2, $3)";
    client.execute(sql, &[&key, &payment.id, &payment.status]).await?;
    Ok(())
}

fn payment(row: &Row) -> Result<Payment> {
    Ok(Payment {
        id: row.try_get("id")?,
        account: row.try_get("account_id")?,
        recipient: row.try_get("recipient_id")?,
        amount: row.try_get("amount")?,
        currency: row.try_get("currency")?,
        status: row.try_get("status")?,
        created_at: row.try_get("created_at")?,
    })
}
