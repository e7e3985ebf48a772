//! Holds the real payment path open just before its commit, for as long as a test wants.

use super::Ledger;

/// While it is held, every payment of the database does its work and then waits to commit.
pub(crate) struct Hold<'a> {
    ledger: &'a Ledger,
}

impl<'a> Hold<'a> {
    /// Installs a trigger that runs at commit, and takes the lock that it waits for.
    pub(crate) async fn new(ledger: &'a Ledger) -> Self {
        // The function lifts the role's lock_timeout, or the held payment would give up itself.
        let sql = "CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = 0 AS $$
             BEGIN
                 PERFORM pg_advisory_xact_lock_shared(1);
                 RETURN NULL;
             END $$;
             CREATE CONSTRAINT TRIGGER hold AFTER INSERT ON payments
                 DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION hold();
             SELECT pg_advisory_lock(1);";
        ledger.owner.batch_execute(sql).await.unwrap();
        Self { ledger }
    }

    /// Waits until so many payments are held.
    pub(crate) async fn until_held(&self, payments: i64) {
        self.ledger.until_waiting(payments, &["advisory"]).await;
    }

    /// Waits until so many payments wait for a held one.
    pub(crate) async fn until_rivals_wait(&self, payments: i64) {
        self.ledger.until_waiting(payments, &["transactionid", "tuple"]).await;
    }

    /// Cancels the held payment, as its `statement_timeout` would: it is rolled back.
    pub(crate) async fn cancel(&self) {
        let sql = "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity \
                   WHERE datname = current_database() AND wait_event = 'advisory'";
        let cancelled: i64 = self.ledger.owner.query_one(sql, &[]).await.unwrap().get(0);
        assert_eq!(cancelled, 1);
    }

    /// Lets everything commit.
    pub(crate) async fn release(&self) {
        let sql = "SELECT pg_advisory_unlock(1)";
        assert!(self.ledger.owner.query_one(sql, &[]).await.unwrap().get::<_, bool>(0));
    }
}
