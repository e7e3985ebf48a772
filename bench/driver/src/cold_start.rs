//! One process of a function, from its start to its first answer. A small stand-in for Lambda's runtime API hands out one
//! event and takes the answer: nothing but the process itself is measured.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::time::timeout;
use uuid::Uuid;

use crate::subjects::{RECIPIENT, TENANT};

const LIMIT: Duration = Duration::from_secs(20);

/// Which process.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The function's binary; it inherits this process's environment
    #[arg(long)]
    function: PathBuf,
    /// An event that is refused before the database is asked
    #[arg(long)]
    without_database: bool,
}

/// Times are in milliseconds.
#[derive(Serialize)]
pub(crate) struct Started {
    /// The answer's status.
    status: u64,
    /// From the start of the process to its answer.
    total_ms: f64,
    /// Of that, from the event to the answer, as the function reports it.
    handling_ms: f64,
    /// Of that, waiting for a connection to the database, as the function reports it.
    connect_ms: f64,
}

struct Runtime {
    event: String,
    asked: std::sync::atomic::AtomicBool,
    answers: mpsc::Sender<(Instant, Bytes)>,
}

/// Starts the process, gives it the event, and ends it after its answer.
pub(crate) async fn run(arguments: &Arguments) -> Result<Started> {
    let (answers, mut heard) = mpsc::channel(1);
    let runtime = Runtime { event: event(!arguments.without_database).to_string(), asked: false.into(), answers };
    let address = serve(runtime).await?;
    let mut command = Command::new(&arguments.function);
    command
        .env("AWS_LAMBDA_RUNTIME_API", address.to_string())
        .env("AWS_LAMBDA_FUNCTION_NAME", "bench")
        .env("AWS_LAMBDA_FUNCTION_VERSION", "1")
        .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256")
        .env("AWS_LAMBDA_LOG_GROUP_NAME", "bench")
        .env("AWS_LAMBDA_LOG_STREAM_NAME", "bench");
    let started = Instant::now();
    let mut process = command.stdout(Stdio::piped()).kill_on_drop(true).spawn().context("cannot start the function")?;
    let output = process.stdout.take().context("the function has no output")?;
    let (answered, answer) = timeout(LIMIT, heard.recv()).await.context("no answer")?.context("no answer")?;
    process.kill().await?;
    let answer: Value = serde_json::from_slice(&answer)?;
    let (handling_ms, connect_ms) = told(output).await;
    Ok(Started {
        status: answer.get("statusCode").and_then(Value::as_u64).unwrap_or_default(),
        total_ms: (answered - started).as_secs_f64() * 1e3,
        handling_ms,
        connect_ms,
    })
}

/// The time of the request in the function's log line, and of it the wait for a connection; nothing for a function that
/// writes none.
async fn told(output: impl AsyncRead + Unpin) -> (f64, f64) {
    let mut lines = BufReader::new(output).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let line: Value = serde_json::from_str(&line).unwrap_or_default();
        let time = |name| line.get(name).and_then(Value::as_f64);
        if let (Some(handling), Some(wait)) = (time("duration_ms"), time("pool_wait_ms")) {
            return (handling, wait);
        }
    }
    (0.0, 0.0)
}

async fn serve(runtime: Runtime) -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let routes = Router::new()
        .route("/2018-06-01/runtime/invocation/next", get(next))
        .route("/2018-06-01/runtime/invocation/{id}/response", post(response))
        .with_state(Arc::new(runtime));
    tokio::spawn(async move { axum::serve(listener, routes).await });
    Ok(address)
}

async fn next(State(runtime): State<Arc<Runtime>>) -> impl IntoResponse {
    if runtime.asked.swap(true, std::sync::atomic::Ordering::Relaxed) {
        // There is no second event.
        std::future::pending::<()>().await;
    }
    let deadline = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() + LIMIT;
    let headers = [
        ("content-type", "application/json".to_owned()),
        ("lambda-runtime-aws-request-id", Uuid::new_v4().to_string()),
        ("lambda-runtime-deadline-ms", deadline.as_millis().to_string()),
        ("lambda-runtime-invoked-function-arn", "arn:aws:lambda:eu-central-1:123456789012:function:bench".to_owned()),
    ];
    (headers, runtime.event.clone())
}

async fn response(State(runtime): State<Arc<Runtime>>, body: Bytes) -> StatusCode {
    // Nobody listens any more when the answer came too late.
    let _ = runtime.answers.send((Instant::now(), body)).await;
    StatusCode::ACCEPTED
}

/// An event as API Gateway sends it, with a key or, to be refused at once, without.
fn event(with_key: bool) -> Value {
    let mut event: Value =
        serde_json::from_str(include_str!("../../../shared/tests/integration/events/create_payment.json"))
            .unwrap_or_default();
    if let Some(headers) = event.get_mut("headers").and_then(Value::as_object_mut) {
        headers.insert("tenant-id".to_owned(), TENANT.to_string().into());
        headers.remove("idempotency-key");
        if with_key {
            headers.insert("idempotency-key".to_owned(), Uuid::new_v4().to_string().into());
        }
    }
    if let Some(body) = event.get_mut("body") {
        *body = json!({ "amount": 1, "recipient_id": RECIPIENT }).to_string().into();
    }
    event
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_event_carries_a_key_or_none() {
        let key = |event: &Value| event.pointer("/headers/idempotency-key").is_some();
        assert!(key(&event(true)) && !key(&event(false)));
        assert_eq!(event(true).pointer("/headers/tenant-id"), Some(&TENANT.to_string().into()));
    }
}
