//! The signature module's tests, and the requests they share. Everything runs in the process with fixed secrets and a
//! fixed clock.

mod changes;
mod components;
mod content_digest;
mod coverage;
mod headers;
mod other_libraries;
mod parameters;
mod properties;
mod query_params;
mod rfc_vectors;
mod secrets;
mod time_window;

use std::{
    error::Error,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use http::{HeaderValue, request::Parts};
use sfv::{Dictionary, ListEntry, Parser};

use super::{
    ClientSecret, KeyId, MasterSecrets, Nonce, SignatureError, Signer, VerifiedSignature, Verifier,
    content_digest as digest, signature_base,
};

pub(super) type TestResult = Result<(), Box<dyn Error>>;

pub(super) const CREATED: u64 = 1_700_000_000;
pub(super) const BODY: &[u8] = br#"{"amount":2500,"recipient_id":"6f1c2f86-9d1c-4a55-b1a5-1d1a4f0f9a11"}"#;
const KEY_ID: &str = "0190d2f4-7c1a-7a53-9c55-3f5d1c6b2a10.1";
const NONCE: &str = "nonce-0123456789";
const MASTER_SECRETS: &str = "bWFzdGVyIHNlY3JldCBvZiB0aGlydHktdHdvIGJ5dGU=";

/// The parameters of a valid signature; `sign_as` takes them after the covered components.
pub(super) const PARAMETERS: &str = concat!(
    r#";created=1700000000;keyid="0190d2f4-7c1a-7a53-9c55-3f5d1c6b2a10.1""#,
    r#";alg="hmac-sha256";nonce="nonce-0123456789""#
);
pub(super) const POST_COMPONENTS: &str = r#""@method" "@path" "content-type" "content-digest" "idempotency-key""#;

pub(super) fn verifier() -> Result<Verifier, Box<dyn Error>> {
    Ok(Verifier::new(MASTER_SECRETS.parse()?))
}

pub(super) fn secret() -> Result<ClientSecret, Box<dyn Error>> {
    Ok(MASTER_SECRETS.parse::<MasterSecrets>()?.issue(&KEY_ID.parse()?)?)
}

pub(super) fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

#[derive(Clone)]
pub(super) struct Request {
    pub(super) parts: Parts,
    pub(super) body: Vec<u8>,
}

impl Request {
    pub(super) fn get(uri: &str) -> Result<Self, Box<dyn Error>> {
        let (parts, ()) = http::Request::get(uri).header("host", "api.example.com").body(())?.into_parts();
        Ok(Self { parts, body: Vec::new() })
    }

    /// A payment with all it needs but a signature.
    pub(super) fn payment() -> Result<Self, Box<dyn Error>> {
        let (parts, ()) = http::Request::post("/api/v1/payments")
            .header("host", "api.example.com")
            .header("content-type", "application/json")
            .header("content-digest", digest::sha_256(BODY))
            .header("idempotency-key", "order-4711")
            .body(())?
            .into_parts();
        Ok(Self { parts, body: BODY.to_vec() })
    }

    /// A payment as the reference client signs it.
    pub(super) fn signed_payment() -> Result<Self, Box<dyn Error>> {
        let mut request = Self::payment()?;
        request.sign()?;
        Ok(request)
    }

    pub(super) fn sign(&mut self) -> TestResult {
        let signer = Signer::new(KEY_ID.parse()?, secret()?);
        signer.sign(&mut self.parts, &self.body, i64::try_from(CREATED)?, &NONCE.parse::<Nonce>()?)?;
        Ok(())
    }

    /// Signs with any `@signature-params`, also such that the profile refuses. Where no signature base exists, the MAC
    /// is a placeholder.
    pub(super) fn sign_as(mut self, signature_params: &str) -> Result<Self, Box<dyn Error>> {
        let input = format!("sig1={signature_params}");
        let parsed = Parser::new(&input).parse::<Dictionary>()?;
        let Some((_, ListEntry::InnerList(inner_list))) = parsed.first() else {
            return Err("not an inner list".into());
        };
        let base = signature_base::signature_base(&self.parts, inner_list).unwrap_or_default();
        let mac = STANDARD.encode(signature_base::mac(&secret()?.hmac_key(), &base));
        self.set("signature-input", &input)?;
        self.set("signature", &format!("sig1=:{mac}:"))?;
        Ok(self)
    }

    pub(super) fn set(&mut self, name: &'static str, value: &str) -> TestResult {
        self.parts.headers.insert(name, HeaderValue::from_str(value)?);
        Ok(())
    }

    pub(super) fn header(&self, name: &str) -> Result<String, Box<dyn Error>> {
        Ok(self.parts.headers.get(name).ok_or("no such header")?.to_str()?.to_owned())
    }

    /// What the verifier says at the moment of signing.
    pub(super) fn verify(&self) -> Result<VerifiedSignature, SignatureError> {
        self.verify_at(CREATED)
    }

    pub(super) fn verify_at(&self, seconds: u64) -> Result<VerifiedSignature, SignatureError> {
        let verifier = verifier().map_err(|_| SignatureError::NotOneSignature)?;
        verifier.verify(&self.parts, &self.body, at(seconds))
    }
}

#[test]
fn the_reference_client_is_accepted() -> TestResult {
    let verified = Request::signed_payment()?.verify()?;
    assert_eq!(verified.key_id, KEY_ID.parse::<KeyId>()?);
    assert_eq!(verified.nonce.as_ref().map(Nonce::as_str), Some(NONCE));
    assert_eq!(verified.created, i64::try_from(CREATED)?);
    Ok(())
}

#[test]
fn a_get_or_head_by_the_reference_client_needs_no_content_headers() -> TestResult {
    for method in [http::Method::GET, http::Method::HEAD] {
        let mut request = Request::get("/api/v1/payments?idempotency_key=k")?;
        request.parts.method = method;
        request.sign()?;
        assert!(request.verify().is_ok());
        assert!(!request.parts.headers.contains_key("content-digest"));
    }
    Ok(())
}

#[test]
fn what_accept_signature_asks_for_is_accepted() -> TestResult {
    let accepted = |method| -> Result<String, Box<dyn Error>> {
        let value = super::accept_signature(&method).to_str()?.to_owned();
        Ok(value.strip_prefix("sig1=").and_then(|rest| rest.split(')').next()).ok_or("no list")?.to_owned())
    };
    let post = Request::payment()?.sign_as(&format!("{}){PARAMETERS}", accepted(http::Method::POST)?))?;
    assert!(post.verify().is_ok());
    for uri in ["/api/v1/payments/1", "/api/v1/payments?idempotency_key=k"] {
        let get = Request::get(uri)?.sign_as(&format!("{}){PARAMETERS}", accepted(http::Method::GET)?))?;
        assert!(get.verify().is_ok(), "{uri}");
    }
    Ok(())
}
