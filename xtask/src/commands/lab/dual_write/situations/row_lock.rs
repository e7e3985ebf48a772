//! Holds an account's row from outside, so that a payment waits inside the database for as long as a situation wants.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::stack::postgres;

const POLL: Duration = Duration::from_millis(5);
const LIMIT: Duration = Duration::from_secs(10);

/// The row is locked until it is released or dropped.
pub(super) struct RowLock {
    session: Client,
}

impl RowLock {
    /// Locks the account's row.
    pub(super) async fn take(owner_url: &str, account: Uuid) -> Result<Self> {
        let session = postgres::connect(owner_url).await?;
        session.batch_execute("BEGIN").await?;
        session.execute("SELECT FROM accounts WHERE id = $1 FOR UPDATE", &[&account]).await?;
        Ok(Self { session })
    }

    /// Waits until so many sessions of that name wait for a lock.
    pub(super) async fn until_waiting(&self, ledger: &Client, sessions: &str, count: i64) -> Result<()> {
        let waiting = self.until_waiting_for_at_most(ledger, sessions, count, LIMIT).await?;
        ensure!(waiting, "{count} payments should wait for the account's row by now");
        Ok(())
    }

    /// The same, but gives up quietly after `limit`; says whether they wait.
    pub(super) async fn until_waiting_for_at_most(
        &self,
        ledger: &Client,
        sessions: &str,
        count: i64,
        limit: Duration,
    ) -> Result<bool> {
        let waiting = "SELECT count(*) >= $2 FROM pg_stat_activity \
            WHERE application_name = $1 AND wait_event_type = 'Lock'";
        is_true_within(ledger, waiting, &[&sessions, &count], limit).await
    }

    /// Lets the waiting payments go on.
    pub(super) async fn release(&self) -> Result<()> {
        Ok(self.session.batch_execute("ROLLBACK").await?)
    }
}

/// Asks the database until it says true.
pub(super) async fn until(ledger: &Client, question: &str, parameters: &[&(dyn ToSql + Sync)]) -> Result<()> {
    let was_true = is_true_within(ledger, question, parameters, LIMIT).await?;
    ensure!(was_true, "still not so after {LIMIT:?}: {question}");
    Ok(())
}

async fn is_true_within(
    ledger: &Client,
    question: &str,
    parameters: &[&(dyn ToSql + Sync)],
    limit: Duration,
) -> Result<bool> {
    let deadline = Instant::now() + limit;
    loop {
        if ledger.query_one(question, parameters).await?.try_get(0)? {
            return Ok(true);
        }
        if Instant::now() > deadline {
            return Ok(false);
        }
        tokio::time::sleep(POLL).await;
    }
}
