//! Look-ups on PostgreSQL.

use tokio_postgres::types::Type;
use uuid::Uuid;

use crate::domain::{Invocation, Payment, PaymentId, TenantId};
use crate::ports::{GetPayment, LedgerError};

use super::database::Statement;
use super::{PostgresLedger, payment_row};

impl GetPayment for PostgresLedger {
    async fn get_payment(
        &self,
        tenant: TenantId,
        payment: PaymentId,
        invocation: &Invocation,
    ) -> Result<Option<Payment>, LedgerError> {
        let rows = self
            .executor
            .repeatable(statement(&tenant.0, &payment.0), invocation)
            .await?;
        Ok(rows.first().map(payment_row::payment).transpose()?)
    }
}

/// Selects one payment of one tenant.
pub(super) fn statement<'a>(tenant: &'a Uuid, payment: &'a Uuid) -> Statement<'a> {
    Statement {
        sql: include_str!("sql/get_payment.sql"),
        parameters: vec![(tenant, Type::UUID), (payment, Type::UUID)],
    }
}
