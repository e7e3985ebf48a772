//! HTTP Message Signatures (RFC 9421, `hmac-sha256`) with `Content-Digest` (RFC 9530): who sent this request, and is it
//! still the request that was sent?
//!
//! [`Verifier`] answers for a server and [`Signer`] signs for a client. Both work on `http` types and bytes alone. This
//! module must not know SQL, Lambda, HTTP responses, or whether a tenant exists: a key id names a tenant and a secret is
//! derived for whatever name arrives, so an unknown tenant costs the same work as a wrong signature.
//! A nonce is checked for its form here; that it is used once is the database's part.

mod components;
mod content_digest;
mod error;
mod key_id;
mod nonce;
mod parameters;
mod profile;
mod query;
mod secrets;
mod sign;
mod signature_base;
mod structured_field;
#[cfg(test)]
mod tests;
mod verify;

pub use error::SignatureError;
pub use key_id::{InvalidKeyId, KeyId};
pub use nonce::{InvalidNonce, Nonce};
pub use parameters::TIME_WINDOW_SECONDS;
pub use profile::accept_signature;
pub use secrets::{ClientSecret, MasterSecret, MasterSecrets, SecretError};
pub use sign::Signer;
pub use verify::{VerifiedSignature, Verifier};
