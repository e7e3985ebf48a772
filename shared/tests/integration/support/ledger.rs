//! The fixture of cases.md, and what the database holds.

use futures_util::future::LocalBoxFuture;
use futures_util::{FutureExt as _, join};
use tokio_postgres::Client;
use uuid::Uuid;

use super::{TestDatabase, until};

/// Tenant T1 with account A and tenant T2 with account Z, 10,000 minor units of EUR each.
pub(crate) struct Ledger {
    pub(crate) t1: Uuid,
    pub(crate) a: Uuid,
    pub(crate) t2: Uuid,
    pub(crate) z: Uuid,
    pub(crate) owner: Client,
}

impl Ledger {
    /// Writes the fixture as the owner.
    pub(crate) async fn new(owner: Client) -> Self {
        let t1 = create_tenant(&owner).await;
        let t2 = create_tenant(&owner).await;
        let a = create_account(&owner, t1, "EUR", 10_000).await;
        let z = create_account(&owner, t2, "EUR", 10_000).await;
        for (tenant, account) in [(t1, a), (t2, z)] {
            set_default_account(&owner, tenant, account).await;
        }
        Self { t1, a, t2, z, owner }
    }

    /// The balance of an account in minor units.
    pub(crate) async fn balance(&self, account: Uuid) -> i64 {
        self.count("SELECT balance FROM accounts WHERE id = $1", account).await
    }

    /// Adds to a balance.
    pub(crate) async fn top_up(&self, account: Uuid, amount: i64) {
        self.owner
            .execute("UPDATE accounts SET balance = balance + $2 WHERE id = $1", &[&account, &amount])
            .await
            .unwrap();
    }

    /// Splits a balance into so many slots.
    pub(crate) async fn split(&self, account: Uuid, slots: i16) {
        let sql = "UPDATE accounts SET slots = $2 WHERE id = $1";
        assert_eq!(self.owner.execute(sql, &[&account, &slots]).await.unwrap(), 1);
    }

    /// Payments of a tenant, succeeded or declined.
    pub(crate) async fn payments(&self, tenant: Uuid) -> i64 {
        self.count("SELECT count(*) FROM payments WHERE tenant_id = $1", tenant).await
    }

    /// Idempotency keys of a tenant.
    pub(crate) async fn keys(&self, tenant: Uuid) -> i64 {
        let sql =
            "SELECT count(*) FROM idempotency_keys k JOIN payments p ON p.id = k.payment_id WHERE p.tenant_id = $1";
        self.count(sql, tenant).await
    }

    /// Asserts the balance of A, and that T1 has so many payments, each with its key.
    pub(crate) async fn assert_t1(&self, balance: i64, payments: i64) {
        assert_eq!(self.balance(self.a).await, balance, "balance");
        assert_eq!((self.payments(self.t1).await, self.keys(self.t1).await), (payments, payments), "payments and keys");
    }

    /// A second account of T1 with 10,000 minor units of EUR.
    pub(crate) async fn second_account(&self) -> Uuid {
        create_account(&self.owner, self.t1, "EUR", 10_000).await
    }

    /// Runs `payment` while an open transaction of the owner has changed account A by that statement, and commits the change
    /// when the payment waits for it.
    pub(crate) fn beside_a_change<'a, T: 'a>(
        &'a self,
        database: &'a TestDatabase,
        change: &'a str,
        payment: impl Future<Output = T> + 'a,
    ) -> LocalBoxFuture<'a, T> {
        async move {
            let mut owner = database.owner().await;
            let transaction = owner.transaction().await.unwrap();
            transaction.execute(change, &[&self.a]).await.unwrap();
            let commit = async {
                self.until_waiting(1, &["transactionid", "tuple"]).await;
                transaction.commit().await.unwrap();
            };
            join!(payment, commit).0
        }
        .boxed_local()
    }

    /// Makes every key look that many days older.
    pub(crate) async fn age_keys(&self, days: i32) {
        let sql = "UPDATE idempotency_keys SET created_at = created_at - make_interval(days => $1)";
        self.owner.execute(sql, &[&days]).await.unwrap();
    }

    /// Ends every session of the application in this database.
    pub(crate) async fn terminate_sessions(&self) {
        let sql = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                   WHERE datname = current_database() AND pid <> pg_backend_pid() AND usename = 'payments_app'";
        let ended: i64 = self.owner.query_one(sql, &[]).await.unwrap().get(0);
        assert!(ended > 0, "there was a session to end");
    }

    /// Waits until so many sessions of this database wait on that lock event (`advisory`, or a rival's `transactionid` or `tuple`).
    pub(crate) async fn until_waiting(&self, sessions: i64, events: &[&str]) {
        let sql = "SELECT count(*) FROM pg_stat_activity \
                   WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event = ANY($1)";
        until("sessions wait", async || {
            let waiting: i64 = self.owner.query_one(sql, &[&events]).await.unwrap().get(0);
            waiting >= sessions
        })
        .await;
    }

    /// Waits until the application has no session left, so that each has reported its statistics.
    pub(crate) async fn until_no_sessions(&self) {
        let sql =
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = 'payments_app'";
        until("the sessions end", async || self.owner.query_one(sql, &[]).await.unwrap().get::<_, i64>(0) == 0).await;
    }

    /// Asserts that nothing has happened since the fixture was written: no payment, no key, balances unchanged.
    pub(crate) async fn assert_noop(&self) {
        let row = self
            .owner
            .query_one("SELECT (SELECT count(*) FROM payments), (SELECT count(*) FROM idempotency_keys)", &[])
            .await
            .unwrap();
        assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (0, 0), "payments and keys");
        assert_eq!((self.balance(self.a).await, self.balance(self.z).await), (10_000, 10_000), "balances");
    }

    async fn count(&self, sql: &str, id: Uuid) -> i64 {
        self.owner.query_one(sql, &[&id]).await.unwrap().get(0)
    }
}

/// A tenant without accounts.
pub(crate) async fn create_tenant(owner: &Client) -> Uuid {
    let id = Uuid::new_v4();
    owner.execute("INSERT INTO tenants (id, name) VALUES ($1, 'test')", &[&id]).await.unwrap();
    id
}

/// An account with a balance in minor units.
pub(crate) async fn create_account(owner: &Client, tenant: Uuid, currency: &str, balance: i64) -> Uuid {
    let id = Uuid::new_v4();
    let sql = "INSERT INTO accounts (id, tenant_id, currency, balance) VALUES ($1, $2, $3, $4)";
    owner.execute(sql, &[&id, &tenant, &currency, &balance]).await.unwrap();
    id
}

/// Makes an account the tenant's default.
pub(crate) async fn set_default_account(owner: &Client, tenant: Uuid, account: Uuid) {
    let sql = "UPDATE tenants SET default_account_id = $2 WHERE id = $1";
    owner.execute(sql, &[&tenant, &account]).await.unwrap();
}
