//! The idempotency key of a client: its syntax and its canonical form.

use thiserror::Error;
use uuid::Uuid;

use super::{StoredKey, TenantId, hyphenated_uuid};

/// A client's idempotency key in canonical form: 1 to 255 visible ASCII characters without comma or quote.
///
/// UUID-shaped keys are lower-cased, because UUIDs are compared case-insensitively (RFC 9562 §4); all others are
/// compared byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyKey(String);

/// Why a text is not an idempotency key.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum KeyError {
    /// Nothing but blanks.
    #[error("the idempotency key is empty")]
    Empty,
    /// More than 255 characters.
    #[error("the idempotency key is longer than 255 characters")]
    TooLong,
    /// A structured-field string that does not end, or has an unknown escape or something after its end.
    #[error("the idempotency key is not a complete quoted string")]
    MalformedString,
    /// A character that no key may have.
    #[error("the idempotency key may hold visible ASCII characters only, without space, comma or quote")]
    ForbiddenCharacter,
}

impl IdempotencyKey {
    /// The longest key, in characters.
    pub const MAX_LENGTH: usize = 255;

    /// Parses the field value of `Idempotency-Key`, bare or as a structured-field string
    /// (draft-ietf-httpapi-idempotency-key-header-07 §2.1, RFC 9651 §3.3.3). Both forms of one key are the same key.
    ///
    /// # Errors
    /// [`KeyError`] says what is wrong. A comma is refused because API Gateway joins repeated headers with it.
    pub fn parse(field_value: &[u8]) -> Result<Self, KeyError> {
        let text = trim_blanks(field_value);
        let content = match text {
            [] => return Err(KeyError::Empty),
            [b'"', rest @ ..] => unquote(rest)?,
            bare => bare.to_vec(),
        };
        if content.is_empty() {
            return Err(KeyError::Empty);
        }
        if content.len() > Self::MAX_LENGTH {
            return Err(KeyError::TooLong);
        }
        if !content.iter().all(|&byte| is_allowed(byte)) {
            return Err(KeyError::ForbiddenCharacter);
        }
        let key = String::from_utf8(content).map_err(|_| KeyError::ForbiddenCharacter)?;
        Ok(Self(canonical(key)))
    }

    /// The key as it is stored: UUIDv5 of the tenant and the canonical key.
    #[must_use]
    pub fn stored(&self, tenant: TenantId) -> StoredKey {
        StoredKey(Uuid::new_v5(&tenant.0, self.0.as_bytes()))
    }
}

/// Optional white space around a field value is not part of it (RFC 9110 §5.5).
fn trim_blanks(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = text {
        text = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = text {
        text = rest;
    }
    text
}

/// The content of a structured-field string whose opening quote is already read.
fn unquote(mut rest: &[u8]) -> Result<Vec<u8>, KeyError> {
    let mut content = Vec::with_capacity(rest.len());
    loop {
        match rest {
            [b'"'] => return Ok(content),
            [b'\\', escaped @ (b'"' | b'\\'), tail @ ..] => {
                content.push(*escaped);
                rest = tail;
            }
            [b'"' | b'\\', ..] | [] => return Err(KeyError::MalformedString),
            [byte, tail @ ..] => {
                content.push(*byte);
                rest = tail;
            }
        }
    }
}

fn is_allowed(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b',' | b'"')
}

fn canonical(key: String) -> String {
    // Only the hyphenated form is UUID-shaped: 32 bare hexadecimal digits may be anybody's opaque token.
    if hyphenated_uuid(&key).is_some() { key.to_ascii_lowercase() } else { key }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENANT: TenantId = TenantId(Uuid::from_u128(7));

    fn stored(text: &str) -> Result<StoredKey, KeyError> {
        IdempotencyKey::parse(text.as_bytes()).map(|key| key.stored(TENANT))
    }

    #[test]
    fn c8_the_bare_and_the_quoted_form_are_one_key() {
        assert_eq!(stored("order-42"), stored("\"order-42\""));
        assert_eq!(stored("  order-42\t"), stored("order-42"));
        assert_eq!(stored(r"a\b"), stored(r#""a\\b""#));
        assert!(stored("order-42").is_ok());
    }

    #[test]
    fn c8_unbalanced_quotes_parameters_and_two_items_are_refused() {
        for text in [
            "\"k",
            "k\"",
            "\"",
            "\"k\"x",
            "\"k\";p=1",
            "\"a\", \"b\"",
            "\"a\"\"b\"",
            "a,b",
            "a, b",
            "\"a,b\"",
            r#""k\""#,
            r#""k\x""#,
            r#""k\"l""#,
        ] {
            assert!(stored(text).is_err(), "{text}");
        }
    }

    #[test]
    fn c9_empty_and_blank_keys_are_refused() {
        for text in ["", " ", "\t \t", "\"\""] {
            assert_eq!(stored(text), Err(KeyError::Empty), "{text:?}");
        }
        assert_eq!(stored("\" \""), Err(KeyError::ForbiddenCharacter));
    }

    #[test]
    fn c9_255_characters_are_fine_and_256_are_not() {
        assert!(stored(&"k".repeat(255)).is_ok());
        assert!(stored(&format!("\"{}\"", "k".repeat(255))).is_ok());
        assert_eq!(stored(&"k".repeat(256)), Err(KeyError::TooLong));
        assert_eq!(stored(&format!("\"{}\"", "k".repeat(256))), Err(KeyError::TooLong));
    }

    #[test]
    fn c9_bytes_outside_visible_ascii_are_refused() {
        for bytes in [&b"k\xff"[..], "ключ".as_bytes(), b"a b", b"a\x7f", b"a\x00b", b"\"a b\"", b"a\nb"] {
            assert_eq!(IdempotencyKey::parse(bytes), Err(KeyError::ForbiddenCharacter), "{bytes:?}");
        }
    }

    #[test]
    fn uuid_shaped_keys_ignore_case_and_all_others_do_not() {
        assert_eq!(stored("0F8FAD5B-D9CB-469F-A165-70867728950E"), stored("0f8fad5b-d9cb-469f-a165-70867728950e"));
        assert_ne!(stored("0F8FAD5BD9CB469FA16570867728950E"), stored("0f8fad5bd9cb469fa16570867728950e"));
        assert_ne!(stored("Order"), stored("order"));
    }

    #[test]
    fn c3_the_same_key_of_two_tenants_is_stored_as_two_keys() {
        let key = IdempotencyKey::parse(b"order-42").unwrap();
        assert_ne!(key.stored(TENANT), key.stored(TenantId(Uuid::from_u128(8))));
    }

    #[test]
    fn the_derived_ids_never_change() {
        // Stored rows depend on them: a change here would charge again whatever was purged.
        let stored = stored("order-42").unwrap();
        assert_eq!(stored.to_string(), "e65cb262-fdf5-587c-a0ac-73d491093c3a");
        assert_eq!(stored.payment_id().to_string(), "d8b4486a-afb7-5940-9099-0df4284db17e");
    }
}
