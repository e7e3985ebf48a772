//! The query as `@query-param` sees it (RFC 9421 §2.2.8): parsed as an HTML form and encoded anew, so that a gateway
//! which re-encodes the raw query does not break the signature. Must not know which parameters the API understands.

use http::request::Parts;
use sfv::{FieldType, Item};

use super::SignatureError;

/// The `name` of a `@query-param` component, which must be its only parameter.
pub(super) fn covered_name(component: &Item) -> Result<&str, SignatureError> {
    match (component.params.len(), component.params.get("name").and_then(sfv::BareItem::as_string)) {
        (1, Some(name)) => Ok(name.as_str()),
        _ => Err(SignatureError::Unsupported(component.serialize())),
    }
}

/// The encoded value of the parameter with this encoded name; `None` when the query does not hold it exactly once.
pub(super) fn parameter(parts: &Parts, name: &str) -> Option<String> {
    let mut values = encoded_parameters(parts)?.into_iter().filter(|(other, _)| other == name);
    let (_, value) = values.next()?;
    if values.next().is_some() { None } else { Some(value) }
}

/// Names and values, percent-encoded; `None` when one of them is not UTF-8.
pub(super) fn encoded_parameters(parts: &Parts) -> Option<Vec<(String, String)>> {
    form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes())
        .map(|(name, value)| Some((encode(&name)?, encode(&value)?)))
        .collect()
}

/// The form serializer's percent-encoding, with `%20` for a space instead of `+`.
fn encode(decoded: &str) -> Option<String> {
    // The form parser replaces bytes that are not UTF-8; two different queries would then carry one signature.
    if decoded.contains(char::REPLACEMENT_CHARACTER) {
        return None;
    }
    let encoded: String = form_urlencoded::byte_serialize(decoded.as_bytes()).collect();
    Some(encoded.replace('+', "%20"))
}
