//! Look-ups on PostgreSQL.

use tokio_postgres::types::Type;

use crate::domain::{Caller, Invocation, PaymentId};
use crate::ports::{GetPayment, LedgerError, LookUp};

use super::database::Statement;
use super::failure::RowError;
use super::{PostgresLedger, payment_row};

impl GetPayment for PostgresLedger {
    async fn get_payment(
        &self,
        caller: &Caller,
        payment: PaymentId,
        invocation: &Invocation,
    ) -> Result<LookUp, LedgerError> {
        let version = caller.version().map(i64::from);
        let statement = Statement {
            sql: include_str!("sql/get_payment.sql"),
            parameters: vec![(&caller.tenant.0, Type::UUID), (&payment.0, Type::UUID), (&version, Type::INT8)],
        };
        let rows = self.executor.repeatable(statement, invocation).await?;
        let Some(row) = rows.first() else {
            return Ok(LookUp::Unknown);
        };
        match payment_row::result(row)? {
            "found" => Ok(LookUp::Found(payment_row::payment(row)?)),
            "unknown_caller" => Ok(LookUp::UnknownCaller),
            other => Err(RowError::unknown_result(other).into()),
        }
    }
}
