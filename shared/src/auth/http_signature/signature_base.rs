//! The text that is signed, and its MAC (RFC 9421 §2.5 and §3.3.3). Must not know which components are required or how
//! a secret came to be.

use hmac::{Hmac, KeyInit, Mac};
use http::request::Parts;
use sfv::{FieldType, InnerList};
use sha2::Sha256;

use super::{SignatureError, components, structured_field};

/// One line for each covered component, then the canonical `@signature-params`.
pub(super) fn signature_base(parts: &Parts, input: &InnerList) -> Result<String, SignatureError> {
    let mut base = String::new();
    for (index, component) in input.items.iter().enumerate() {
        if input.items.iter().take(index).any(|earlier| earlier == component) {
            return Err(SignatureError::RepeatedComponent(component.serialize()));
        }
        base.push_str(&component.serialize());
        base.push_str(": ");
        base.push_str(&components::value(component, parts)?);
        base.push('\n');
    }
    base.push_str("\"@signature-params\": ");
    base.push_str(&structured_field::serialize_inner_list(input));
    Ok(base)
}

/// HMAC-SHA256 over the signature base, with a key of one block.
pub(super) fn mac(key: &[u8; 64], base: &str) -> [u8; 32] {
    Hmac::<Sha256>::new(key.into()).chain_update(base).finalize().into_bytes().into()
}
