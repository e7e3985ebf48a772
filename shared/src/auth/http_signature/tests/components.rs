//! The values of components, against the examples of RFC 9421 §2, and the components that are refused.

use http::request::Parts;
use sfv::{Item, Parser};

use super::{super::components, PARAMETERS, POST_COMPONENTS, Request, SignatureError, TestResult};

fn value(component: &str, parts: &Parts) -> Result<String, Box<dyn std::error::Error>> {
    Ok(components::value(&Parser::new(component).parse::<Item>()?, parts)?)
}

#[test]
fn derived_components_have_the_values_of_the_rfc() -> TestResult {
    let (parts, ()) = http::Request::post("https://www.example.com/path?param=value").body(())?.into_parts();
    let cases = [
        ("\"@method\"", "POST"),
        ("\"@target-uri\"", "https://www.example.com/path?param=value"),
        ("\"@authority\"", "www.example.com"),
        ("\"@scheme\"", "https"),
        ("\"@request-target\"", "/path?param=value"),
        ("\"@path\"", "/path"),
        ("\"@query\"", "?param=value"),
    ];
    for (component, expected) in cases {
        assert_eq!(value(component, &parts)?, expected, "{component}");
    }
    Ok(())
}

#[test]
fn an_empty_path_is_a_slash_and_an_absent_query_a_question_mark() -> TestResult {
    let (parts, ()) = http::Request::get("https://www.example.com").body(())?.into_parts();
    assert_eq!(value("\"@path\"", &parts)?, "/");
    assert_eq!(value("\"@query\"", &parts)?, "?");
    assert_eq!(value("\"@target-uri\"", &parts)?, "https://www.example.com/");
    Ok(())
}

#[test]
fn authority_is_lower_case_without_the_default_port() -> TestResult {
    let cases = [
        ("/", "WWW.Example.COM", "www.example.com"),
        ("/", "example.com:443", "example.com"),
        ("/", "example.com:8443", "example.com:8443"),
        ("/", "[::1]:9000", "[::1]:9000"),
        ("http://other.example/", "example.com:80", "example.com"),
        ("http://other.example/", "example.com:443", "example.com:443"),
    ];
    for (uri, host, expected) in cases {
        let (parts, ()) = http::Request::get(uri).header("host", host).body(())?.into_parts();
        assert_eq!(value("\"@authority\"", &parts)?, expected, "{uri} {host}");
    }
    Ok(())
}

#[test]
fn field_lines_are_trimmed_and_joined() -> TestResult {
    let (parts, ()) = http::Request::get("/")
        .header("cache-control", "max-age=60")
        .header("cache-control", "   must-revalidate\t")
        .header("x-empty-header", "")
        .body(())?
        .into_parts();
    assert_eq!(value("\"cache-control\"", &parts)?, "max-age=60, must-revalidate");
    assert_eq!(value("\"x-empty-header\"", &parts)?, "");
    Ok(())
}

#[test]
fn unknown_components_are_refused() -> TestResult {
    for component in
        ["\"@status\"", "\"@signature-params\"", "\"@nonsense\"", "\"Content-Type\"", "\"a b\"", "\"\"", "7"]
    {
        let request = Request::payment()?.sign_as(&format!("({POST_COMPONENTS} {component}){PARAMETERS}"))?;
        assert_eq!(request.verify(), Err(SignatureError::UnknownComponent(component.to_owned())));
    }
    Ok(())
}

#[test]
fn component_parameters_are_refused() -> TestResult {
    let unsupported = [
        "\"host\";sf",
        "\"host\";bs",
        "\"host\";key=\"a\"",
        "\"host\";tr",
        "\"host\";req",
        "\"@authority\";req",
        "\"@query-param\"",
        "\"@query-param\";name=a",
        "\"@query-param\";name=\"a\";req",
    ];
    for component in unsupported {
        let request = Request::payment()?.sign_as(&format!("({POST_COMPONENTS} {component}){PARAMETERS}"))?;
        assert_eq!(request.verify(), Err(SignatureError::Unsupported(component.to_owned())));
    }
    Ok(())
}

#[test]
fn a_component_covered_twice_is_refused() -> TestResult {
    let request = Request::payment()?.sign_as(&format!("({POST_COMPONENTS} \"@path\"){PARAMETERS}"))?;
    assert_eq!(request.verify(), Err(SignatureError::RepeatedComponent("\"@path\"".to_owned())));
    Ok(())
}

#[test]
fn a_component_without_a_usable_value_is_refused() -> TestResult {
    let mut request = Request::payment()?;
    request.parts.headers.insert("x-latin", http::HeaderValue::from_bytes(b"caf\xe9")?);
    request.parts.headers.append("host", "second.example.com".parse()?);
    for component in ["\"x-absent\"", "\"x-latin\"", "\"@authority\"", "\"@scheme\"", "\"@target-uri\""] {
        let request = request.clone().sign_as(&format!("({POST_COMPONENTS} {component}){PARAMETERS}"))?;
        assert_eq!(request.verify(), Err(SignatureError::UnavailableComponent(component.to_owned())));
    }
    Ok(())
}

#[test]
fn a_target_outside_ascii_cannot_be_signed() -> TestResult {
    let request = Request::get("/caf\u{e9}")?.sign_as(&format!(r#"("@method" "@path"){PARAMETERS}"#))?;
    assert_eq!(request.verify(), Err(SignatureError::UnavailableComponent("\"@path\"".to_owned())));
    Ok(())
}
