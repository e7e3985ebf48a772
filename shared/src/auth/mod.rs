//! Who is calling. Knows requests, not what they ask for, and never the database.

mod authenticator;
pub mod http_signature;

pub use authenticator::{AuthMode, Authenticator, TENANT_ID, Unauthenticated};
