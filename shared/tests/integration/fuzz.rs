//! Random and mutated input through the real handlers, on a ledger that would notice: no panic, no 500, and nothing
//! that reaches the ledger unless it is a valid payment. Bounded, so that it runs with every test; a failing input is
//! printed by proptest.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request};
use payments::auth::Authenticator;
use payments::domain::{Caller, Idempotency, Invocation, Withdrawal};
use payments::handlers::{CreatePaymentHandler, serve};
use payments::ports::{CreatePayment, LedgerAnswer, LedgerError};
use payments::use_cases::WithdrawIdempotent;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use sfv::{Dictionary, Parser};
use uuid::Uuid;

use crate::support::Pay;
use crate::support::signing::{MASTER, SigningClient, hmac};

const CASES: u32 = 4_000;

/// A ledger that is always busy: what reaches it is answered with 409.
struct BusyLedger;

impl CreatePayment for BusyLedger {
    async fn create_payment(
        &self,
        _: &Caller,
        _: &Withdrawal,
        _: &Idempotency,
        _: &Invocation,
    ) -> Result<LedgerAnswer, LedgerError> {
        Ok(LedgerAnswer::InProgress)
    }
}

fn status_of(authenticator: Authenticator, request: Request<Bytes>) -> u16 {
    let handler = CreatePaymentHandler::new(authenticator, WithdrawIdempotent::new(BusyLedger));
    let invocation = Invocation::new("fuzz".to_owned(), Duration::from_secs(9));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(serve(&handler, request, &invocation)).status().as_u16()
}

/// Some bytes of `text` replaced, inserted or cut out, or all of it by noise.
fn mutated(text: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let edit = (any::<Index>(), 0_usize..4, vec(any::<u8>(), 0..6));
    let edits = vec(edit, 1..4).prop_map(move |edits| {
        let mut bytes = text.clone();
        for (at, cut, insert) in edits {
            let start = at.index(bytes.len() + 1);
            let end = (start + cut).min(bytes.len());
            bytes.splice(start..end, insert);
        }
        bytes
    });
    prop_oneof![4 => edits, 1 => vec(any::<u8>(), 0..300)]
}

fn mutated_header(value: &HeaderValue) -> impl Strategy<Value = HeaderValue> + use<> {
    mutated(value.as_bytes().to_vec()).prop_filter_map("no header value", |bytes| HeaderValue::from_bytes(&bytes).ok())
}

/// Structured fields may be written in other ways that mean the same, such as other white space or no padding (RFC 9651 §4.2).
fn meaning(value: &HeaderValue) -> Option<Dictionary> {
    Parser::new(value.as_bytes()).parse().ok()
}

fn config() -> ProptestConfig {
    // Signed requests differ in every run, so a seed would not bring a failure back; the printed input does.
    ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() }
}

#[test]
fn no_signature_header_panics_or_passes_unless_it_is_unchanged() {
    let tenant = Uuid::from_u128(1);
    let signed = SigningClient::new(tenant, 1).sign(Pay::new(tenant, "k").request());
    assert_eq!(status_of(hmac(MASTER), signed.clone()), 409, "the unchanged request reaches the ledger");
    for name in ["signature-input", "signature", "content-digest"] {
        let original = signed.headers()[name].clone();
        proptest!(config(), |(value in mutated_header(&original))| {
            let mut request = signed.clone();
            let unchanged = meaning(&value) == meaning(&original);
            request.headers_mut().insert(HeaderName::from_static(name), value);
            let status = status_of(hmac(MASTER), request);
            prop_assert!(status == 401 || (status == 409 && unchanged), "{}: {}", name, status);
        });
    }
}

#[test]
fn no_idempotency_key_panics() {
    let tenant = Uuid::from_u128(1);
    let key = HeaderValue::from_static("\"0f8fad5b-d9cb-469f-a165-70867728950e\"");
    proptest!(config(), |(value in mutated_header(&key))| {
        let mut request = Pay::new(tenant, "k").request();
        request.headers_mut().insert("idempotency-key", value);
        let status = status_of(Authenticator::Internal, request);
        prop_assert!(matches!(status, 400 | 409), "{}", status);
    });
}

#[test]
fn no_body_panics() {
    let pay = Pay::new(Uuid::from_u128(1), "k").currency("EUR").account(Uuid::from_u128(2));
    proptest!(config(), |(body in mutated(pay.body().into_bytes()))| {
        let status = status_of(Authenticator::Internal, pay.request_with_body(body));
        prop_assert!(matches!(status, 400 | 409), "{}", status);
    });
}

#[test]
fn no_json_value_in_a_body_panics() {
    let pay = Pay::new(Uuid::from_u128(1), "k");
    let member = prop_oneof!["amount", "recipient_id", "currency", "account_id", "[a-z]{0,8}"];
    let value = prop_oneof![
        "-?[0-9]{1,25}",
        "-?[0-9]{1,6}\\.[0-9]{0,6}",
        "[0-9]{1,3}[eE][+-]?[0-9]{1,4}",
        "\"[ -~]{0,40}\"",
        "null",
        "true",
        "\\[{0,200}",
        "\\{\"a\":[0-9]\\}",
        "\"\\\\u[0-9a-f]{4}\"",
    ];
    proptest!(config(), |(members in vec((member, value), 0..6))| {
        let members: Vec<_> = members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
        let status = status_of(Authenticator::Internal, pay.request_with_body(format!("{{{}}}", members.join(","))));
        prop_assert!(matches!(status, 400 | 409), "{}", status);
    });
}
