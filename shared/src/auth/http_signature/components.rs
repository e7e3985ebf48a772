//! From a component identifier to its value in a request (RFC 9421 §2). Must not know which components are required.
//!
//! The component parameters `sf`, `bs`, `key`, `tr` and `req` are refused: every field that this API reads is one
//! line, and there is no response, trailer or second reading of a field to choose.

use http::{HeaderMap, HeaderName, header::HOST, request::Parts, uri::Authority};
use sfv::{FieldType, Item};

use super::{SignatureError, query};

/// The name of a component, with its leading `@` when it is derived.
pub(super) fn name(component: &Item) -> Option<&str> {
    component.bare_item.as_string().map(sfv::StringRef::as_str)
}

/// The value that `component` contributes to the signature base; ASCII without line breaks.
pub(super) fn value(component: &Item, parts: &Parts) -> Result<String, SignatureError> {
    let unknown = || SignatureError::UnknownComponent(component.serialize());
    let name = name(component).ok_or_else(unknown)?;
    if name != "@query-param" && !component.params.is_empty() {
        return Err(SignatureError::Unsupported(component.serialize()));
    }
    let value = match name {
        "@method" => Some(parts.method.to_string()),
        "@target-uri" => target_uri(parts),
        "@authority" => authority(parts),
        "@scheme" => parts.uri.scheme_str().map(str::to_owned),
        "@request-target" => Some(request_target(parts)),
        "@path" => Some(path(parts).to_owned()),
        "@query" => Some(format!("?{}", parts.uri.query().unwrap_or_default())),
        "@query-param" => query::parameter(parts, query::covered_name(component)?),
        derived if derived.starts_with('@') => return Err(unknown()),
        field_name => field(&parts.headers, HeaderName::from_lowercase(field_name.as_bytes()).map_err(|_| unknown())?),
    };
    value
        .filter(|value| value.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte)))
        .ok_or_else(|| SignatureError::UnavailableComponent(component.serialize()))
}

/// All lines of a field, trimmed and joined as RFC 9421 §2.1 says; `None` when absent or not ASCII.
fn field(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    let lines: Vec<&str> =
        headers.get_all(name).iter().map(|line| line.to_str().map(str::trim)).collect::<Result<_, _>>().ok()?;
    if lines.is_empty() { None } else { Some(lines.join(", ")) }
}

/// The target's path; an empty one means `/` (RFC 9421 §2.2.6).
fn path(parts: &Parts) -> &str {
    Some(parts.uri.path()).filter(|path| !path.is_empty()).unwrap_or("/")
}

fn request_target(parts: &Parts) -> String {
    parts.uri.query().map_or_else(|| path(parts).to_owned(), |query| format!("{}?{query}", path(parts)))
}

/// Needs a URI with its scheme, as API Gateway's event gives it; a bare request line does not tell the scheme.
fn target_uri(parts: &Parts) -> Option<String> {
    Some(format!("{}://{}{}", parts.uri.scheme_str()?, authority(parts)?, request_target(parts)))
}

/// Host and port in lower case, from the one `Host` header or else the URI, without the scheme's default port
/// (RFC 9421 §2.2.3). Without a scheme in the URI, https is assumed.
fn authority(parts: &Parts) -> Option<String> {
    let mut hosts = parts.headers.get_all(HOST).iter();
    let authority = match (hosts.next(), hosts.next()) {
        (Some(host), None) => Authority::try_from(host.as_bytes()).ok()?,
        (None, _) => parts.uri.authority()?.clone(),
        (Some(_), Some(_)) => return None,
    };
    let default_port = if parts.uri.scheme_str() == Some("http") { 80 } else { 443 };
    let host = authority.host().to_ascii_lowercase();
    match authority.port_u16() {
        Some(port) if port != default_port => Some(format!("{host}:{port}")),
        _ => Some(host),
    }
}
