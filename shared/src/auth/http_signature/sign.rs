//! The client's side, as a reference: the demo, the tests and the operator's tool sign with it. Must not know how a
//! request is sent.

use base64::{Engine, engine::general_purpose::STANDARD};
use http::{HeaderValue, request::Parts};
use sfv::{BareItem, InnerList, Integer, Item, Key};

use super::{
    ClientSecret, KeyId, Nonce, SignatureError, content_digest, parameters::ALGORITHM, profile, signature_base,
    structured_field,
};

/// Signs requests of one client.
#[derive(Debug)]
pub struct Signer {
    key_id: KeyId,
    secret: ClientSecret,
}

impl Signer {
    /// A signer for the client that `key_id` names.
    #[must_use]
    pub fn new(key_id: KeyId, secret: ClientSecret) -> Self {
        Self { key_id, secret }
    }

    /// Covers what the profile requires, and sets `Signature-Input`, `Signature` and, where there is content,
    /// `Content-Digest`. `created` is in seconds since 1970. A retry is signed again, with a fresh nonce.
    ///
    /// # Errors
    /// [`SignatureError::UnavailableComponent`] when a request with content lacks `Content-Type` or `Idempotency-Key`.
    pub fn sign(&self, parts: &mut Parts, body: &[u8], created: i64, nonce: &Nonce) -> Result<(), SignatureError> {
        if profile::carries_content(&parts.method, body) {
            parts.headers.insert(content_digest::NAME, header_value(content_digest::sha_256(body))?);
        }
        let query = parts.uri.query().map(|_| "@query");
        let components = profile::required_components(&parts.method, body).chain(query);
        let input = InnerList {
            items: components.map(|component| string(component).map(Item::new)).collect::<Result<_, _>>()?,
            params: self.parameters(created, nonce)?,
        };
        let base = signature_base::signature_base(parts, &input)?;
        let mac = STANDARD.encode(signature_base::mac(&self.secret.hmac_key(), &base));
        let input = structured_field::serialize_inner_list(&input);
        parts.headers.insert("signature-input", header_value(format!("sig1={input}"))?);
        parts.headers.insert("signature", header_value(format!("sig1=:{mac}:"))?);
        Ok(())
    }

    fn parameters(&self, created: i64, nonce: &Nonce) -> Result<sfv::Parameters, SignatureError> {
        let created = Integer::try_from(created).map_err(|_| SignatureError::InvalidParameter("created"))?;
        [
            ("created", BareItem::Integer(created)),
            ("keyid", string(&self.key_id.to_string())?),
            ("alg", string(ALGORITHM)?),
            ("nonce", string(nonce.as_str())?),
        ]
        .into_iter()
        .map(|(name, value)| match Key::from_string(name.to_owned()) {
            Ok(name) => Ok((name, value)),
            Err(_) => Err(SignatureError::InvalidParameter(name)),
        })
        .collect()
    }
}

fn string(text: &str) -> Result<BareItem, SignatureError> {
    sfv::String::try_from(text.to_owned())
        .map(BareItem::String)
        .map_err(|_| SignatureError::UnavailableComponent(text.to_owned()))
}

fn header_value(text: String) -> Result<HeaderValue, SignatureError> {
    HeaderValue::try_from(text).map_err(|_| SignatureError::MalformedHeader("signature-input"))
}
