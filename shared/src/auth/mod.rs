//! Who is calling. Knows requests, not what they ask for, and never the database.

use http::request::Parts;
use uuid::Uuid;

use crate::domain::TenantId;

/// The header that names the tenant in [`AuthMode::Internal`].
pub const TENANT_ID: &str = "tenant-id";

/// How callers prove who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AuthMode {
    /// The caller is trusted, and names its tenant in `Tenant-Id`. For internal callers behind IAM authorization only.
    Internal,
}

/// A caller whose identity was established.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The tenant that the caller acts for.
    pub tenant: TenantId,
}

/// The caller's identity was not established. One wording for every reason: a guess must not be rewarded.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error("the caller could not be authenticated")]
pub struct Unauthenticated;

/// Establishes who is calling.
#[derive(Debug)]
pub struct Authenticator {
    mode: AuthMode,
}

impl Authenticator {
    /// An authenticator of that mode.
    #[must_use]
    pub fn new(mode: AuthMode) -> Self {
        Self { mode }
    }

    /// The caller of a request.
    ///
    /// # Errors
    /// [`Unauthenticated`] when the request does not prove who sent it.
    pub fn authenticate(&self, request: &Parts) -> Result<Caller, Unauthenticated> {
        match self.mode {
            AuthMode::Internal => internal(request),
        }
    }
}

fn internal(request: &Parts) -> Result<Caller, Unauthenticated> {
    let mut values = request.headers.get_all(TENANT_ID).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => {
            let text = value.to_str().map_err(|_| Unauthenticated)?;
            // Only the hyphenated form: braces, URNs and bare digits are somebody's mistake.
            let tenant = Uuid::try_parse(text)
                .ok()
                .filter(|_| text.len() == 36)
                .ok_or(Unauthenticated)?;
            Ok(Caller {
                tenant: TenantId(tenant),
            })
        }
        _ => Err(Unauthenticated),
    }
}
