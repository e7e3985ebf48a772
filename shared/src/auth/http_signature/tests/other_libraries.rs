//! Requests that other implementations signed, byte for byte: npm `http-message-signatures` 1.0.6 and Python's
//! `http-message-signatures` 3.0.0, each in its own order and label. The key id, where it is written `KEY_ID`, is put in
//! by the test.

use super::{KEY_ID, Request, TestResult};

fn verify(mut request: Request, uri: &str, headers: &[(&'static str, &str)]) -> TestResult {
    request.parts.uri = uri.parse()?;
    for (name, value) in headers {
        request.set(name, &value.replace("KEY_ID", KEY_ID))?;
    }
    request.verify()?;
    Ok(())
}

#[test]
fn a_payment_signed_by_the_npm_library_is_accepted() -> TestResult {
    let headers = [
        (
            "content-digest",
            "sha-512=:3Y9DPXO4reZGgtE2GpDpWTg8lu+0B2WyXHXWHoPEz83JTZysH0MNTaH+1zKuWNbDOAfn3R6HVk+4uUyYbbD3Yg==:",
        ),
        ("signature", "npm=:8/j4bWGs0gUQssn4Yzz1tyuF25cfFTsf/dqE/rQ4jQ0=:"),
        (
            "signature-input",
            concat!(
                r#"npm=("idempotency-key" "@authority" "@method" "@path" "content-digest" "content-type" "@target-uri")"#,
                r#";nonce="npm-\"quoted\"-\\-0123";keyid="KEY_ID";created=1700000000;expires=1700000300"#
            ),
        ),
    ];
    verify(Request::payment()?, "https://api.example.com/api/v1/payments", &headers)
}

#[test]
fn a_look_up_signed_by_the_npm_library_is_accepted() -> TestResult {
    let headers = [
        ("signature", "npm=:Xiv4jC6IgdQiIqBNQz0ApFt4Ll1SnHqOBqLjJR5wDo0=:"),
        (
            "signature-input",
            r#"npm=("@method" "@path" "@query-param";name="idempotency_key");created=1700000000;keyid="KEY_ID""#,
        ),
    ];
    verify(Request::get("/")?, "/api/v1/payments?idempotency_key=a%20b/c", &headers)
}

#[test]
fn a_payment_signed_by_the_python_library_is_accepted() -> TestResult {
    let headers = [
        ("content-digest", "sha-256=:0BBggGGq+i0re0alSVQopKSnEdhnf6bsOEaaZ65V4CM=:"),
        ("signature", "pyhms=:sfRo53ffs2q2BwHFQ7M2BNYexn5xiW5wPciNx533VQI=:"),
        (
            "signature-input",
            concat!(
                r#"pyhms=("@method" "@authority" "@target-uri" "@path" "content-type" "idempotency-key" "content-digest")"#,
                r#";created=1700000000;keyid="KEY_ID";alg="hmac-sha256";nonce="python-0123456789";tag="payments""#
            ),
        ),
    ];
    verify(Request::payment()?, "https://api.example.com/api/v1/payments", &headers)
}

#[test]
fn a_look_up_signed_by_the_python_library_is_accepted() -> TestResult {
    let headers = [
        ("signature", "pyhms=:d5wh9ne6oSfPM7H5pi3PR0oz354CX8MYj/X2hc8jAeQ=:"),
        (
            "signature-input",
            concat!(
                r#"pyhms=("@method" "@path" "@query-param";name="x" "@query-param";name="idempotency_key")"#,
                r#";created=1700000000;keyid="KEY_ID";alg="hmac-sha256""#
            ),
        ),
    ];
    verify(Request::get("/")?, "/api/v1/payments?idempotency_key=a%20b~c&x=1+2", &headers)
}
