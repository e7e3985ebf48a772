//! From a request as it arrives to the endpoint that answers it. Knows routes and limits, not what is asked.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use payments::config::{AuthConfig, AuthConfigError};
use payments::domain::Invocation;
use payments::handlers::{CreatePaymentHandler, FindPaymentHandler, GetPaymentHandler, Problem, serve};
use payments::repositories::PostgresLedger;
use payments::use_cases::{LookUpPayment, WithdrawIdempotent};
use uuid::Uuid;

use crate::admission::{Admission, Admitted};
use crate::refusal::Refusal;
use crate::request_body;
use crate::route::Route;
use crate::workers::Workers;

/// What bounds a request.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// Requests at work at once.
    pub(crate) in_flight: usize,
    /// The longest time for an answer.
    pub(crate) time: Duration,
}

/// The three endpoints behind their routes.
pub(crate) struct Api {
    create: CreatePaymentHandler<PostgresLedger>,
    find: FindPaymentHandler<PostgresLedger>,
    get: GetPaymentHandler<PostgresLedger>,
    admission: Admission,
    workers: Workers,
    time: Duration,
}

impl Api {
    /// The API on a ledger.
    pub(crate) fn new(
        ledger: &PostgresLedger,
        auth: &AuthConfig,
        limits: Limits,
        workers: Workers,
    ) -> Result<Self, AuthConfigError> {
        let look_up = || LookUpPayment::new(ledger.clone());
        Ok(Self {
            create: CreatePaymentHandler::new(auth.authenticator()?, WithdrawIdempotent::new(ledger.clone())),
            find: FindPaymentHandler::new(auth.authenticator()?, look_up()),
            get: GetPaymentHandler::new(auth.authenticator()?, look_up()),
            admission: Admission::new(limits.in_flight),
            workers,
            time: limits.time,
        })
    }

    /// Answers a request, whatever happens.
    pub(crate) async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, Infallible> {
        let invocation = Invocation::new(Uuid::new_v4().to_string(), self.time);
        let (parts, body) = request.into_parts();
        // The body first: a client that sends slowly must not hold a place.
        let response = match request_body::read(body, invocation.remaining()).await {
            Err(refusal) => refuse(refusal, &invocation).await,
            Ok(body) => match self.admission.admit() {
                None => refuse(Refusal::Busy, &invocation).await,
                Some(place) => self.work(Request::from_parts(parts, body), invocation, place).await,
            },
        };
        Ok(response.map(Full::new))
    }

    /// In a task of its own: a client that leaves stops waiting, and not a payment half way.
    async fn work(
        self: Arc<Self>,
        request: Request<Bytes>,
        invocation: Invocation,
        place: Admitted,
    ) -> Response<Bytes> {
        let api = Arc::clone(&self);
        let task = self.workers.spawn(async move {
            let response = api.dispatch(request, &invocation).await;
            drop(place);
            response
        });
        task.await.unwrap_or_else(|_| Problem::internal().into_response())
    }

    async fn dispatch(&self, request: Request<Bytes>, invocation: &Invocation) -> Response<Bytes> {
        match Route::of(request.method(), request.uri().path()) {
            Route::CreatePayment => serve(&self.create, request, invocation).await,
            Route::FindPayment => serve(&self.find, request, invocation).await,
            Route::GetPayment => serve(&self.get, request, invocation).await,
            Route::OtherMethod(allowed) => refuse(Refusal::OtherMethod(allowed), invocation).await,
            Route::Nowhere => refuse(Refusal::Nowhere, invocation).await,
        }
    }

    /// Waits until no request is at work.
    pub(crate) async fn idle(&self) {
        self.admission.idle().await;
    }
}

async fn refuse(refusal: Refusal, invocation: &Invocation) -> Response<Bytes> {
    serve(&refusal, Request::new(Bytes::new()), invocation).await
}
