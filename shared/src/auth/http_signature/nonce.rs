//! A number used once, chosen by the client. Must not know where used nonces are kept.

use std::{fmt, str::FromStr};
use uuid::Uuid;

/// 16 to 128 visible ASCII characters (0x21 to 0x7E).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Nonce(String);

/// The text is not 16 to 128 visible ASCII characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a nonce is 16 to 128 visible ASCII characters")]
pub struct InvalidNonce;

impl Nonce {
    /// A fresh nonce with 122 random bits.
    #[must_use]
    pub fn random() -> Self {
        Self(Uuid::new_v4().simple().to_string())
    }

    /// The nonce as the client wrote it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Nonce {
    type Err = InvalidNonce;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let valid = (16..=128).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if valid { Ok(Self(text.to_owned())) } else { Err(InvalidNonce) }
    }
}

impl fmt::Display for Nonce {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
