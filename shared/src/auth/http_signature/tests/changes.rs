//! Each signed part, changed in turn.

use http::{HeaderValue, Method};

use super::{PARAMETERS, POST_COMPONENTS, Request, SignatureError, TestResult, digest};

/// A payment that covers more than it must.
fn request() -> Result<Request, Box<dyn std::error::Error>> {
    let mut request = Request::payment()?;
    request.parts.uri = "https://api.example.com/api/v1/payments?a=1".parse()?;
    request.set("x-trace", "one")?;
    request.sign_as(&format!(
        r#"({POST_COMPONENTS} "@query" "@authority" "@scheme" "@target-uri" "@request-target" "x-trace"){PARAMETERS}"#
    ))
}

#[test]
fn a_changed_part_is_refused() -> TestResult {
    assert!(request()?.verify().is_ok());
    let mut changed = Vec::new();
    for uri in [
        "https://api.example.com/api/v1/payment?a=1",
        "https://api.example.com/api/v1/payments?a=2",
        "https://api.example.com/api/v1/payments?a=1&b=1",
        "https://api.example.com/api/v1/payments",
        "http://api.example.com/api/v1/payments?a=1",
    ] {
        let mut request = request()?;
        request.parts.uri = uri.parse()?;
        changed.push((uri, request));
    }
    for (name, value) in [
        ("content-type", "text/plain"),
        ("idempotency-key", "order-4712"),
        ("content-digest", &digest::sha_256(b"another body")),
        ("host", "other.example.com"),
        ("x-trace", "two"),
    ] {
        let mut request = request()?;
        request.set(name, value)?;
        changed.push((name, request));
    }
    let mut put = request()?;
    put.parts.method = Method::PUT;
    changed.push(("method", put));
    let mut second_line = request()?;
    second_line.parts.headers.append("x-trace", HeaderValue::from_static("two"));
    changed.push(("second line", second_line));
    for (what, request) in changed {
        assert_eq!(request.verify(), Err(SignatureError::MacMismatch), "{what}");
    }
    Ok(())
}

#[test]
fn a_changed_parameter_is_refused() -> TestResult {
    for (from, to) in [
        ("1700000000", "1700000001"),
        ("nonce-0123456789", "nonce-0123456780"),
        ("3f5d1c6b2a10.1", "3f5d1c6b2a10.2"),
        ("3f5d1c6b2a10.1", "3f5d1c6b2a11.1"),
        (";alg=\"hmac-sha256\"", ""),
        ("\"@method\" \"@path\"", "\"@path\" \"@method\""),
    ] {
        let mut request = request()?;
        let input = request.header("signature-input")?;
        let changed = input.replacen(from, to, 1);
        assert_ne!(input, changed);
        request.set("signature-input", &changed)?;
        assert_eq!(request.verify(), Err(SignatureError::MacMismatch), "{from}");
    }
    Ok(())
}

#[test]
fn each_changed_body_byte_is_refused() -> TestResult {
    let original = request()?;
    for index in 0..original.body.len() {
        let mut request = original.clone();
        if let Some(byte) = request.body.get_mut(index) {
            *byte ^= 1;
        }
        assert_eq!(request.verify(), Err(SignatureError::DigestMismatch), "byte {index}");
    }
    Ok(())
}

#[test]
fn a_changed_uncovered_header_is_accepted() -> TestResult {
    let mut request = request()?;
    request.set("user-agent", "another")?;
    assert!(request.verify().is_ok());
    Ok(())
}
