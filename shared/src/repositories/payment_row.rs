//! The row that every payment statement returns, and what it says.

use time::OffsetDateTime;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::domain::{AccountId, Currency, MinorUnits, Payment, PaymentId, PaymentStatus, RecipientId};

use super::failure::RowError;

/// The word in the column `result`.
pub(super) fn result(row: &Row) -> Result<&str, RowError> {
    Ok(row.try_get("result")?)
}

/// The payment in the other columns.
pub(super) fn payment(row: &Row) -> Result<Payment, RowError> {
    read(row).map_err(RowError::new)
}

fn read(row: &Row) -> Result<Payment, Box<dyn std::error::Error + Send + Sync>> {
    let status: &str = row.try_get("status")?;
    Ok(Payment {
        id: PaymentId(row.try_get::<_, Uuid>("id")?),
        account: AccountId(row.try_get::<_, Uuid>("account_id")?),
        from_default: row.try_get("from_default")?,
        recipient: RecipientId(row.try_get::<_, Uuid>("recipient_id")?),
        amount: MinorUnits::new(row.try_get("amount")?)?,
        currency: Currency::parse(row.try_get("currency")?)?,
        status: PaymentStatus::parse(status).ok_or_else(|| format!("unknown status {status}"))?,
        created_at: row.try_get::<_, OffsetDateTime>("created_at")?,
    })
}
