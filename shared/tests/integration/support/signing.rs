//! Tenants that sign.

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::Request;
use payments::auth::Authenticator;
use payments::auth::http_signature::{KeyId, MasterSecrets, Nonce, Signer};
use tokio_postgres::Client;
use uuid::Uuid;

/// Master secrets for tests only: 32 bytes of `A` and of `B` in base64.
pub(crate) const MASTER: &str = "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE=";
pub(crate) const OTHER_MASTER: &str = "QkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkI=";

/// An authenticator that accepts secrets of these masters, separated by commas.
pub(crate) fn hmac(masters: &str) -> Authenticator {
    Authenticator::hmac(masters.parse::<MasterSecrets>().unwrap())
}

/// Makes a version of a tenant's signing key known to the database.
pub(crate) async fn register_signing_key(owner: &Client, tenant: Uuid, version: i32) {
    let sql = "INSERT INTO signing_keys (tenant_id, version) VALUES ($1, $2)";
    owner.execute(sql, &[&tenant, &version]).await.unwrap();
}

/// Retires a version of a tenant's signing key.
pub(crate) async fn retire_signing_key(owner: &Client, tenant: Uuid, version: i32) {
    let sql = "UPDATE signing_keys SET retired_at = now() WHERE tenant_id = $1 AND version = $2";
    assert_eq!(owner.execute(sql, &[&tenant, &version]).await.unwrap(), 1);
}

/// A tenant's client with the secret of one version of its signing key.
pub(crate) struct SigningClient {
    signer: Signer,
}

impl SigningClient {
    /// A client whose secret is derived from [`MASTER`].
    pub(crate) fn new(tenant: Uuid, version: u32) -> Self {
        Self::of_master(MASTER, tenant, version)
    }

    /// A client whose secret is derived from that master secret.
    pub(crate) fn of_master(master: &str, tenant: Uuid, version: u32) -> Self {
        let key_id = KeyId::new(tenant, version).unwrap();
        let secret = master.parse::<MasterSecrets>().unwrap().issue(&key_id).unwrap();
        Self { signer: Signer::new(key_id, secret) }
    }

    /// The request, signed now with a fresh nonce.
    pub(crate) fn sign(&self, request: Request<Bytes>) -> Request<Bytes> {
        self.sign_with(request, 0, &Nonce::random())
    }

    /// The request, signed `offset` seconds from now with that nonce.
    pub(crate) fn sign_with(&self, request: Request<Bytes>, offset: i64, nonce: &Nonce) -> Request<Bytes> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let (mut parts, body) = request.into_parts();
        parts.headers.remove("tenant-id");
        self.signer.sign(&mut parts, &body, i64::try_from(now).unwrap() + offset, nonce).unwrap();
        Request::from_parts(parts, body)
    }
}
