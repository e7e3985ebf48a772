//! The server's side: is this request what its client signed, and recently? Must not know whether the tenant exists,
//! whether the key is retired, or whether the nonce was used before.

use std::time::SystemTime;

use http::{HeaderMap, request::Parts};
use sfv::{InnerList, ListEntry};
use subtle::{Choice, ConstantTimeEq};

use super::{
    KeyId, MasterSecrets, Nonce, SignatureError, components, content_digest, content_digest::ContentDigest,
    parameters::SignatureParameters, profile, signature_base, structured_field,
};

const SIGNATURE_INPUT: &str = "signature-input";
const SIGNATURE_INPUT_MAX_BYTES: usize = 2048;
const SIGNATURE: &str = "signature";
const SIGNATURE_MAX_BYTES: usize = 256;
const MAX_COMPONENTS: usize = 32;

/// Verifies requests against the secrets that are derived from the master secrets.
#[derive(Debug)]
pub struct Verifier {
    master_secrets: MasterSecrets,
}

/// What a valid signature says. Whether the key is still in use and the nonce is new remains to be checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedSignature {
    /// The client that signed.
    pub key_id: KeyId,
    /// Present on every request that carries content.
    pub nonce: Option<Nonce>,
    /// When the client signed, in seconds since 1970.
    pub created: i64,
}

impl Verifier {
    /// Accepts signatures by secrets that were derived from any of `master_secrets`.
    #[must_use]
    pub fn new(master_secrets: MasterSecrets) -> Self {
        Self { master_secrets }
    }

    /// Checks, in this order: syntax and coverage, key id, MAC, digest of `body` (decoded from its transport), time.
    /// The nonce and `created` may be trusted only after success, so a stranger cannot burn a client's nonce.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn verify(&self, parts: &Parts, body: &[u8], now: SystemTime) -> Result<VerifiedSignature, SignatureError> {
        let received = ReceivedSignature::parse(&parts.headers)?;
        let parameters = SignatureParameters::parse(&received.input.params)?;
        profile::require(parts, body, &received.input.items, parameters.nonce.as_ref())?;
        let digest = received.covers_digest().then(|| ContentDigest::parse(&parts.headers)).transpose()?;
        let base = signature_base::signature_base(parts, &received.input)?;
        self.check_mac(&parameters.key_id, &base, &received.mac)?;
        if let Some(digest) = digest {
            digest.check(body)?;
        }
        parameters.check_time(now)?;
        let SignatureParameters { key_id, created, nonce, .. } = parameters;
        Ok(VerifiedSignature { key_id, nonce, created })
    }

    /// Tries every master secret, whichever matches, so that the time tells nothing.
    fn check_mac(&self, key_id: &KeyId, base: &str, received: &[u8; 32]) -> Result<(), SignatureError> {
        let mut matches = Choice::from(0);
        for master_secret in self.master_secrets.iter() {
            let client_secret = master_secret.client_secret(key_id)?;
            matches |= signature_base::mac(&client_secret.hmac_key(), base).ct_eq(received);
        }
        if bool::from(matches) { Ok(()) } else { Err(SignatureError::MacMismatch) }
    }
}

/// The one signature of a request, as it arrived.
struct ReceivedSignature {
    input: InnerList,
    mac: [u8; 32],
}

impl ReceivedSignature {
    fn parse(headers: &HeaderMap) -> Result<Self, SignatureError> {
        let inputs = structured_field::dictionary(headers, SIGNATURE_INPUT, SIGNATURE_INPUT_MAX_BYTES)?;
        let signatures = structured_field::dictionary(headers, SIGNATURE, SIGNATURE_MAX_BYTES)?;
        if inputs.len() != 1 || signatures.len() != 1 {
            return Err(SignatureError::NotOneSignature);
        }
        let (label, input) = inputs.into_iter().next().ok_or(SignatureError::NotOneSignature)?;
        let signature = signatures.get(&label).ok_or(SignatureError::NotOneSignature)?;
        let ListEntry::InnerList(input) = input else {
            return Err(SignatureError::MalformedHeader(SIGNATURE_INPUT));
        };
        if input.items.len() > MAX_COMPONENTS {
            return Err(SignatureError::TooManyComponents);
        }
        let mac = structured_field::byte_sequence(signature, SIGNATURE)?;
        let mac = mac.try_into().map_err(|_| SignatureError::MalformedHeader(SIGNATURE))?;
        Ok(Self { input, mac })
    }

    fn covers_digest(&self) -> bool {
        self.input.items.iter().any(|component| components::name(component) == Some(content_digest::NAME))
    }
}
