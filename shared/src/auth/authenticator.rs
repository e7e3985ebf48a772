//! From a request to its caller, in one of two modes.

use std::time::SystemTime;

use http::request::Parts;
use http::{HeaderValue, Method};

use crate::domain::{Caller, Signature, StoredNonce, TenantId, hyphenated_uuid};

use super::http_signature::{MasterSecrets, SignatureError, Verifier, accept_signature};

/// The header that names the tenant in [`AuthMode::Internal`].
pub const TENANT_ID: &str = "tenant-id";

/// How callers prove who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AuthMode {
    /// Every request is signed by its tenant (RFC 9421).
    Hmac,
    /// The caller is trusted, and names its tenant in `Tenant-Id`. For internal callers behind IAM authorization only.
    Internal,
}

/// The caller's identity was not established. The reason is for the log; the caller reads one wording for every reason.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum Unauthenticated {
    /// The signature does not hold.
    #[error(transparent)]
    Signature(#[from] SignatureError),
    /// `Tenant-Id` is missing, repeated or no UUID.
    #[error("Tenant-Id does not name one tenant")]
    TenantId,
}

/// Establishes who is calling.
#[derive(Debug)]
pub enum Authenticator {
    /// In [`AuthMode::Hmac`].
    Hmac(Verifier),
    /// In [`AuthMode::Internal`].
    Internal,
}

impl Authenticator {
    /// An authenticator that accepts requests signed with secrets of these masters.
    #[must_use]
    pub fn hmac(master_secrets: MasterSecrets) -> Self {
        Self::Hmac(Verifier::new(master_secrets))
    }

    /// The caller of a request with that body. Whether its key is retired and its nonce used is the ledger's to say.
    ///
    /// # Errors
    /// [`Unauthenticated`] when the request does not prove who sent it.
    pub fn authenticate(&self, request: &Parts, body: &[u8]) -> Result<Caller, Unauthenticated> {
        match self {
            Self::Hmac(verifier) => signed(verifier, request, body),
            Self::Internal => internal(request),
        }
    }

    /// What a refused caller is told to sign (RFC 9421 §5.1); nothing where signatures are not asked for.
    #[must_use]
    pub fn challenge(&self, method: &Method) -> Option<HeaderValue> {
        matches!(self, Self::Hmac(_)).then(|| accept_signature(method))
    }
}

fn signed(verifier: &Verifier, request: &Parts, body: &[u8]) -> Result<Caller, Unauthenticated> {
    let signature = verifier.verify(request, body, SystemTime::now())?;
    let tenant = TenantId(signature.key_id.tenant_id());
    let version = signature.key_id.version();
    let nonce = signature.nonce.map(|nonce| StoredNonce::new(tenant, version, nonce.as_str()));
    Ok(Caller { tenant, signature: Some(Signature { version, nonce }) })
}

fn internal(request: &Parts) -> Result<Caller, Unauthenticated> {
    let mut values = request.headers.get_all(TENANT_ID).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return Err(Unauthenticated::TenantId);
    };
    let tenant = value.to_str().ok().and_then(hyphenated_uuid).ok_or(Unauthenticated::TenantId)?;
    Ok(Caller::internal(TenantId(tenant)))
}
