//! Look-ups on PostgreSQL.

use tokio_postgres::types::Type;
use uuid::Uuid;

use crate::domain::{Caller, Invocation, PaymentId};
use crate::ports::{GetPayment, LedgerError, LookUp};

use super::database::Statement;
use super::failure::RowError;
use super::{PostgresLedger, payment_row};

/// Reads one payment and writes nothing.
#[expect(clippy::ref_option, reason = "a parameter that may be null is bound by reference")]
pub(super) fn get<'a>(tenant: &'a Uuid, payment: &'a Uuid, version: &'a Option<i64>) -> Statement<'a> {
    Statement {
        sql: include_str!("sql/get_payment.sql"),
        parameters: vec![(tenant, Type::UUID), (payment, Type::UUID), (version, Type::INT8)],
    }
}

impl GetPayment for PostgresLedger {
    async fn get_payment(
        &self,
        caller: &Caller,
        payment: PaymentId,
        invocation: &Invocation,
    ) -> Result<LookUp, LedgerError> {
        let version = caller.version().map(i64::from);
        let rows = self.executor.repeatable(get(&caller.tenant.0, &payment.0, &version), invocation).await?;
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
