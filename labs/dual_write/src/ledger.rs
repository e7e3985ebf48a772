//! The money: PostgreSQL, the product's own tables and role. Knows no Redis and no idempotency key.

use anyhow::{Context as _, Result};
use deadpool_postgres::{Client, Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use tokio_postgres::{GenericClient, NoTls};
use uuid::Uuid;

/// More than any load of the lab has clients, so that none waits for a connection.
const CONNECTIONS: usize = 24;
/// How the lab finds this server's sessions.
const APPLICATION_NAME: &str = "dual_write";

/// What is to be paid.
pub(crate) struct Order {
    /// The account that pays.
    pub(crate) account: Uuid,
    /// Who receives the money.
    pub(crate) recipient: Uuid,
    /// Minor units.
    pub(crate) amount: i64,
}

/// The accounts and payments.
pub(crate) struct Ledger {
    pool: Pool,
}

impl Ledger {
    /// Connects when it is first used.
    pub(crate) fn new(url: &str) -> Result<Self> {
        let mut config: tokio_postgres::Config = url.parse().context("DATABASE_URL is not usable")?;
        config.application_name(APPLICATION_NAME);
        let manager = Manager::from_config(config, NoTls, ManagerConfig { recycling_method: RecyclingMethod::Fast });
        let pool = Pool::builder(manager).max_size(CONNECTIONS).runtime(Runtime::Tokio1).build()?;
        Ok(Self { pool })
    }

    /// Takes the money, as a transaction of its own. False: there is not enough.
    pub(crate) async fn withdraw(&self, order: &Order) -> Result<bool> {
        withdraw(&**self.client().await?, order).await
    }

    /// Records the payment, as a transaction of its own.
    pub(crate) async fn insert_payment(&self, payment: Uuid, order: &Order) -> Result<()> {
        insert_payment(&**self.client().await?, payment, order).await
    }

    /// Takes the money and records the payment, both or neither. False: there is not enough.
    pub(crate) async fn pay(&self, payment: Uuid, order: &Order) -> Result<bool> {
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        if !withdraw(&*transaction, order).await? {
            return Ok(false);
        }
        insert_payment(&*transaction, payment, order).await?;
        transaction.commit().await?;
        Ok(true)
    }

    async fn client(&self) -> Result<Client> {
        self.pool.get().await.context("no connection to the database")
    }
}

async fn withdraw(client: &impl GenericClient, order: &Order) -> Result<bool> {
    let statement =
        "UPDATE account_slots SET balance = balance - $2 WHERE account_id = $1 AND slot = 0 AND balance >= $2";
    Ok(client.execute(statement, &[&order.account, &order.amount]).await? == 1)
}

async fn insert_payment(client: &impl GenericClient, payment: Uuid, order: &Order) -> Result<()> {
    let statement = "INSERT INTO payments (id, tenant_id, account_id, from_default, recipient_id, amount, currency, status) \
        SELECT $1, tenant_id, account_id, false, $3, $4, currency, 'succeeded' FROM account_slots \
        WHERE account_id = $2 AND slot = 0";
    client.execute(statement, &[&payment, &order.account, &order.recipient, &order.amount]).await?;
    Ok(())
}
