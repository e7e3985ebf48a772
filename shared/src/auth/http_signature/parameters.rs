//! The parameters of a signature (RFC 9421 §2.3) and its time window. Must not know the covered components.

use std::time::{SystemTime, UNIX_EPOCH};

use sfv::BareItem;

use super::{KeyId, Nonce, SignatureError};

/// How far `created` may lie from the server's clock, in either direction, inclusive.
pub const TIME_WINDOW_SECONDS: i64 = 300;

/// The one algorithm of this profile (RFC 9421 §3.3.3).
pub(super) const ALGORITHM: &str = "hmac-sha256";

/// What the profile reads from a signature's parameters; times in seconds since 1970.
pub(super) struct SignatureParameters {
    pub(super) key_id: KeyId,
    pub(super) created: i64,
    pub(super) expires: Option<i64>,
    pub(super) nonce: Option<Nonce>,
}

impl SignatureParameters {
    /// Unknown parameters are left alone: they are part of the signature base like all others.
    pub(super) fn parse(parameters: &sfv::Parameters) -> Result<Self, SignatureError> {
        if string(parameters, "alg")?.is_some_and(|algorithm| algorithm != ALGORITHM) {
            return Err(SignatureError::InvalidParameter("alg"));
        }
        string(parameters, "tag")?;
        let key_id = string(parameters, "keyid")?.ok_or(SignatureError::MissingParameter("keyid"))?;
        let nonce = string(parameters, "nonce")?.map(str::parse).transpose();
        Ok(Self {
            key_id: key_id.parse().map_err(|_| SignatureError::InvalidParameter("keyid"))?,
            created: integer(parameters, "created")?.ok_or(SignatureError::MissingParameter("created"))?,
            expires: integer(parameters, "expires")?,
            nonce: nonce.map_err(|_| SignatureError::InvalidParameter("nonce"))?,
        })
    }

    /// `created` within [`TIME_WINDOW_SECONDS`] of `now`, and `expires` not before `now`.
    pub(super) fn check_time(&self, now: SystemTime) -> Result<(), SignatureError> {
        let now = now.duration_since(UNIX_EPOCH).ok().and_then(|elapsed| i64::try_from(elapsed.as_secs()).ok());
        let now = now.ok_or(SignatureError::OutsideTimeWindow)?;
        if now.abs_diff(self.created) > TIME_WINDOW_SECONDS.unsigned_abs() {
            return Err(SignatureError::OutsideTimeWindow);
        }
        if self.expires.is_some_and(|expires| expires < now) { Err(SignatureError::Expired) } else { Ok(()) }
    }
}

fn string<'a>(parameters: &'a sfv::Parameters, name: &'static str) -> Result<Option<&'a str>, SignatureError> {
    let as_string = |value: &'a BareItem| value.as_string().ok_or(SignatureError::InvalidParameter(name));
    Ok(parameters.get(name).map(as_string).transpose()?.map(sfv::StringRef::as_str))
}

fn integer(parameters: &sfv::Parameters, name: &'static str) -> Result<Option<i64>, SignatureError> {
    let as_integer = |value: &BareItem| value.as_integer().ok_or(SignatureError::InvalidParameter(name));
    Ok(parameters.get(name).map(as_integer).transpose()?.map(i64::from))
}
