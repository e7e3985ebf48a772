//! The purge on PostgreSQL.

use tokio_postgres::types::Type;

use crate::domain::Invocation;
use crate::ports::{Expired, LedgerError, PurgeExpiredKeys};

use super::PostgresLedger;
use super::database::Statement;
use super::failure::RowError;

impl PurgeExpiredKeys for PostgresLedger {
    async fn purge_batch(&self, expired: Expired, batch: i64, invocation: &Invocation) -> Result<u64, LedgerError> {
        let (sql, age) = match expired {
            Expired::Keys { days } => (include_str!("sql/purge_expired_keys.sql"), days),
            Expired::Nonces { minutes } => (include_str!("sql/purge_expired_nonces.sql"), minutes),
        };
        let statement = Statement { sql, parameters: vec![(&age, Type::INT4), (&batch, Type::INT8)] };
        let rows = self.executor.repeatable(statement, invocation).await?;
        let deleted = rows.first().map_or(Ok(0), |row| row.try_get::<_, i64>("deleted"));
        deleted.map(i64::unsigned_abs).map_err(|error| RowError::from(error).into())
    }
}
