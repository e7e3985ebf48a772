//! The signature parameters and the values they may have.

use super::{KEY_ID, KeyId, Nonce, POST_COMPONENTS, Request, SignatureError, TestResult};

/// What the verifier says to a payment with these parameters.
fn verdict(parameters: &str) -> Result<Result<(), SignatureError>, Box<dyn std::error::Error>> {
    Ok(Request::payment()?.sign_as(&format!("({POST_COMPONENTS}){parameters}"))?.verify().map(|_| ()))
}

fn parameters(created: &str, key_id: &str, nonce: &str, others: &str) -> String {
    format!(";created={created};keyid=\"{key_id}\";nonce=\"{nonce}\"{others}")
}

const CREATED: &str = "1700000000";
const NONCE: &str = "0123456789abcdef";

#[test]
fn created_must_be_one_whole_number_of_seconds() -> TestResult {
    let invalid = Err(SignatureError::InvalidParameter("created"));
    let outside = Err(SignatureError::OutsideTimeWindow);
    let cases = [
        ("1700000000", Ok(())),
        ("1700000000000", outside.clone()),
        ("-1700000000", outside.clone()),
        ("999999999999999", outside),
        ("1700000000.0", invalid.clone()),
        ("\"1700000000\"", invalid.clone()),
        ("soon", invalid.clone()),
        ("@1700000000", invalid.clone()),
        ("?1", invalid),
        ("1700000000;created=1700000000", Err(SignatureError::MalformedHeader("signature-input"))),
    ];
    for (created, expected) in cases {
        assert_eq!(verdict(&parameters(created, KEY_ID, NONCE, ""))?, expected, "{created}");
    }
    Ok(())
}

#[test]
fn created_and_keyid_are_required() -> TestResult {
    let without_created = format!(";keyid=\"{KEY_ID}\";nonce=\"{NONCE}\"");
    assert_eq!(verdict(&without_created)?, Err(SignatureError::MissingParameter("created")));
    let without_key_id = format!(";created={CREATED};nonce=\"{NONCE}\"");
    assert_eq!(verdict(&without_key_id)?, Err(SignatureError::MissingParameter("keyid")));
    Ok(())
}

#[test]
fn a_key_id_has_one_spelling() -> TestResult {
    assert_eq!(KEY_ID.parse::<KeyId>()?.to_string(), KEY_ID);
    let tenant = "0190d2f4-7c1a-7a53-9c55-3f5d1c6b2a10";
    assert!(format!("{tenant}.2147483647").parse::<KeyId>().is_ok());
    let invalid = [
        "",
        tenant,
        "0190d2f4-7c1a-7a53-9c55-3f5d1c6b2a10.",
        "0190d2f4-7c1a-7a53-9c55-3f5d1c6b2a10.0",
        "0190d2f4-7c1a-7a53-9c55-3f5d1c6b2a10.01",
        "0190d2f4-7c1a-7a53-9c55-3f5d1c6b2a10.+1",
        "0190d2f4-7c1a-7a53-9c55-3f5d1c6b2a10.-1",
        "0190d2f4-7c1a-7a53-9c55-3f5d1c6b2a10.1.1",
        "0190d2f4-7c1a-7a53-9c55-3f5d1c6b2a10.2147483648",
        "0190d2f4-7c1a-7a53-9c55-3f5d1c6b2a10. 1",
        "0190D2F4-7C1A-7A53-9C55-3F5D1C6B2A10.1",
        "{0190d2f4-7c1a-7a53-9c55-3f5d1c6b2a10}.1",
        "0190d2f47c1a7a539c553f5d1c6b2a10.1",
        "urn:uuid:0190d2f4-7c1a-7a53-9c55-3f5d1c6b2a10.1",
    ];
    for key_id in invalid {
        assert!(key_id.parse::<KeyId>().is_err(), "{key_id}");
        let verdict = verdict(&parameters(CREATED, key_id, NONCE, ""))?;
        assert_eq!(verdict, Err(SignatureError::InvalidParameter("keyid")), "{key_id}");
    }
    Ok(())
}

#[test]
fn a_nonce_is_16_to_128_visible_characters() -> TestResult {
    let invalid = Err(SignatureError::InvalidParameter("nonce"));
    let cases = [
        ("n".repeat(15), invalid.clone()),
        ("n".repeat(16), Ok(())),
        ("n".repeat(128), Ok(())),
        ("n".repeat(129), invalid.clone()),
        (String::new(), invalid.clone()),
        ("nonce with spaces".to_owned(), invalid),
        (r#"quote-\"-backslash-\\"#.to_owned(), Ok(())),
    ];
    for (nonce, expected) in cases {
        assert_eq!(verdict(&parameters(CREATED, KEY_ID, &nonce, ""))?, expected, "{nonce}");
    }
    let token = format!(";created={CREATED};keyid=\"{KEY_ID}\";nonce=token-of-sixteen");
    assert_eq!(verdict(&token)?, Err(SignatureError::InvalidParameter("nonce")));
    assert_ne!(Nonce::random(), Nonce::random());
    assert!(Nonce::random().as_str().parse::<Nonce>().is_ok());
    Ok(())
}

#[test]
fn only_hmac_sha256_is_accepted_and_it_need_not_be_named() -> TestResult {
    assert_eq!(verdict(&parameters(CREATED, KEY_ID, NONCE, ""))?, Ok(()));
    assert_eq!(verdict(&parameters(CREATED, KEY_ID, NONCE, ";alg=\"hmac-sha256\""))?, Ok(()));
    for algorithm in ["\"hmac-sha512\"", "\"ed25519\"", "\"HMAC-SHA256\"", "\"\"", "hmac-sha256", "1"] {
        let verdict = verdict(&parameters(CREATED, KEY_ID, NONCE, &format!(";alg={algorithm}")))?;
        assert_eq!(verdict, Err(SignatureError::InvalidParameter("alg")), "{algorithm}");
    }
    Ok(())
}

#[test]
fn other_parameters_are_signed_in_the_order_in_which_they_came() -> TestResult {
    let others = ";tag=\"payments\";vendor=:YWJj:;flag;ratio=1.50;off=?0";
    assert_eq!(verdict(&parameters(CREATED, KEY_ID, NONCE, others))?, Ok(()));
    let reversed = format!("{others};nonce=\"{NONCE}\";keyid=\"{KEY_ID}\";created={CREATED}");
    assert_eq!(verdict(&reversed)?, Ok(()));
    assert_eq!(
        verdict(&parameters(CREATED, KEY_ID, NONCE, ";tag=payments"))?,
        Err(SignatureError::InvalidParameter("tag"))
    );
    Ok(())
}

#[test]
fn a_parameter_or_component_parameter_named_twice_is_refused() -> TestResult {
    let malformed = Err(SignatureError::MalformedHeader("signature-input"));
    for others in [";nonce=\"fedcba9876543210\"", &format!(";keyid=\"{KEY_ID}\""), ";x=1;x=1"] {
        assert_eq!(verdict(&parameters(CREATED, KEY_ID, NONCE, others))?, malformed, "{others}");
    }
    let request = Request::get("/p?a=1&b=2")?.sign_as(&format!(
        r#"("@method" "@path" "@query-param";name="a";name="b"){}"#,
        parameters(CREATED, KEY_ID, NONCE, "")
    ))?;
    assert_eq!(request.verify().map(|_| ()), malformed);
    Ok(())
}
