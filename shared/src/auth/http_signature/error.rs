//! Why a signature was refused. For logs only: the outside sees one wording for all of these, so that a caller cannot
//! tell an unknown client from a wrong MAC. No variant may carry a secret, a MAC or a body.

use super::SecretError;

/// The reason for a refusal, in the order in which the checks run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// A header that the profile needs is absent.
    #[error("the header {0} is missing")]
    MissingHeader(&'static str),
    /// A header arrived on more than one line.
    #[error("the header {0} is repeated")]
    RepeatedHeader(&'static str),
    /// A header is longer than the profile allows.
    #[error("the header {0} is too long")]
    OversizedHeader(&'static str),
    /// A header is not the structured field it must be (RFC 9651), or names something twice.
    #[error("the header {0} is malformed")]
    MalformedHeader(&'static str),
    /// `Signature-Input` and `Signature` must hold exactly one member each, under one label.
    #[error("there must be exactly one signature, under one label in both headers")]
    NotOneSignature,
    /// A signature parameter that the profile needs is absent.
    #[error("the signature parameter {0} is missing")]
    MissingParameter(&'static str),
    /// A signature parameter has the wrong type, form or value.
    #[error("the signature parameter {0} is invalid")]
    InvalidParameter(&'static str),
    /// More components are covered than the profile allows.
    #[error("too many components are covered")]
    TooManyComponents,
    /// One component is covered twice (RFC 9421 §2).
    #[error("the component {0} is covered twice")]
    RepeatedComponent(String),
    /// No such derived component or field name.
    #[error("the component {0} is unknown")]
    UnknownComponent(String),
    /// A component parameter that this profile does not support.
    #[error("the parameters of the component {0} are not supported")]
    Unsupported(String),
    /// The request does not hold the component, or holds it in a form that cannot be signed.
    #[error("the component {0} has no usable value in this request")]
    UnavailableComponent(String),
    /// The signature leaves out a component that the profile requires.
    #[error("the component {0} is not covered")]
    NotCovered(&'static str),
    /// A secret could not be derived for this key id.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The MAC belongs to another request, another secret or an unknown client.
    #[error("the signature does not match")]
    MacMismatch,
    /// `Content-Digest` names neither sha-256 nor sha-512.
    #[error("the content digest uses no supported algorithm")]
    NoSupportedDigest,
    /// The body is not the one that was signed.
    #[error("the content digest does not match the body")]
    DigestMismatch,
    /// `created` is more than [`TIME_WINDOW_SECONDS`](super::TIME_WINDOW_SECONDS) away from the clock.
    #[error("the signature was created outside the time window")]
    OutsideTimeWindow,
    /// `expires` has passed.
    #[error("the signature has expired")]
    Expired,
}
