//! `Content-Digest` (RFC 9530), sha-256 and sha-512. Must not know what the body means.

use base64::{Engine, engine::general_purpose::STANDARD};
use http::HeaderMap;
use sfv::Dictionary;
use sha2::{Digest, Sha256, Sha512};

use super::{SignatureError, structured_field};

/// The field's name.
pub(super) const NAME: &str = "content-digest";
const MAX_BYTES: usize = 512;

/// The digests that a request declares.
pub(super) struct ContentDigest(Dictionary);

impl ContentDigest {
    /// Reads the field without looking at the body.
    pub(super) fn parse(headers: &HeaderMap) -> Result<Self, SignatureError> {
        structured_field::dictionary(headers, NAME, MAX_BYTES).map(Self)
    }

    /// Every digest of a supported algorithm must match `body` (decoded from its transport), and there must be one.
    /// Other algorithms are ignored, as RFC 9530 §2 asks.
    pub(super) fn check(&self, body: &[u8]) -> Result<(), SignatureError> {
        let mut supported = false;
        for (algorithm, member) in &self.0 {
            let expected = match algorithm.as_str() {
                "sha-256" => Sha256::digest(body).to_vec(),
                "sha-512" => Sha512::digest(body).to_vec(),
                _ => continue,
            };
            supported = true;
            if structured_field::byte_sequence(member, NAME)? != expected {
                return Err(SignatureError::DigestMismatch);
            }
        }
        if supported { Ok(()) } else { Err(SignatureError::NoSupportedDigest) }
    }
}

/// The field's value for `body`, with sha-256.
pub(super) fn sha_256(body: &[u8]) -> String {
    format!("sha-256=:{}:", STANDARD.encode(Sha256::digest(body)))
}
