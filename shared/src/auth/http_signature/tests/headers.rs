//! `Signature-Input` and `Signature`: missing, doubled, joined, malformed, oversized.

use http::HeaderValue;

use super::{PARAMETERS, POST_COMPONENTS, Request, SignatureError, TestResult};

const NAMES: [&str; 2] = ["signature-input", "signature"];

#[test]
fn a_missing_header_is_refused() -> TestResult {
    for name in NAMES {
        let mut request = Request::signed_payment()?;
        request.parts.headers.remove(name);
        assert_eq!(request.verify(), Err(SignatureError::MissingHeader(name)));
    }
    Ok(())
}

#[test]
fn a_repeated_header_is_refused_even_with_equal_lines() -> TestResult {
    for name in NAMES {
        let mut request = Request::signed_payment()?;
        let value = HeaderValue::from_str(&request.header(name)?)?;
        request.parts.headers.append(name, value);
        assert_eq!(request.verify(), Err(SignatureError::RepeatedHeader(name)));
    }
    Ok(())
}

#[test]
fn a_header_that_a_gateway_joined_from_two_lines_is_refused() -> TestResult {
    for name in NAMES {
        let mut request = Request::signed_payment()?;
        let value = request.header(name)?;
        request.set(name, &format!("{value},{value}"))?;
        assert_eq!(request.verify(), Err(SignatureError::MalformedHeader(name)));
    }
    Ok(())
}

#[test]
fn two_signatures_are_refused() -> TestResult {
    let mut request = Request::signed_payment()?;
    for name in NAMES {
        let value = request.header(name)?;
        request.set(name, &format!("{value}, {}", value.replacen("sig1", "sig2", 1)))?;
    }
    assert_eq!(request.verify(), Err(SignatureError::NotOneSignature));
    Ok(())
}

#[test]
fn a_second_member_in_one_of_the_headers_is_refused() -> TestResult {
    for name in NAMES {
        let mut request = Request::signed_payment()?;
        let value = request.header(name)?;
        request.set(name, &format!("{value}, {}", value.replacen("sig1", "sig2", 1)))?;
        assert_eq!(request.verify(), Err(SignatureError::NotOneSignature));
    }
    Ok(())
}

#[test]
fn labels_that_differ_are_refused_and_any_one_label_is_accepted() -> TestResult {
    let mut request = Request::signed_payment()?;
    for (name, expected) in NAMES.into_iter().zip([Err(SignatureError::NotOneSignature), Ok(())]) {
        request.set(name, &request.header(name)?.replacen("sig1", "another-label", 1))?;
        assert_eq!(request.verify().map(|_| ()), expected);
    }
    Ok(())
}

#[test]
fn malformed_headers_are_refused() -> TestResult {
    let cases = [
        ("signature-input", "", SignatureError::NotOneSignature),
        ("signature-input", "sig1", SignatureError::MalformedHeader("signature-input")),
        ("signature-input", "sig1=\"@method\"", SignatureError::MalformedHeader("signature-input")),
        ("signature-input", "sig1=(\"@method\"", SignatureError::MalformedHeader("signature-input")),
        ("signature-input", "sig1=(\"@method\"),", SignatureError::MalformedHeader("signature-input")),
        ("signature-input", "SIG1=()", SignatureError::MalformedHeader("signature-input")),
        ("signature", "", SignatureError::NotOneSignature),
        ("signature", "sig1", SignatureError::MalformedHeader("signature")),
        ("signature", "sig1=abc", SignatureError::MalformedHeader("signature")),
        ("signature", "sig1=:not base64:", SignatureError::MalformedHeader("signature")),
        ("signature", "sig1=:YWJj:", SignatureError::MalformedHeader("signature")),
        ("signature", "sig1=(:YWJj:)", SignatureError::MalformedHeader("signature")),
    ];
    for (name, value, expected) in cases {
        let mut request = Request::signed_payment()?;
        request.set(name, value)?;
        assert_eq!(request.verify(), Err(expected), "{name}: {value}");
    }
    Ok(())
}

#[test]
fn a_signature_with_parameters_is_refused() -> TestResult {
    let mut request = Request::signed_payment()?;
    request.set("signature", &format!("{};v=1", request.header("signature")?))?;
    assert_eq!(request.verify(), Err(SignatureError::MalformedHeader("signature")));
    Ok(())
}

#[test]
fn bytes_outside_ascii_are_refused() -> TestResult {
    for name in NAMES {
        let mut request = Request::signed_payment()?;
        request.parts.headers.insert(name, HeaderValue::from_bytes(b"sig1=\xff\xfe")?);
        assert_eq!(request.verify(), Err(SignatureError::MalformedHeader(name)));
    }
    Ok(())
}

#[test]
fn oversized_headers_are_refused_and_the_largest_ones_are_read() -> TestResult {
    let padded = |length: usize| {
        let unpadded = format!("({POST_COMPONENTS}){PARAMETERS};tag=\"\"").len() + "sig1=".len();
        format!("({POST_COMPONENTS}){PARAMETERS};tag=\"{}\"", "x".repeat(length - unpadded))
    };
    let largest = Request::payment()?.sign_as(&padded(2048))?;
    assert_eq!(largest.header("signature-input")?.len(), 2048);
    assert!(largest.verify().is_ok());
    let oversized = Request::payment()?.sign_as(&padded(2049))?;
    assert_eq!(oversized.verify(), Err(SignatureError::OversizedHeader("signature-input")));
    let mut request = Request::signed_payment()?;
    request.set("signature", &format!("sig1=:{}:", "A".repeat(252)))?;
    assert_eq!(request.verify(), Err(SignatureError::OversizedHeader("signature")));
    Ok(())
}

#[test]
fn a_signature_input_in_another_spelling_is_verified_in_its_canonical_form() -> TestResult {
    let mut request = Request::payment()?.sign_as(&format!("({POST_COMPONENTS}){PARAMETERS}"))?;
    let spelled = request.header("signature-input")?.replace("\" \"", "\"   \"").replace(";nonce", ";  nonce");
    request.set("signature-input", &spelled)?;
    assert!(request.verify().is_ok());
    Ok(())
}
