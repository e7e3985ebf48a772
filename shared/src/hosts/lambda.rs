//! AWS Lambda: API Gateway events and plain invocations.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use lambda_http::http::{Request, Response};
use lambda_http::{Body, RequestExt, service_fn};
use lambda_runtime::{Context, LambdaEvent};
use serde::Serialize;

use crate::domain::Invocation;
use crate::handlers::{Endpoint, serve};

/// What the runtime reports when it cannot go on.
pub type Error = lambda_runtime::Error;

/// The time for an answer when the runtime names none: local emulators send a deadline in the past.
const DEFAULT_BUDGET: Duration = Duration::from_secs(9);

/// Serves HTTP requests from API Gateway with an endpoint, one at a time, until the runtime ends.
///
/// # Errors
/// When the runtime API cannot be reached.
pub async fn run_http<E: Endpoint>(endpoint: E) -> Result<(), Error> {
    let endpoint = &endpoint;
    lambda_http::run(service_fn(async |event| Ok::<_, Error>(answer(endpoint, event).await))).await
}

/// Answers one event from API Gateway, which carries its Lambda context, with an endpoint.
pub async fn answer<E: Endpoint>(endpoint: &E, event: Request<Body>) -> Response<Body> {
    let invocation = invocation(&event.lambda_context());
    let response = serve(endpoint, event.map(body), &invocation).await;
    // As text where it is text: the gateway would have to decode anything else.
    response
        .map(|body| String::from_utf8(body.into()).map_or_else(|error| Body::Binary(error.into_bytes()), Body::Text))
}

/// Serves plain invocations, such as a schedule's, with a task.
///
/// # Errors
/// When the runtime API cannot be reached. A task that fails fails its invocation, and the schedule tries it again.
pub async fn run_task<T: Serialize, E: fmt::Debug + fmt::Display>(
    task: impl AsyncFn(Invocation) -> Result<T, E>,
) -> Result<(), Error> {
    let task = &task;
    lambda_runtime::run(service_fn(async |event: LambdaEvent<serde_json::Value>| {
        let invocation = invocation(&event.context);
        let trace_id = trace_id(&event.context);
        let request_id = event.context.request_id;
        task(invocation).await.map_err(|error| {
            tracing::error!(request_id, trace_id, cause = ?error, "task failed");
            Error::from(error.to_string())
        })
    }))
    .await
}

fn invocation(context: &Context) -> Invocation {
    let deadline = UNIX_EPOCH + Duration::from_millis(context.deadline);
    let budget = deadline.duration_since(SystemTime::now()).unwrap_or(DEFAULT_BUDGET);
    Invocation::new(context.request_id.clone(), budget).traced(trace_id(context))
}

/// The trace's id in X-Ray's header, `Root=1-…;Parent=…;Sampled=…`.
fn trace_id(context: &Context) -> Option<String> {
    let header = context.xray_trace_id.as_deref()?;
    header.split(';').find_map(|part| part.trim().strip_prefix("Root=")).map(str::to_owned)
}

/// The bytes of a body, whatever form the event carried them in.
fn body(body: Body) -> Bytes {
    match body {
        Body::Text(text) => text.into(),
        Body::Binary(bytes) => bytes.into(),
        _ => Bytes::new(),
    }
}
