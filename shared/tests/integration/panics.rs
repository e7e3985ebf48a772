//! A panic anywhere is a 500 problem, and the next request finds everything in order.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use payments::domain::{Caller, Idempotency, Invocation, Withdrawal};
use payments::handlers::{CreatePaymentHandler, Endpoint, Reply, serve};
use payments::ports::{CreatePayment, LedgerAnswer, LedgerError};
use payments::repositories::PostgresLedger;
use payments::use_cases::WithdrawIdempotent;

use crate::support::{Answer, Api, Pay, api};

const SECRET: &str = "what a panic says";

/// Panics at its first call, before or after the ledger did its work.
struct PanicsOnce {
    ledger: PostgresLedger,
    after_the_work: bool,
    panicked: AtomicBool,
}

impl CreatePayment for PanicsOnce {
    async fn create_payment(
        &self,
        caller: &Caller,
        withdrawal: &Withdrawal,
        idempotency: &Idempotency,
        invocation: &Invocation,
    ) -> Result<LedgerAnswer, LedgerError> {
        let panics = !self.panicked.swap(true, SeqCst);
        assert!(!panics || self.after_the_work, "{SECRET}");
        let answer = self.ledger.create_payment(caller, withdrawal, idempotency, invocation).await;
        assert!(!panics, "{SECRET}");
        answer
    }
}

/// An endpoint that panics whenever it is asked.
struct Panics;

impl Endpoint for Panics {
    const NAME: &'static str = "panics";

    async fn respond(&self, request: Request<Bytes>, _: &Invocation) -> Reply {
        assert_eq!(request.uri().path(), "/fine", "{SECRET}");
        Reply::new("fine", Response::new(Bytes::new()))
    }
}

async fn send<E: Endpoint>(endpoint: &E, request: Request<Bytes>) -> Answer {
    let invocation = Invocation::new("request-7".to_owned(), Duration::from_secs(9));
    let (parts, body) = serve(endpoint, request, &invocation).await.into_parts();
    Answer { status: parts.status, headers: parts.headers, body, round_trips: invocation.round_trips() }
}

fn assert_is_a_defect(answer: &Answer) {
    answer.assert_problem(500, "internal_error");
    assert_eq!(answer.headers["x-request-id"], "request-7");
    let body = String::from_utf8(answer.body.to_vec()).unwrap();
    assert!(!body.contains(SECRET) && !body.contains("panic"), "{body}");
}

#[tokio::test]
async fn a_panic_of_an_endpoint_is_a_500_and_the_endpoint_goes_on() {
    let at = |path: &str| Request::get(path).body(Bytes::new()).unwrap();

    assert_is_a_defect(&send(&Panics, at("/boom")).await);

    assert_eq!(send(&Panics, at("/fine")).await.status, 200);
}

#[tokio::test]
async fn a_panic_in_the_ledger_is_a_500_and_the_retry_pays_or_replays() {
    for after_the_work in [false, true] {
        let (_, ledger, database) = Api::with_database().await;
        let panicking = PanicsOnce { ledger: database.ledger(1), after_the_work, panicked: AtomicBool::new(false) };
        let handler = CreatePaymentHandler::new(api::authenticator(), WithdrawIdempotent::new(panicking));
        let request = Pay::new(ledger.t1, "k");

        assert_is_a_defect(&send(&handler, request.request()).await);

        let retry = send(&handler, request.request()).await;
        assert_eq!((retry.status.as_u16(), retry.is_replay()), (200, after_the_work));
        ledger.assert_t1(7_500, 1).await;
    }
}
