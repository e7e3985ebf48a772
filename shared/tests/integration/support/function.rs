//! The real function in a process of its own, behind the runtime API that Lambda gives it: one sandbox, which can be killed.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::Pay;

/// More than any answer may take: the function's own time is 9 s.
const LIMIT: Duration = Duration::from_secs(10);

/// A process of `create_payment`, in internal mode. It ends with the test.
pub(crate) struct Function {
    process: Child,
    events: mpsc::UnboundedSender<Value>,
    answers: mpsc::UnboundedReceiver<Value>,
    /// The runtime API; dropping it closes it.
    _runtime: JoinSet<()>,
}

/// What the runtime API hands on between the test and the process.
#[derive(Clone)]
struct Runtime {
    events: Arc<Mutex<mpsc::UnboundedReceiver<Value>>>,
    answers: mpsc::UnboundedSender<Value>,
}

impl Function {
    /// Starts a process on that database, as the function's role.
    pub(crate) async fn start(database_url: &str) -> Self {
        let (events, received) = mpsc::unbounded_channel();
        let (sent, answers) = mpsc::unbounded_channel();
        let runtime = Runtime { events: Arc::new(Mutex::new(received)), answers: sent };
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let routes = Router::new()
            .route("/2018-06-01/runtime/invocation/next", get(next))
            .route("/2018-06-01/runtime/invocation/{id}/response", post(answered))
            .with_state(runtime);
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { process: spawn(&address, database_url), events, answers, _runtime: server }
    }

    /// Gives it a request, without waiting for anything.
    pub(crate) fn send(&self, pay: &Pay) {
        self.events.send(event(pay)).unwrap();
    }

    /// Gives it a request and waits for the answer: status and body.
    pub(crate) async fn pay(&mut self, pay: &Pay) -> (u64, Value) {
        self.send(pay);
        let answer = timeout(LIMIT, self.answers.recv()).await.unwrap().unwrap();
        let body = serde_json::from_str(answer["body"].as_str().unwrap()).unwrap();
        (answer["statusCode"].as_u64().unwrap(), body)
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// `kill -STOP`: it stands still where it is.
    pub(crate) fn stop(&self) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-STOP", &pid]).status().unwrap().success());
    }

    /// Whether it has given an answer that nobody has taken yet.
    pub(crate) fn has_answered(&self) -> bool {
        !self.answers.is_empty()
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Where a function's binary lies: beside the tests' own, in target/debug.
pub(crate) fn program(function: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent().unwrap().with_file_name(function);
    assert!(program.exists(), "{} is not built: run the tests with `cargo xtask test`", program.display());
    program
}

fn spawn(runtime_api: &str, database_url: &str) -> Child {
    Command::new(program("create_payment"))
        .env("AWS_LAMBDA_RUNTIME_API", runtime_api)
        .env("AWS_LAMBDA_FUNCTION_NAME", "create_payment")
        .env("AWS_LAMBDA_FUNCTION_VERSION", "1")
        .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128")
        .env("AUTH_MODE", "internal")
        .env("DATABASE_URL", database_url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// The event of API Gateway for a payment.
fn event(pay: &Pay) -> Value {
    let file = include_str!("../events/create_payment.json").replace("{TENANT}", &pay.tenant.to_string());
    let mut event: Value = serde_json::from_str(&file).unwrap();
    event["headers"]["idempotency-key"] = pay.key.clone().into();
    event["body"] = pay.body().into();
    event
}

async fn next(State(runtime): State<Runtime>) -> impl IntoResponse {
    let event = runtime.events.lock().await.recv().await;
    let headers = [
        ("lambda-runtime-aws-request-id", "8476a536-e9f4-11e8-9739-2dfe598c3fcd"),
        // In the past, as local emulators send it.
        ("lambda-runtime-deadline-ms", "0"),
        ("lambda-runtime-invoked-function-arn", "arn:aws:lambda:eu-central-1:123456789012:function:create_payment"),
    ];
    (headers, Json(event))
}

/// The runtime names no media type, so the body is read as bytes.
async fn answered(State(runtime): State<Runtime>, Path(_): Path<String>, answer: Bytes) -> StatusCode {
    runtime.answers.send(serde_json::from_slice(&answer).unwrap()).unwrap();
    StatusCode::ACCEPTED
}
