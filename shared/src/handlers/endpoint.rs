//! What every endpoint does alike: it answers whatever happens, names the request, and logs one line.

use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::FutureExt;
use http::{HeaderValue, Request, Response, header};

use crate::domain::{Invocation, PaymentId, StoredKey};
use crate::telemetry::metrics::{self, Answered, Request as RequestMetrics};

use super::Problem;

/// The response header that carries the request id.
pub const REQUEST_ID: &str = "x-request-id";

/// An endpoint of the API.
pub trait Endpoint: Send + Sync {
    /// Its name: the function's, and the stem of its files.
    const NAME: &'static str;

    /// Answers a request.
    fn respond(&self, request: Request<Bytes>, invocation: &Invocation) -> impl Future<Output = Reply> + Send;
}

/// A response, and what the log says about it.
#[derive(Debug)]
pub struct Reply {
    response: Response<Bytes>,
    outcome: &'static str,
    key: Option<StoredKey>,
    payment: Option<PaymentId>,
}

impl Reply {
    /// A reply whose outcome is named in the log.
    #[must_use]
    pub fn new(outcome: &'static str, response: Response<Bytes>) -> Self {
        Self { response, outcome, key: None, payment: None }
    }

    /// The same reply, about that payment.
    #[must_use]
    pub fn about(mut self, key: Option<StoredKey>, payment: Option<PaymentId>) -> Self {
        self.key = key;
        self.payment = payment;
        self
    }
}

impl From<Problem> for Reply {
    fn from(problem: Problem) -> Self {
        Self::new(problem.code.as_str(), problem.into_response())
    }
}

/// Answers a request with an endpoint; a panic in it becomes a 500 problem and the process lives.
pub async fn serve<E: Endpoint>(endpoint: &E, request: Request<Bytes>, invocation: &Invocation) -> Response<Bytes> {
    let started = Instant::now();
    let reply = AssertUnwindSafe(endpoint.respond(request, invocation)).catch_unwind().await;
    let reply = reply.unwrap_or_else(|_| Reply { outcome: "panic", ..Problem::internal().into() });
    report::<E>(&reply, invocation, started.elapsed());
    let mut response = reply.response;
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Ok(id) = HeaderValue::from_str(invocation.request_id()) {
        headers.insert(REQUEST_ID, id);
    }
    response
}

/// One line, for the log and for the metrics.
fn report<E: Endpoint>(reply: &Reply, invocation: &Invocation, latency: Duration) {
    let status = reply.response.status();
    let metrics = RequestMetrics {
        requests: 1,
        latency_ms: milliseconds(latency),
        round_trips: invocation.round_trips(),
        retries: invocation.retries(),
        lost_races: invocation.lost_races(),
        pool_wait_ms: milliseconds(invocation.pool_wait()),
        ambiguous_unresolved: (status.is_server_error() && invocation.had_open_outcome()).into(),
    };
    let answered = Answered {
        function: E::NAME,
        request_id: invocation.request_id(),
        trace_id: invocation.trace_id(),
        status: status.as_u16(),
        outcome: reply.outcome,
        stored_key: reply.key.map(|key| key.to_string()),
        payment_id: reply.payment.map(|payment| payment.to_string()),
    };
    metrics::request(&answered, &metrics);
}

/// Milliseconds to the microsecond.
fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}
