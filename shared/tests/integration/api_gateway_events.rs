//! Requests as API Gateway delivers them: recorded HTTP API events (payload format 2.0), through the adapter of the functions.

use bytes::Bytes;
use lambda_http::{Body, Context, RequestExt};
use payments::handlers::{CreatePaymentHandler, Endpoint, FindPaymentHandler, GetPaymentHandler};
use payments::hosts::lambda::answer;
use payments::repositories::PostgresLedger;
use payments::use_cases::{LookUpPayment, WithdrawIdempotent};
use serde_json::Value;

use crate::support::api::authenticator;
use crate::support::signing::{MASTER, SigningClient, hmac, register_signing_key};
use crate::support::{Answer, Ledger, TestDatabase};

/// The request id that the runtime gives.
const REQUEST_ID: &str = "8476a536-e9f4-11e8-9739-2dfe598c3fcd";

/// The functions on a database of their own.
struct Functions {
    create: CreatePaymentHandler<PostgresLedger>,
    get: GetPaymentHandler<PostgresLedger>,
    find: FindPaymentHandler<PostgresLedger>,
}

impl Functions {
    async fn with_ledger() -> (Self, Ledger) {
        let database = TestDatabase::new().await;
        let postgres = database.ledger(1);
        let look_up = || LookUpPayment::new(postgres.clone());
        let pay = WithdrawIdempotent::new(postgres.clone());
        let functions = Self {
            create: CreatePaymentHandler::new(authenticator(), pay),
            get: GetPaymentHandler::new(authenticator(), look_up()),
            find: FindPaymentHandler::new(authenticator(), look_up()),
        };
        (functions, Ledger::new(database.owner().await).await)
    }

    async fn pay(&self, event: &Value) -> Answer {
        invoke(&self.create, event).await
    }
}

/// An event of a file, with the tenant and what else the test fills in.
fn event(file: &str, ledger: &Ledger) -> Value {
    let text = file.replace("{TENANT}", &ledger.t1.to_string());
    serde_json::from_str(&text).unwrap()
}

async fn invoke<E: Endpoint>(endpoint: &E, event: &Value) -> Answer {
    let mut context = Context::default();
    REQUEST_ID.clone_into(&mut context.request_id);
    // In the past, as local emulators send it.
    context.deadline = 0;
    let request = lambda_http::request::from_str(&event.to_string()).unwrap().with_lambda_context(context);
    let (parts, body) = answer(endpoint, request).await.into_parts();
    let Body::Text(body) = body else {
        panic!("JSON is answered as text: {body:?}");
    };
    assert_eq!(parts.headers["x-request-id"], REQUEST_ID);
    Answer { status: parts.status, headers: parts.headers, body: body.into(), round_trips: 0 }
}

