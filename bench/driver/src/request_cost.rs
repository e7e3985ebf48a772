//! One request's way through the handler without a database: signature, parsing, rendering, log and metrics.
//! Run it under `callgrind` or `perf stat` with two counts of requests; the difference leaves the start of the process out.

use std::io::Write;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Result, ensure};
use bytes::Bytes;
use http::Request;
use payments::auth::http_signature::{MasterSecrets, Nonce};
use payments::auth::{Authenticator, TENANT_ID};
use payments::domain::{
    AccountId, Caller, Currency, Idempotency, Invocation, Payment, PaymentId, PaymentStatus, Withdrawal,
};
use payments::handlers::{CreatePaymentHandler, serve};
use payments::ports::{CreatePayment, LedgerAnswer, LedgerError};
use payments::telemetry;
use payments::use_cases::WithdrawIdempotent;
use serde::Serialize;
use time::OffsetDateTime;
use tracing::level_filters::LevelFilter;
use uuid::Uuid;

use crate::http_load::signer;
use crate::subjects::{RECIPIENT, TENANT};

/// NOT A SECRET: 32 bytes of `A`.
const MASTER: &str = "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE=";

/// How often, and in which mode.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Requests
    #[arg(long, default_value_t = 10_000)]
    requests: u32,
    /// Sign the request
    #[arg(long)]
    signed: bool,
}

/// Time of one request.
#[derive(Serialize)]
pub(crate) struct Cost {
    requests: u32,
    microseconds: f64,
}

/// A ledger that has paid before it is asked.
struct Paid;

impl CreatePayment for Paid {
    async fn create_payment(
        &self,
        _: &Caller,
        withdrawal: &Withdrawal,
        _: &Idempotency,
        _: &Invocation,
    ) -> Result<LedgerAnswer, LedgerError> {
        let currency = Currency::parse("EUR").map_err(|error| LedgerError::Defect(error.into()))?;
        Ok(LedgerAnswer::Created(Payment {
            id: PaymentId(Uuid::nil()),
            account: withdrawal.account.unwrap_or(AccountId(Uuid::nil())),
            from_default: withdrawal.account.is_none(),
            recipient: withdrawal.recipient,
            amount: withdrawal.amount,
            currency,
            status: PaymentStatus::Succeeded,
            created_at: OffsetDateTime::UNIX_EPOCH,
        }))
    }
}

/// Answers the same request again and again.
pub(crate) async fn run(arguments: &Arguments) -> Result<Cost> {
    let authenticator =
        if arguments.signed { Authenticator::hmac(MASTER.parse::<MasterSecrets>()?) } else { Authenticator::Internal };
    let handler = CreatePaymentHandler::new(authenticator, WithdrawIdempotent::new(Paid));
    let request = request(arguments.signed)?;
    tracing::subscriber::set_global_default(telemetry::subscriber(|| Sink, LevelFilter::INFO))?;
    let started = Instant::now();
    for _ in 0..arguments.requests {
        let invocation = Invocation::new("00000000-0000-0000-0000-000000000000".to_owned(), Duration::from_secs(9));
        let response = serve(&handler, request.clone(), &invocation).await;
        ensure!(response.status() == 200, "{response:?}");
    }
    let microseconds = started.elapsed().as_secs_f64() * 1e6 / f64::from(arguments.requests);
    Ok(Cost { requests: arguments.requests, microseconds })
}

fn request(signed: bool) -> Result<Request<Bytes>> {
    let body = format!(r#"{{"amount":2500,"recipient_id":"{RECIPIENT}"}}"#);
    let request = Request::post("/api/v1/payments")
        .header("host", "127.0.0.1:8080")
        .header("content-type", "application/json")
        .header("idempotency-key", Uuid::nil().to_string());
    let request = if signed { request } else { request.header(TENANT_ID, TENANT.to_string()) };
    let (mut parts, body) = request.body(Bytes::from(body))?.into_parts();
    if signed {
        let created = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs())?;
        signer(MASTER)?.sign(&mut parts, &body, created, &Nonce::random())?;
    }
    Ok(Request::from_parts(parts, body))
}

/// Takes the log, and leaves the cost of the system's call out.
struct Sink;

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
