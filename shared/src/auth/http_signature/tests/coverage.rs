//! What a signature must cover.

use super::{PARAMETERS, POST_COMPONENTS, Request, SignatureError, TestResult};

#[test]
fn a_payment_must_cover_each_required_component() -> TestResult {
    for left_out in ["@method", "@path", "content-type", "content-digest", "idempotency-key"] {
        let components = POST_COMPONENTS.replace(&format!("\"{left_out}\""), "");
        let request = Request::payment()?.sign_as(&format!("({components}){PARAMETERS}"))?;
        assert_eq!(request.verify(), Err(SignatureError::NotCovered(left_out)));
    }
    Ok(())
}

#[test]
fn a_component_with_parameters_does_not_count_as_covered() -> TestResult {
    let components = POST_COMPONENTS.replace("\"content-digest\"", "\"content-digest\";key=\"sha-256\"");
    let request = Request::payment()?.sign_as(&format!("({components}){PARAMETERS}"))?;
    assert_eq!(request.verify(), Err(SignatureError::NotCovered("content-digest")));
    Ok(())
}

#[test]
fn a_payment_must_carry_a_nonce_and_a_get_may() -> TestResult {
    let (without_nonce, _) = PARAMETERS.split_once(";nonce").ok_or("no nonce")?;
    let payment = Request::payment()?.sign_as(&format!("({POST_COMPONENTS}){without_nonce}"))?;
    assert_eq!(payment.verify(), Err(SignatureError::MissingParameter("nonce")));
    let get = Request::get("/api/v1/payments/1")?.sign_as(&format!(r#"("@method" "@path"){without_nonce}"#))?;
    assert_eq!(get.verify()?.nonce, None);
    Ok(())
}

#[test]
fn a_get_must_cover_method_path_and_its_query() -> TestResult {
    let cases = [
        ("/p?a=1", r#"("@path" "@query")"#, Err(SignatureError::NotCovered("@method"))),
        ("/p?a=1", r#"("@method" "@query")"#, Err(SignatureError::NotCovered("@path"))),
        ("/p?a=1", r#"("@method" "@path")"#, Err(SignatureError::NotCovered("@query"))),
        ("/p?a=1", r#"("@method" "@path" "@request-target")"#, Err(SignatureError::NotCovered("@query"))),
        ("/p?a=1", r#"("@method" "@path" "@query")"#, Ok(())),
        ("/p", r#"("@method" "@path")"#, Ok(())),
        ("/p?", r#"("@method" "@path")"#, Ok(())),
    ];
    for (uri, components, expected) in cases {
        let request = Request::get(uri)?.sign_as(&format!("{components}{PARAMETERS}"))?;
        assert_eq!(request.verify().map(|_| ()), expected, "{uri} {components}");
    }
    Ok(())
}

#[test]
fn a_query_on_a_payment_must_be_covered_too() -> TestResult {
    let mut request = Request::payment()?;
    request.parts.uri = "/api/v1/payments?dry_run=true".parse()?;
    let uncovered = request.clone().sign_as(&format!("({POST_COMPONENTS}){PARAMETERS}"))?;
    assert_eq!(uncovered.verify(), Err(SignatureError::NotCovered("@query")));
    let covered = request.sign_as(&format!("({POST_COMPONENTS} \"@query\"){PARAMETERS}"))?;
    assert!(covered.verify().is_ok());
    Ok(())
}

#[test]
fn a_get_with_a_body_must_cover_it() -> TestResult {
    let mut request = Request::get("/api/v1/payments/1")?;
    request.body = b"surprise".to_vec();
    let request = request.sign_as(&format!(r#"("@method" "@path"){PARAMETERS}"#))?;
    assert_eq!(request.verify(), Err(SignatureError::NotCovered("content-type")));
    Ok(())
}

#[test]
fn at_most_32_components_are_read() -> TestResult {
    let with_fields = |count: usize| -> Result<Request, Box<dyn std::error::Error>> {
        let mut request = Request::payment()?;
        let mut components = POST_COMPONENTS.to_owned();
        for field in 0..count {
            let name = format!("x-{field}");
            request.parts.headers.insert(http::HeaderName::from_bytes(name.as_bytes())?, "v".parse()?);
            components.push_str(" \"");
            components.push_str(&name);
            components.push('"');
        }
        request.sign_as(&format!("({components}){PARAMETERS}"))
    };
    assert!(with_fields(27)?.verify().is_ok());
    assert_eq!(with_fields(28)?.verify(), Err(SignatureError::TooManyComponents));
    Ok(())
}
