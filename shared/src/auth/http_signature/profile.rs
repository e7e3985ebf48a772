//! What a signature must cover here (RFC 9421 §1.4 leaves this to the application). Must not know secrets or values.

use http::{HeaderValue, Method, request::Parts};
use sfv::Item;

use super::{Nonce, SignatureError, components, content_digest, query};

/// Covered by every signature.
const ALWAYS: [&str; 2] = ["@method", "@path"];
/// Covered as well when the request carries content.
const WITH_CONTENT: [&str; 3] = ["content-type", content_digest::NAME, "idempotency-key"];

/// Whether the body and its key must be signed: always, except for a GET or HEAD without a body.
pub(super) fn carries_content(method: &Method, body: &[u8]) -> bool {
    !matches!(*method, Method::GET | Method::HEAD) || !body.is_empty()
}

/// The components that a request must cover, the query aside.
pub(super) fn required_components(method: &Method, body: &[u8]) -> impl Iterator<Item = &'static str> {
    let with_content = carries_content(method, body).then_some(WITH_CONTENT);
    ALWAYS.into_iter().chain(with_content.into_iter().flatten())
}

/// Refuses a signature that leaves out a required component, a part of the query or, with content, the nonce.
pub(super) fn require(
    parts: &Parts,
    body: &[u8],
    covered: &[Item],
    nonce: Option<&Nonce>,
) -> Result<(), SignatureError> {
    let is_covered = |required: &str| {
        covered.iter().any(|component| component.params.is_empty() && components::name(component) == Some(required))
    };
    if let Some(missing) = required_components(&parts.method, body).find(|required| !is_covered(required)) {
        return Err(SignatureError::NotCovered(missing));
    }
    if !covers_query(parts, covered) {
        return Err(SignatureError::NotCovered("@query"));
    }
    if carries_content(&parts.method, body) && nonce.is_none() {
        return Err(SignatureError::MissingParameter("nonce"));
    }
    Ok(())
}

/// Whether the signature covers the whole query: by `@query`, or by a `@query-param` for each parameter. A request
/// without parameters needs neither.
fn covers_query(parts: &Parts, covered: &[Item]) -> bool {
    let whole = |component: &Item| components::name(component) == Some("@query");
    let covers = |name: &str| {
        covered
            .iter()
            .filter(|component| components::name(component) == Some("@query-param"))
            .any(|component| query::covered_name(component) == Ok(name))
    };
    covered.iter().any(whole)
        || query::encoded_parameters(parts).is_some_and(|parameters| parameters.iter().all(|(name, _)| covers(name)))
}

/// The `Accept-Signature` value (RFC 9421 §5.1) that tells a refused client what to sign. The field cannot ask for a
/// nonce of the client's own choice, so the nonce is left to the API's documentation.
#[must_use]
pub fn accept_signature(method: &Method) -> HeaderValue {
    HeaderValue::from_static(if carries_content(method, &[]) {
        r#"sig1=("@method" "@path" "content-type" "content-digest" "idempotency-key");created;alg="hmac-sha256""#
    } else {
        r#"sig1=("@method" "@path" "@query");created;alg="hmac-sha256""#
    })
}
