//! Who asks, once it is established.

use uuid::Uuid;

use super::TenantId;

/// A caller whose identity was established.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The tenant that the caller acts for.
    pub tenant: TenantId,
    /// The signature that proved it; `None` for an internal caller.
    pub signature: Option<Signature>,
}

/// What a verified signature leaves for the ledger to check: whether its key is retired and its nonce used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The version of the tenant's signing key, from 1.
    pub version: u32,
    /// The nonce; look-ups carry none.
    pub nonce: Option<StoredNonce>,
}

/// A nonce as it is stored: UUIDv5 (RFC 9562 §5.5) of the tenant, the version of its key and the client's nonce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredNonce(pub Uuid);

impl StoredNonce {
    /// The nonce that a tenant used with one of its signing keys.
    #[must_use]
    pub fn new(tenant: TenantId, version: u32, nonce: &str) -> Self {
        Self(Uuid::new_v5(&tenant.0, format!("nonce:{version}:{nonce}").as_bytes()))
    }
}

impl Caller {
    /// A trusted caller of the tenant, without a signature.
    #[must_use]
    pub fn internal(tenant: TenantId) -> Self {
        Self { tenant, signature: None }
    }

    /// The version of the signing key, if the caller signed.
    #[must_use]
    pub fn version(&self) -> Option<u32> {
        self.signature.map(|signature| signature.version)
    }

    /// The nonce, if the caller signed one.
    #[must_use]
    pub fn nonce(&self) -> Option<StoredNonce> {
        self.signature.and_then(|signature| signature.nonce)
    }
}
