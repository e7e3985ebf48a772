//! A payment as clients read it. The bytes depend on the stored payment alone, so a replay is byte-identical.

use bytes::Bytes;
use http::{HeaderValue, Response, header};
use serde::Serialize;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use uuid::Uuid;

use crate::domain::Payment;

/// RFC 3339, UTC, always six digits of a second.
const CREATED_AT: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:6]Z");

#[derive(Serialize)]
struct PaymentBody<'a> {
    payment_id: Uuid,
    status: &'static str,
    account_id: Uuid,
    recipient_id: Uuid,
    amount: i64,
    currency: &'a str,
    created_at: String,
}

/// 200 with the payment.
pub(super) fn response(payment: &Payment) -> Response<Bytes> {
    let body = PaymentBody {
        payment_id: payment.id.0,
        status: payment.status.as_str(),
        account_id: payment.account.0,
        recipient_id: payment.recipient.0,
        amount: payment.amount.get(),
        currency: payment.currency.as_str(),
        created_at: payment.created_at.format(CREATED_AT).unwrap_or_default(),
    };
    let mut response = Response::new(serde_json::to_vec(&body).unwrap_or_default().into());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
