//! Random and mutated input through the real handlers, on a ledger that would notice: no panic, no 500, and nothing
//! that reaches the ledger unless it is a valid payment. Bounded, so that it runs with every test.
//!
//! `corpus/` keeps cases as files, a folder for each input: seeds written by hand, and whatever was found. They run first.
//! What fails is shrunk and stored there, to be committed with the mend.

use std::fs;
use std::path::{Path, PathBuf};
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
use proptest::test_runner::{TestCaseError, TestCaseResult, TestError, TestRunner};
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

fn mutated_header(value: &[u8]) -> impl Strategy<Value = Vec<u8>> + use<> {
    mutated(value.to_vec()).prop_filter("no header value", |bytes| HeaderValue::from_bytes(bytes).is_ok())
}

/// Structured fields may be written in other ways that mean the same, such as other white space or no padding (RFC 9651 §4.2).
fn meaning(value: &HeaderValue) -> Option<Dictionary> {
    Parser::new(value.as_bytes()).parse().ok()
}

/// The folder of an input's cases.
fn corpus(input: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration/corpus").join(input)
}

/// Checks every case of the folder, then random ones. One that fails is shrunk and added to the folder.
fn fuzz(folder: &Path, strategy: &impl Strategy<Value = Vec<u8>>, check: impl Fn(&[u8]) -> TestCaseResult) {
    let mut cases: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    for case in cases {
        if let Err(failure) = check(&fs::read(&case).unwrap()) {
            panic!("{}: {failure}", case.display());
        }
    }
    // The corpus is what remembers.
    let mut runner = TestRunner::new(ProptestConfig { cases: CASES, failure_persistence: None, ..<_>::default() });
    match runner.run(strategy, |bytes| check(&bytes)) {
        Ok(()) => {}
        Err(TestError::Fail(reason, bytes)) => {
            let case = folder.join(format!("found-{}", Uuid::new_v5(&Uuid::nil(), &bytes)));
            fs::write(&case, bytes).unwrap();
            panic!("{reason}; the input is kept in {}", case.display());
        }
        Err(TestError::Abort(reason)) => panic!("{reason}"),
    }
}

/// The bytes as a header's value, or a case that cannot be sent at all.
fn header(bytes: &[u8]) -> Result<HeaderValue, TestCaseError> {
    HeaderValue::from_bytes(bytes).map_err(|_| TestCaseError::reject("no header value"))
}

#[test]
fn no_signature_header_panics_or_passes_unless_it_is_unchanged() {
    let tenant = Uuid::from_u128(1);
    let signed = SigningClient::new(tenant, 1).sign(Pay::new(tenant, "k").request());
    assert_eq!(status_of(hmac(MASTER), signed.clone()), 409, "the unchanged request reaches the ledger");
    for name in ["signature-input", "signature", "content-digest"] {
        let original = signed.headers()[name].clone();
        fuzz(&corpus(name), &mutated_header(original.as_bytes()), |bytes| {
            let value = header(bytes)?;
            let mut request = signed.clone();
            let unchanged = meaning(&value) == meaning(&original);
            request.headers_mut().insert(HeaderName::from_static(name), value);
            let status = status_of(hmac(MASTER), request);
            prop_assert!(status == 401 || (status == 409 && unchanged), "{}: {}", name, status);
            Ok(())
        });
    }
}

#[test]
fn no_idempotency_key_panics() {
    let tenant = Uuid::from_u128(1);
    fuzz(&corpus("idempotency-key"), &mutated_header(b"\"0f8fad5b-d9cb-469f-a165-70867728950e\""), |bytes| {
        let mut request = Pay::new(tenant, "k").request();
        request.headers_mut().insert("idempotency-key", header(bytes)?);
        let status = status_of(Authenticator::Internal, request);
        prop_assert!(matches!(status, 400 | 409), "{}", status);
        Ok(())
    });
}

/// A body is refused, or it is a payment.
fn check_body(bytes: &[u8]) -> TestCaseResult {
    let pay = Pay::new(Uuid::from_u128(1), "k");
    let status = status_of(Authenticator::Internal, pay.request_with_body(bytes.to_vec()));
    prop_assert!(matches!(status, 400 | 409), "{}", status);
    Ok(())
}

#[test]
fn no_body_panics() {
    let pay = Pay::new(Uuid::from_u128(1), "k").currency("EUR").account(Uuid::from_u128(2));
    fuzz(&corpus("body"), &mutated(pay.body().into_bytes()), check_body);
}

#[test]
fn no_json_value_in_a_body_panics() {
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
    let bodies = vec((member, value), 0..6).prop_map(|members| {
        let members: Vec<_> = members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
        format!("{{{}}}", members.join(",")).into_bytes()
    });
    fuzz(&corpus("body"), &bodies, check_body);
}

#[test]
fn a_case_that_is_found_is_kept_and_runs_first_the_next_time() {
    let folder = std::env::temp_dir().join(format!("corpus-{}", Uuid::new_v4()));
    fs::create_dir(&folder).unwrap();
    let no_seven = |bytes: &[u8]| {
        prop_assert!(!bytes.contains(&7), "a seven");
        Ok(())
    };

    let found = std::panic::catch_unwind(|| fuzz(&folder, &vec(5..9_u8, 1..9), no_seven));
    assert!(found.is_err(), "a flaw is found");
    let kept: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect();
    assert_eq!(kept, [vec![7]], "shrunk to what matters");

    let again = std::panic::catch_unwind(|| fuzz(&folder, &Just(vec![1]), no_seven));
    assert!(again.is_err(), "though no random case shows it this time");
    fuzz(&folder, &Just(vec![1]), |_| Ok(()));
    fs::remove_dir_all(folder).unwrap();
}