#[tokio::test]
async fn a_text_body_and_the_same_body_in_base64_are_one_payment() {
    let (functions, ledger) = Functions::with_ledger().await;
    let text = event(include_str!("events/create_payment.json"), &ledger);
    let base64 = event(include_str!("events/create_payment_base64.json"), &ledger);

    let first = functions.pay(&text).await;
    let again = functions.pay(&base64).await;

    first.assert_executed();
    again.assert_replays(&first);
    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn a_base64_body_is_executed() {
    let (functions, ledger) = Functions::with_ledger().await;
    let base64 = event(include_str!("events/create_payment_base64.json"), &ledger);

    functions.pay(&base64).await.assert_executed();

    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn c8_repeated_keys_that_the_gateway_joined_are_refused() {
    let (functions, ledger) = Functions::with_ledger().await;
    let joined = event(include_str!("events/create_payment_joined_headers.json"), &ledger);

    let refused = functions.pay(&joined).await;

    refused.assert_problem(400, "idempotency_key_invalid");
    ledger.assert_noop().await;
}

#[tokio::test]
async fn a_body_without_a_content_type_is_refused() {
    let (functions, ledger) = Functions::with_ledger().await;
    // Without a content type the gateway sends base64.
    let untyped = event(include_str!("events/create_payment_untyped.json"), &ledger);

    let refused = functions.pay(&untyped).await;

    refused.assert_problem(415, "media_type_unsupported");
    ledger.assert_noop().await;
}

#[tokio::test]
async fn an_event_without_a_body_is_refused() {
    let (functions, ledger) = Functions::with_ledger().await;
    let mut empty = event(include_str!("events/create_payment.json"), &ledger);
    empty.as_object_mut().unwrap().remove("body");

    let refused = functions.pay(&empty).await;

    refused.assert_problem(400, "body_invalid");
    ledger.assert_noop().await;
}

#[tokio::test]
async fn the_case_of_header_names_does_not_matter() {
    let (functions, ledger) = Functions::with_ledger().await;
    let lower = event(include_str!("events/create_payment.json"), &ledger);
    let mut upper = lower.clone();
    let headers = lower["headers"].as_object().unwrap().iter();
    upper["headers"] =
        headers.map(|(name, value)| (name.to_uppercase(), value.clone())).collect::<serde_json::Map<_, _>>().into();

    let first = functions.pay(&lower).await;

    functions.pay(&upper).await.assert_replays(&first);
    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn a_base64_body_of_64_kib_and_a_byte_is_too_large() {
    let (functions, ledger) = Functions::with_ledger().await;
    let mut large = event(include_str!("events/create_payment_base64.json"), &ledger);
    // Each group of four stands for three bytes: 65,538 in all.
    large["body"] = "ICAg".repeat(21_846).into();

    let refused = functions.pay(&large).await;

    refused.assert_problem(413, "body_too_large");
    ledger.assert_noop().await;
}

#[tokio::test]
async fn look_ups_find_the_payment_by_path_and_by_query() {
    let (functions, ledger) = Functions::with_ledger().await;
    let create = event(include_str!("events/create_payment.json"), &ledger);
    let paid = functions.pay(&create).await;

    let by_key = event(include_str!("events/find_payment.json"), &ledger);
    let text = include_str!("events/get_payment.json").replace("{PAYMENT}", &paid.payment_id().to_string());
    let by_id = event(&text, &ledger);
    let found = invoke(&functions.find, &by_key).await;
    let read = invoke(&functions.get, &by_id).await;

    assert_eq!((found.status.as_u16(), &found.body), (200, &paid.body));
    assert_eq!((read.status.as_u16(), &read.body), (200, &paid.body));
}

#[tokio::test]
async fn c25_the_mac_of_a_base64_body_covers_the_decoded_bytes() {
    let database = TestDatabase::new().await;
    let ledger = Ledger::new(database.owner().await).await;
    register_signing_key(&ledger.owner, ledger.t1, 1).await;
    let pay = WithdrawIdempotent::new(database.ledger(1));
    let create = CreatePaymentHandler::new(hmac(MASTER), pay);
    let mut base64 = event(include_str!("events/create_payment_base64.json"), &ledger);
    assert_eq!(base64["isBase64Encoded"], true);

    // What the client signed: the bytes before the gateway encoded them.
    let received = lambda_http::request::from_str(&base64.to_string()).unwrap();
    let signed = SigningClient::new(ledger.t1, 1).sign(received.map(|body| Bytes::copy_from_slice(&body)));
    let headers = base64["headers"].as_object_mut().unwrap();
    for name in ["content-digest", "signature-input", "signature"] {
        headers.insert(name.to_owned(), signed.headers()[name].to_str().unwrap().into());
    }
    let mut altered = base64.clone();
    altered["body"] = "eyJhbW91bnQiOjI1MDF9".into();

    invoke(&create, &altered).await.assert_problem(401, "unauthenticated");
    invoke(&create, &base64).await.assert_executed();
    ledger.assert_t1(7_500, 1).await;
}
