//! `Content-Digest`: the examples of RFC 9530 and RFC 9421, and how a request with a wrong one is refused.

use http::{HeaderMap, HeaderValue};

use super::{PARAMETERS, POST_COMPONENTS, Request, SignatureError, TestResult, digest};

const SHA_256_OF_EXAMPLE: &str = "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:";
const SHA_512_OF_EXAMPLE: &str =
    "sha-512=:YMAam51Jz/jOATT6/zvHrLVgOYTGFy1d6GJiOHTohq4yP+pgk4vf2aCsyRZOtw8MjkM7iw7yZ/WkppmM44T3qg==:";
const EXAMPLE: &[u8] = b"{\"hello\": \"world\"}\n";

fn check(field: &str, body: &[u8]) -> Result<(), SignatureError> {
    let mut headers = HeaderMap::new();
    if let Ok(value) = HeaderValue::from_str(field) {
        headers.insert("content-digest", value);
    }
    digest::ContentDigest::parse(&headers)?.check(body)
}

#[test]
fn the_examples_of_rfc_9530_match() {
    assert_eq!(check(SHA_256_OF_EXAMPLE, EXAMPLE), Ok(()));
    assert_eq!(check(SHA_512_OF_EXAMPLE, EXAMPLE), Ok(()));
    assert_eq!(digest::sha_256(EXAMPLE), SHA_256_OF_EXAMPLE);
}

#[test]
fn the_examples_of_rfc_9421_match() {
    let body = br#"{"hello": "world"}"#;
    assert_eq!(check("sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:", body), Ok(()));
    let sha_512 = "sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:";
    assert_eq!(check(sha_512, body), Ok(()));
}

#[test]
fn every_supported_digest_must_match() {
    let both = format!("{SHA_256_OF_EXAMPLE}, {SHA_512_OF_EXAMPLE}");
    assert_eq!(check(&both, EXAMPLE), Ok(()));
    let one_wrong = format!("{SHA_512_OF_EXAMPLE}, {}", digest::sha_256(b"another body"));
    assert_eq!(check(&one_wrong, EXAMPLE), Err(SignatureError::DigestMismatch));
}

#[test]
fn other_algorithms_are_ignored_but_do_not_suffice() {
    let other = "md5=:1B2M2Y8AsgTpgAmY7PhCfg==:";
    assert_eq!(check(&format!("{other}, {SHA_256_OF_EXAMPLE}"), EXAMPLE), Ok(()));
    assert_eq!(check(other, EXAMPLE), Err(SignatureError::NoSupportedDigest));
}

#[test]
fn malformed_digests_are_refused() {
    let malformed = Err(SignatureError::MalformedHeader("content-digest"));
    let twice = format!("{SHA_256_OF_EXAMPLE},{SHA_256_OF_EXAMPLE}");
    for field in ["sha-256", "sha-256=abc", "sha-256=:abc", "sha-256=(:YQ==:)", "sha-256=:YQ==:;q=1", "=", &twice] {
        assert_eq!(check(field, EXAMPLE), malformed, "{field}");
    }
    assert_eq!(check("sha-256=:YQ==:", EXAMPLE), Err(SignatureError::DigestMismatch));
    let oversized = format!("{SHA_256_OF_EXAMPLE}, a=\"{}\"", "x".repeat(512));
    assert_eq!(check(&oversized, EXAMPLE), Err(SignatureError::OversizedHeader("content-digest")));
}

#[test]
fn a_signed_digest_of_another_body_is_refused_after_the_mac() -> TestResult {
    let mut request = Request::payment()?;
    request.set("content-digest", &digest::sha_256(b"another body"))?;
    let request = request.sign_as(&format!("({POST_COMPONENTS}){PARAMETERS}"))?;
    assert_eq!(request.verify(), Err(SignatureError::DigestMismatch));
    Ok(())
}

#[test]
fn sha_512_alone_is_accepted() -> TestResult {
    let mut request = Request::payment()?;
    request.body = EXAMPLE.to_vec();
    request.set("content-digest", SHA_512_OF_EXAMPLE)?;
    let request = request.sign_as(&format!("({POST_COMPONENTS}){PARAMETERS}"))?;
    assert!(request.verify().is_ok());
    Ok(())
}

#[test]
fn a_missing_or_repeated_digest_is_refused() -> TestResult {
    let mut request = Request::signed_payment()?;
    let value = HeaderValue::from_str(&request.header("content-digest")?)?;
    request.parts.headers.append("content-digest", value);
    assert_eq!(request.verify(), Err(SignatureError::RepeatedHeader("content-digest")));
    request.parts.headers.remove("content-digest");
    assert_eq!(request.verify(), Err(SignatureError::MissingHeader("content-digest")));
    Ok(())
}

#[test]
fn a_covered_digest_is_checked_on_a_get_as_well() -> TestResult {
    let mut request = Request::get("/api/v1/payments/1")?;
    request.set("content-digest", &digest::sha_256(b"another body"))?;
    let request = request.sign_as(&format!(r#"("@method" "@path" "content-digest"){PARAMETERS}"#))?;
    assert_eq!(request.verify(), Err(SignatureError::DigestMismatch));
    Ok(())
}
