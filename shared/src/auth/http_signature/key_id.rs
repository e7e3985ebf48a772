//! The name of a client's secret. Must not know the secret or whether the tenant exists.

use std::{fmt, str::FromStr};
use uuid::Uuid;

const MAX_VERSION: u32 = 2_147_483_647;

/// Tenant and key version; its text `<tenant uuid>.<version>` is the `keyid` of a signature and an input of the
/// client's secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyId {
    tenant_id: Uuid,
    version: u32,
}

/// The text is not `<tenant uuid>.<version>`, or the version is outside 1..=2^31-1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a key id is <tenant uuid>.<version>, in lower case, with a version of 1 to 2147483647")]
pub struct InvalidKeyId;

impl KeyId {
    /// Names one version (1..=2^31-1) of a tenant's secret.
    ///
    /// # Errors
    /// [`InvalidKeyId`] when the version is out of range.
    pub fn new(tenant_id: Uuid, version: u32) -> Result<Self, InvalidKeyId> {
        if (1..=MAX_VERSION).contains(&version) { Ok(Self { tenant_id, version }) } else { Err(InvalidKeyId) }
    }

    /// The tenant on whose behalf the client signs.
    #[must_use]
    pub fn tenant_id(&self) -> Uuid {
        self.tenant_id
    }

    /// The key's version, 1..=2^31-1.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.version
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.tenant_id.hyphenated(), self.version)
    }
}

impl FromStr for KeyId {
    type Err = InvalidKeyId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (tenant_id, version) = text.split_once('.').ok_or(InvalidKeyId)?;
        let tenant_id = Uuid::try_parse(tenant_id).map_err(|_| InvalidKeyId)?;
        let key_id = Self::new(tenant_id, version.parse().map_err(|_| InvalidKeyId)?)?;
        // One name per secret: upper case, braces, a plus sign or leading zeros would be a second spelling.
        if key_id.to_string() == text { Ok(key_id) } else { Err(InvalidKeyId) }
    }
}
