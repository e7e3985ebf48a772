//! HTTP: the product's route, body and answers, as far as its clients look at them. Knows neither Redis nor SQL.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use crate::flows::{Flow, Outcome, Parts};
use crate::ledger::Order;

/// The body of a payment request.
#[derive(Deserialize)]
struct Body {
    account_id: Uuid,
    recipient_id: Uuid,
    amount: i64,
}

/// `POST /api/v1/payments`, paid by this flow.
pub(crate) fn router(parts: Arc<Parts>, flow: Flow) -> Router {
    Router::new().route("/api/v1/payments", post(create_payment)).with_state((parts, flow))
}

async fn create_payment(
    State((parts, flow)): State<(Arc<Parts>, Flow)>,
    headers: HeaderMap,
    Json(body): Json<Body>,
) -> Response {
    let key = headers.get("Idempotency-Key").and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    if key.is_empty() {
        return StatusCode::BAD_REQUEST.into_response();
    }
    let order = Order { account: body.account_id, recipient: body.recipient_id, amount: body.amount };
    // A task of its own: a client that leaves must not stop a payment half way.
    let paid = tokio::spawn(async move { flow.pay(&parts, &key, &order).await });
    match paid.await.context("the payment broke off").and_then(Result::from) {
        Ok(Outcome::Paid(payment)) => (StatusCode::OK, payment_body(payment)).into_response(),
        Ok(Outcome::Replayed(payment)) => {
            (StatusCode::OK, [("Idempotent-Replayed", "true")], payment_body(payment)).into_response()
        }
        Ok(Outcome::Declined) => StatusCode::PAYMENT_REQUIRED.into_response(),
        Ok(Outcome::Busy) => StatusCode::CONFLICT.into_response(),
        Err(error) => {
            eprintln!("{error:#}");
            StatusCode::SERVICE_UNAVAILABLE.into_response()
        }
    }
}

fn payment_body(payment: Uuid) -> Json<serde_json::Value> {
    Json(json!({ "payment_id": payment, "status": "succeeded" }))
}
