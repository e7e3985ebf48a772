//! Master secrets and the client secrets that are derived from them (HKDF-SHA256, RFC 5869). Zeroized when dropped,
//! redacted in `Debug`. Must not know where a master secret is kept.

use std::{fmt, str::FromStr};

use base64::{Engine, engine::general_purpose::STANDARD};
use hkdf::Hkdf;
use sha2::Sha256;
use zeroize::Zeroizing;

use super::KeyId;

/// Separates client secrets from anything else that may be derived from the same master secret. Changing it changes
/// every client's secret.
const DERIVATION_LABEL: &[u8] = b"exactly-once payments, client secret, v1:";
const MASTER_SECRET_MIN_BYTES: usize = 32;
const CLIENT_SECRET_BYTES: usize = 32;

/// A secret cannot be read or derived. Never says anything about its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// Not padded standard base64 (RFC 4648 §4).
    #[error("the secret is not base64")]
    NotBase64,
    /// A master secret under 32 bytes, or a client secret of other than 32 bytes.
    #[error("the secret has the wrong length")]
    WrongLength,
    /// The key derivation refused its parameters.
    #[error("the client secret cannot be derived")]
    Derivation,
}

/// The secret that stands behind every client secret; at least 32 bytes.
pub struct MasterSecret(Zeroizing<Vec<u8>>);

impl MasterSecret {
    /// The secret of one client. The same master secret and key id always give the same result.
    ///
    /// # Errors
    /// [`SecretError::Derivation`] if the key derivation refuses; it has no reason to for 32 bytes.
    pub fn client_secret(&self, key_id: &KeyId) -> Result<ClientSecret, SecretError> {
        let mut secret = Zeroizing::new([0; CLIENT_SECRET_BYTES]);
        Hkdf::<Sha256>::new(None, &self.0)
            .expand_multi_info(&[DERIVATION_LABEL, key_id.to_string().as_bytes()], secret.as_mut())
            .map_err(|_| SecretError::Derivation)?;
        Ok(ClientSecret(secret))
    }
}

impl FromStr for MasterSecret {
    type Err = SecretError;

    /// Reads padded standard base64 of at least 32 bytes.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = decode(text)?;
        if bytes.len() < MASTER_SECRET_MIN_BYTES { Err(SecretError::WrongLength) } else { Ok(Self(bytes)) }
    }
}

impl fmt::Debug for MasterSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("MasterSecret(redacted)")
    }
}

/// The master secrets that are valid at the same time. New client secrets come from the first; the others keep clients
/// working while the master secret rotates.
#[derive(Debug)]
pub struct MasterSecrets {
    first: MasterSecret,
    others: Vec<MasterSecret>,
}

impl MasterSecrets {
    /// The secret to hand to a client: derived from the first master secret.
    ///
    /// # Errors
    /// As [`MasterSecret::client_secret`].
    pub fn issue(&self, key_id: &KeyId) -> Result<ClientSecret, SecretError> {
        self.first.client_secret(key_id)
    }

    /// All master secrets, the first one first.
    pub fn iter(&self) -> impl Iterator<Item = &MasterSecret> {
        std::iter::once(&self.first).chain(&self.others)
    }
}

impl FromStr for MasterSecrets {
    type Err = SecretError;

    /// Reads one or more base64 secrets, separated by commas.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut secrets = text.split(',').map(|secret| secret.trim().parse());
        let first = secrets.next().ok_or(SecretError::WrongLength)??;
        Ok(Self { first, others: secrets.collect::<Result<_, _>>()? })
    }
}

/// The 32 bytes with which one client signs.
pub struct ClientSecret(Zeroizing<[u8; CLIENT_SECRET_BYTES]>);

impl ClientSecret {
    /// Padded standard base64, for showing the secret once to whoever will use it.
    #[must_use]
    pub fn to_base64(&self) -> Zeroizing<String> {
        Zeroizing::new(STANDARD.encode(self.0.as_slice()))
    }

    /// The secret as an HMAC-SHA256 key of one block; HMAC pads shorter keys with zeros (RFC 2104 §2).
    pub(super) fn hmac_key(&self) -> Zeroizing<[u8; 64]> {
        let mut block = Zeroizing::new([0; 64]);
        for (to, from) in block.iter_mut().zip(self.0.iter()) {
            *to = *from;
        }
        block
    }
}

impl FromStr for ClientSecret {
    type Err = SecretError;

    /// Reads what [`ClientSecret::to_base64`] printed.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = decode(text)?;
        let secret = bytes.as_slice().try_into().map_err(|_| SecretError::WrongLength)?;
        Ok(Self(Zeroizing::new(secret)))
    }
}

impl fmt::Debug for ClientSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ClientSecret(redacted)")
    }
}

fn decode(text: &str) -> Result<Zeroizing<Vec<u8>>, SecretError> {
    STANDARD.decode(text).map(Zeroizing::new).map_err(|_| SecretError::NotBase64)
}
