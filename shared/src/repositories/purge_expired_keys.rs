//! The purge on PostgreSQL.

use tokio_postgres::types::Type;

use crate::domain::Invocation;
use crate::ports::{LedgerError, PurgeExpiredKeys};

use super::PostgresLedger;
use super::database::Statement;
use super::failure::Failure;

impl PurgeExpiredKeys for PostgresLedger {
    async fn purge_batch(
        &self,
        retention_days: i32,
        batch: i64,
        invocation: &Invocation,
    ) -> Result<u64, LedgerError> {
        let statement = Statement {
            sql: include_str!("sql/purge_expired_keys.sql"),
            parameters: vec![(&retention_days, Type::INT4), (&batch, Type::INT8)],
        };
        let rows = self.executor.repeatable(statement, invocation).await?;
        let deleted = rows
            .first()
            .map_or(Ok(0), |row| row.try_get::<_, i64>("deleted"));
        deleted
            .map(i64::unsigned_abs)
            .map_err(|error| Failure::Row(error.into()).into())
    }
}
