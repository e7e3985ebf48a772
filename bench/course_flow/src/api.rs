//! HTTP: the product's route, body, checks and answers, as far as the load looks at them. Knows no SQL.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use uuid::Uuid;

use crate::ledger::{Ledger, Order, Outcome, Payment};

const CREATED_AT: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:6]Z");
const AMOUNT_LIMIT: i64 = 1_000_000_000_000_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    amount: i64,
    recipient_id: Uuid,
    account_id: Uuid,
}

#[derive(Serialize)]
struct PaymentBody<'a> {
    payment_id: Uuid,
    status: &'a str,
    account_id: Uuid,
    recipient_id: Uuid,
    amount: i64,
    currency: &'a str,
    created_at: String,
}

/// `POST /api/v1/payments`
pub(crate) fn router(ledger: Arc<Ledger>) -> Router {
    Router::new().route("/api/v1/payments", post(create_payment)).with_state(ledger)
}

async fn create_payment(State(ledger): State<Arc<Ledger>>, headers: HeaderMap, Json(body): Json<Body>) -> Response {
    let key = headers.get("Idempotency-Key").and_then(|value| value.to_str().ok()?.parse::<Uuid>().ok());
    let Some(key) = key.filter(|_| (1..=AMOUNT_LIMIT).contains(&body.amount)) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let order = Order { account: body.account_id, recipient: body.recipient_id, amount: body.amount };
    match ledger.pay(key, &order).await {
        Ok(Outcome::Executed(payment)) => answer(&payment),
        Ok(Outcome::Replayed(payment)) => ([("Idempotent-Replayed", "true")], answer(&payment)).into_response(),
        Ok(Outcome::UnknownAccount) => StatusCode::NOT_FOUND.into_response(),
        Ok(Outcome::KeyReused) => StatusCode::UNPROCESSABLE_ENTITY.into_response(),
        Err(error) => {
            eprintln!("{error:#}");
            StatusCode::SERVICE_UNAVAILABLE.into_response()
        }
    }
}

fn answer(payment: &Payment) -> Response {
    let status = if payment.status == "succeeded" { StatusCode::OK } else { StatusCode::PAYMENT_REQUIRED };
    let body = PaymentBody {
        payment_id: payment.id,
        status: &payment.status,
        account_id: payment.order.account,
        recipient_id: payment.order.recipient,
        amount: payment.order.amount,
        currency: &payment.currency,
        created_at: payment.created_at.format(CREATED_AT).unwrap_or_default(),
    };
    (status, Json(body)).into_response()
}
