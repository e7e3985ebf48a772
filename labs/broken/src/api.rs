//! HTTP: the product's routes, bodies and answers, as far as the torture's clients look at them. Knows no SQL.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::ledger::{self, Ledger, Order, Payment};
use crate::variants::{Outcome, Variant};

type Parts = (Arc<Ledger>, Variant);

/// The body of a payment request.
#[derive(Deserialize)]
struct Body {
    account_id: Option<Uuid>,
    recipient_id: Uuid,
    amount: i64,
}

#[derive(Deserialize)]
struct LookUp {
    idempotency_key: String,
}

/// The API, paid by this variant.
pub(crate) fn router(ledger: Arc<Ledger>, variant: Variant) -> Router {
    Router::new().route("/api/v1/payments", post(create_payment).get(find_payment)).with_state((ledger, variant))
}

async fn create_payment(
    State((ledger, variant)): State<Parts>,
    headers: HeaderMap,
    Json(body): Json<Body>,
) -> Response {
    let tenant = tenant(&headers);
    let key = headers.get("Idempotency-Key").and_then(|value| value.to_str().ok()).map(|key| stored(tenant, key));
    // A task of its own: a client that leaves must not stop a payment half way.
    let paid = tokio::spawn(async move {
        let account = match body.account_id {
            Some(account) => account,
            None => ledger::default_account(&**ledger.client().await?, tenant).await?,
        };
        let key = key.context("no key")?;
        let order = Order { key, account, recipient: body.recipient_id, amount: body.amount };
        let outcome = variant.pay(&ledger, &order).await?;
        anyhow::Ok((order, outcome))
    });
    match paid.await.context("the payment broke off").and_then(Result::from) {
        Ok((order, Outcome::Executed(payment))) => outcome(&order, &payment, false),
        Ok((order, Outcome::Replayed(payment))) => outcome(&order, &payment, true),
        Err(error) => unavailable(&error),
    }
}

async fn find_payment(State((ledger, _)): State<Parts>, headers: HeaderMap, Query(asked): Query<LookUp>) -> Response {
    let key = stored(tenant(&headers), &asked.idempotency_key);
    let found = async { ledger::payment_of(&**ledger.client().await?, key).await };
    match found.await {
        Ok(Some(payment)) => respond(StatusCode::OK, shown(&payment)),
        Ok(None) => respond(StatusCode::NOT_FOUND, json!({ "code": "payment_not_found" })),
        Err(error) => unavailable(&error),
    }
}

fn outcome(order: &Order, payment: &Payment, replayed: bool) -> Response {
    let same = (order.account, order.recipient, order.amount) == (payment.account, payment.recipient, payment.amount);
    let mut response = if !same {
        respond(StatusCode::UNPROCESSABLE_ENTITY, json!({ "code": "idempotency_key_reused" }))
    } else if payment.status == "succeeded" {
        respond(StatusCode::OK, shown(payment))
    } else {
        let body = json!({ "code": "insufficient_funds", "status": "declined", "payment_id": payment.id });
        respond(StatusCode::PAYMENT_REQUIRED, body)
    };
    if replayed {
        response.headers_mut().insert("Idempotent-Replayed", HeaderValue::from_static("true"));
    }
    response
}

fn unavailable(error: &anyhow::Error) -> Response {
    eprintln!("{error:#}");
    let mut response = respond(StatusCode::SERVICE_UNAVAILABLE, json!({ "code": "service_unavailable" }));
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

fn respond(status: StatusCode, body: Value) -> Response {
    (status, [("X-Request-Id", Uuid::new_v4().to_string())], Json(body)).into_response()
}

fn shown(payment: &Payment) -> Value {
    json!({
        "payment_id": payment.id,
        "status": payment.status,
        "account_id": payment.account,
        "recipient_id": payment.recipient,
        "amount": payment.amount,
        "currency": payment.currency,
        "created_at": payment.created_at,
    })
}

/// The signature names the tenant, and is believed.
fn tenant(headers: &HeaderMap) -> Uuid {
    let input = headers.get("Signature-Input").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let key_id = input.split_once("keyid=\"").map(|(_, rest)| rest).unwrap_or_default();
    key_id.split('.').next().and_then(|tenant| tenant.parse().ok()).unwrap_or_default()
}

/// One key may be written in several ways.
fn stored(tenant: Uuid, key: &str) -> Uuid {
    let key = key.trim_matches('"');
    let key = Uuid::try_parse(key).map_or_else(|_| key.to_owned(), |uuid| uuid.to_string());
    Uuid::new_v5(&tenant, key.as_bytes())
}
