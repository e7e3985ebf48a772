//! Credentials of tenants, and requests that prove who sends them, signed by the product's own reference signer.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use payments::auth::TENANT_ID;
use payments::auth::http_signature::{ClientSecret, KeyId, MasterSecrets, Nonce, Signer};
use uuid::Uuid;

use crate::stack::functions::{AuthMode, LOCAL_MASTER_SECRETS};

/// What a tenant's client signs with.
pub(crate) struct Credentials {
    /// Names the tenant and the version of its signing key.
    pub(crate) key_id: KeyId,
    /// Derived from the first master secret.
    pub(crate) secret: ClientSecret,
}

impl Credentials {
    /// Derives the secret of one version of a tenant's signing key.
    pub(crate) fn issue(master_secrets: &str, tenant: Uuid, version: u32) -> Result<Self> {
        let masters: MasterSecrets = master_secrets.parse().context("MASTER_SECRETS is not usable")?;
        let key_id = KeyId::new(tenant, version)?;
        let secret = masters.issue(&key_id)?;
        Ok(Self { key_id, secret })
    }

    /// Derives the first version's from the local master secret.
    pub(crate) fn local(tenant: Uuid) -> Result<Self> {
        Self::issue(LOCAL_MASTER_SECRETS, tenant, 1)
    }

    /// The secret in base64, for the one who will use it.
    pub(crate) fn secret_base64(&self) -> String {
        self.secret.to_base64().to_string()
    }

    /// A signer with these credentials.
    pub(crate) fn into_signer(self) -> Signer {
        Signer::new(self.key_id, self.secret)
    }
}

/// How a client proves who it is.
pub(crate) enum Proof {
    /// It signs.
    Signature(Signer),
    /// It is trusted, and names its tenant.
    TenantId(Uuid),
}

impl Proof {
    /// What a tenant's client needs on a stack of that mode on this machine.
    pub(crate) fn local(mode: AuthMode, tenant: Uuid) -> Result<Self> {
        Ok(match mode {
            AuthMode::Hmac => Self::Signature(Credentials::local(tenant)?.into_signer()),
            AuthMode::Internal => Self::TenantId(tenant),
        })
    }

    /// Adds the proof to a request.
    pub(crate) fn add_to(&self, mut request: reqwest::Request) -> Result<reqwest::Request> {
        match self {
            Self::Signature(signer) => sign(signer, request, 0),
            Self::TenantId(tenant) => {
                request.headers_mut().insert(TENANT_ID, tenant.to_string().parse()?);
                Ok(request)
            }
        }
    }
}

/// Signs a request with a fresh nonce, by a clock that is `skew` seconds ahead.
pub(crate) fn sign(signer: &Signer, mut request: reqwest::Request, skew: i64) -> Result<reqwest::Request> {
    let mut unsigned = http::Request::builder().method(request.method()).uri(request.url().as_str()).body(())?;
    *unsigned.headers_mut() = request.headers().clone();
    let (mut parts, ()) = unsigned.into_parts();
    let body = request.body().and_then(reqwest::Body::as_bytes).unwrap_or_default();
    let created = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    signer.sign(&mut parts, body, i64::try_from(created)? + skew, &Nonce::random())?;
    *request.headers_mut() = parts.headers;
    Ok(request)
}
