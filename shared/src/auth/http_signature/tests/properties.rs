//! Whatever bytes arrive, the verifier answers and does not accept them; whatever a client signs, it accepts.

use http::{HeaderName, HeaderValue};
use proptest::{collection::vec, prelude::*, test_runner::TestCaseError};

use super::{
    super::{KeyId, MasterSecrets, Nonce, Signer, Verifier},
    CREATED, MASTER_SECRETS, Request, at,
};

fn failed(error: impl std::fmt::Display) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}

/// Bytes that a header may hold, often near the syntax of a structured field.
fn header_bytes() -> impl Strategy<Value = Vec<u8>> {
    let fragments = prop::sample::select(vec![
        "sig1=",
        "(",
        ")",
        "\"@method\"",
        "\"@path\"",
        "\"@query-param\"",
        ";name=\"a\"",
        "\"content-type\"",
        ";created=1700000000",
        ";keyid=\"0190d2f4-7c1a-7a53-9c55-3f5d1c6b2a10.1\"",
        ";nonce=\"0123456789abcdef\"",
        ":",
        ",",
        " ",
        "=",
        "sha-256=:",
        "YWJj",
        "?1",
        "@1",
        "\\",
        "%\"f\"",
    ])
    .prop_map(|fragment| fragment.as_bytes().to_vec());
    let arbitrary = vec(prop_oneof![Just(b'\t'), 0x20..=0x7e_u8, 0x80..=0xff_u8], 0..40);
    vec(prop_oneof![4 => fragments, 1 => arbitrary], 0..24).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn random_bytes_in_the_headers_never_verify_and_never_panic(
        replaced in vec((prop::sample::select(vec!["signature-input", "signature", "content-digest"]), header_bytes()), 1..4),
        uri in "/[a-z]{0,8}(\\?[a-z0-9&=%+]{0,16})?",
    ) {
        let mut request = Request::signed_payment().map_err(failed)?;
        if let Ok(uri) = uri.parse() {
            request.parts.uri = uri;
        }
        for (name, bytes) in replaced {
            let value = HeaderValue::from_bytes(&bytes).map_err(failed)?;
            request.parts.headers.insert(HeaderName::from_static(name), value);
        }
        prop_assert!(request.verify().is_err());
    }

    #[test]
    fn whatever_is_signed_is_verified(
        method in "(GET|HEAD|POST|PUT|PATCH|DELETE|[A-Z]{3,8})",
        path in "(/([A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-F]{2}){0,12}){1,4}",
        query in prop::option::of("([A-Za-z0-9._~!$'()*+,;:@/?&=-]|%[0-9A-F]{2}){0,24}"),
        key in "[!#-+\\--~]{1,255}",
        body in vec(any::<u8>(), 0..256),
        tenant in any::<u128>(),
        version in 1..=2_147_483_647_u32,
        nonce in "[!-~]{16,128}",
        skew in -300..=300_i64,
    ) {
        let key_id = KeyId::new(uuid::Uuid::from_u128(tenant), version).map_err(failed)?;
        let secrets: MasterSecrets = MASTER_SECRETS.parse().map_err(failed)?;
        let signer = Signer::new(key_id, secrets.issue(&key_id).map_err(failed)?);
        let uri = query.map_or_else(|| path.clone(), |query| format!("{path}?{query}"));
        let (mut parts, ()) = http::Request::builder()
            .method(method.as_str())
            .uri(uri)
            .header("content-type", "application/json")
            .header("idempotency-key", key)
            .body(())
            .map_err(failed)?
            .into_parts();
        let nonce: Nonce = nonce.parse().map_err(failed)?;
        let created = i64::try_from(CREATED).map_err(failed)? + skew;
        signer.sign(&mut parts, &body, created, &nonce).map_err(failed)?;
        let verified = Verifier::new(secrets).verify(&parts, &body, at(CREATED)).map_err(failed)?;
        prop_assert_eq!(verified.key_id, key_id);
        prop_assert_eq!(verified.nonce, Some(nonce));
        prop_assert_eq!(verified.created, created);
    }
}
