//! A client of the deployed API: builds, signs and sends requests, keeps what matters of the answers.

use std::time::Duration;

use anyhow::{Context, Result};
use reqwest::{Method, Request, Url};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixtures::Tenant;
use crate::signing::{Credentials, Proof};
use crate::stack::emulator::Emulator;
use crate::stack::http;

/// Minor units of every payment of a rehearsal.
pub(super) const AMOUNT: i64 = 2500;
const LIMIT: Duration = Duration::from_secs(15);

/// The API as one tenant's client sees it.
#[derive(Clone)]
pub(super) struct Gateway {
    client: reqwest::Client,
    payments: Url,
    recipient: Uuid,
}

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) replayed: bool,
    pub(super) body: String,
}

impl Answer {
    /// The payment that it names.
    pub(super) fn payment_id(&self) -> Option<Uuid> {
        let body: Value = serde_json::from_str(&self.body).ok()?;
        body.get("payment_id")?.as_str()?.parse().ok()
    }
}

impl Gateway {
    /// The API at the address that the stack's output names.
    pub(super) fn at(base_url: &str, emulator: &Emulator) -> Result<Self> {
        let payments: Url = format!("{base_url}/api/v1/payments").parse().context("BaseUrl is no URL")?;
        let host = payments.host_str().context("BaseUrl names no host")?;
        // The way that a request takes through the gateway hangs on the host's name, which no name server knows.
        let client = http::client_for(host, emulator.address(), LIMIT)?;
        Ok(Self { client, payments, recipient: Uuid::new_v4() })
    }

    /// A payment of [`AMOUNT`] with each of these keys in a header of its own; not yet signed.
    pub(super) fn payment(&self, account: Uuid, keys: &[&str]) -> Result<Request> {
        let body = json!({ "amount": AMOUNT, "recipient_id": self.recipient, "account_id": account });
        let request = self.client.post(self.payments.clone()).json(&body);
        Ok(keys.iter().fold(request, |request, key| request.header("Idempotency-Key", *key)).build()?)
    }

    /// A look-up by key; not yet signed.
    pub(super) fn look_up(&self, key: &str) -> Request {
        let mut url = self.payments.clone();
        url.query_pairs_mut().append_pair("idempotency_key", key);
        Request::new(Method::GET, url)
    }

    /// A look-up by id; not yet signed.
    pub(super) fn get(&self, payment: Uuid) -> Result<Request> {
        Ok(Request::new(Method::GET, format!("{}/{payment}", self.payments).parse()?))
    }

    /// Sends a request as it is.
    pub(super) async fn send(&self, request: Request) -> Result<Answer> {
        let answer = self.client.execute(request).await?;
        let status = answer.status().as_u16();
        let replayed = answer.headers().get("Idempotent-Replayed").is_some_and(|value| value == "true");
        Ok(Answer { status, replayed, body: answer.text().await? })
    }
}

/// A tenant's client.
pub(super) struct Payer {
    pub(super) gateway: Gateway,
    pub(super) proof: Proof,
    pub(super) account: Uuid,
}

impl Payer {
    /// A client that holds the tenant's credentials under one master secret.
    pub(super) fn new(gateway: &Gateway, master_secret: &str, tenant: &Tenant<'_>) -> Result<Self> {
        let proof = Proof::Signature(Credentials::issue(master_secret, tenant.id, 1)?.into_signer());
        Ok(Self { gateway: gateway.clone(), proof, account: tenant.account })
    }

    /// Pays with this key, once.
    pub(super) async fn pay(&self, key: &str) -> Result<Answer> {
        self.send(self.gateway.payment(self.account, &[key])?).await
    }

    /// Signs a request and sends it.
    pub(super) async fn send(&self, request: Request) -> Result<Answer> {
        self.gateway.send(self.proof.add_to(request)?).await
    }
}
