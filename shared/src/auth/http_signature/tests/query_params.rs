//! `@query-param` (RFC 9421 §2.2.8): its encoding, and that it covers the whole query or nothing.

use super::{super::query, PARAMETERS, Request, SignatureError, TestResult};

#[test]
fn names_and_values_are_encoded_as_in_the_rfc() -> TestResult {
    let uri = "/parameters?var=this%20is%20a%20big%0Amultiline%20value&bar=with+plus+whitespace&fa%C3%A7ade%22%3A%20=something";
    let parts = Request::get(uri)?.parts;
    let expected = [
        ("var", "this%20is%20a%20big%0Amultiline%20value"),
        ("bar", "with%20plus%20whitespace"),
        ("fa%C3%A7ade%22%3A%20", "something"),
    ];
    for (name, value) in expected {
        assert_eq!(query::parameter(&parts, name).as_deref(), Some(value));
    }
    Ok(())
}

#[test]
fn all_parameters_of_the_query_must_be_covered() -> TestResult {
    let a = r#""@query-param";name="a""#;
    let b = r#""@query-param";name="b""#;
    let c = r#""@query-param";name="c""#;
    let name = |component: &str| SignatureError::UnavailableComponent(component.to_owned());
    let cases = [
        ("/p?a=1&b=2", format!("{a} {b}"), Ok(())),
        ("/p?a=1&b=2", format!("{b} {a}"), Ok(())),
        ("/p?a=1&b", format!("{a} {b}"), Ok(())),
        ("/p?a=1&b=2", format!("{a} \"@query\""), Ok(())),
        ("/p?a=1&b=2", a.to_owned(), Err(SignatureError::NotCovered("@query"))),
        ("/p?a=1", format!("{a} {c}"), Err(name(c))),
        ("/p?a=1&a=1", a.to_owned(), Err(name(a))),
        ("/p?a=1&%61=2", a.to_owned(), Err(name(a))),
        ("/p?a=%FF", a.to_owned(), Err(SignatureError::NotCovered("@query"))),
        ("/p?a=%FF", format!("{a} \"@query\""), Err(name(a))),
        ("/p?a=1", format!("{a} {a}"), Err(SignatureError::RepeatedComponent(a.to_owned()))),
    ];
    for (uri, components, expected) in cases {
        let request = Request::get(uri)?.sign_as(&format!(r#"("@method" "@path" {components}){PARAMETERS}"#))?;
        assert_eq!(request.verify().map(|_| ()), expected, "{uri} {components}");
    }
    Ok(())
}

#[test]
fn a_gateway_may_encode_the_query_anew_but_not_change_it() -> TestResult {
    let request = Request::get("/p?idempotency_key=a%20b%7Ec&x=%2b")?.sign_as(&format!(
        r#"("@method" "@path" "@query-param";name="idempotency_key" "@query-param";name="x"){PARAMETERS}"#
    ))?;
    let cases = [
        ("/p?idempotency_key=a+b~c&x=%2B", Ok(())),
        ("/p?x=%2B&idempotency_key=a%20b~c", Ok(())),
        ("/p?idempotency_key=a+b~c&x=+", Err(SignatureError::MacMismatch)),
        ("/p?idempotency_key=a+b~d&x=%2B", Err(SignatureError::MacMismatch)),
        ("/p?idempotency_key=a+b~c&x=%2B&y=1", Err(SignatureError::NotCovered("@query"))),
    ];
    for (uri, expected) in cases {
        let mut changed = request.clone();
        changed.parts.uri = uri.parse()?;
        assert_eq!(changed.verify().map(|_| ()), expected, "{uri}");
    }
    Ok(())
}
