//! Load over HTTP/1.1 with kept connections, on ours and on the references alike. Signs where it is asked to.

use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use payments::auth::TENANT_ID;
use payments::auth::http_signature::{KeyId, MasterSecrets, Nonce, Signer};
use tokio::net::TcpStream;

use crate::load::{self, Connection, Measured, Plan};
use crate::subjects::{Kind, RECIPIENT, TENANT, Wish, Wishes, to_settle};

/// What to send where.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Where the API answers
    #[arg(long)]
    address: SocketAddr,
    /// What is posted to
    #[arg(long, default_value = "/api/v1/payments")]
    path: String,
    /// What the load does
    #[arg(long, value_enum)]
    kind: Kind,
    /// Master secret to sign with; without it the tenant is named instead
    #[arg(long)]
    master_secret: Option<String>,
    #[command(flatten)]
    plan: Plan,
}

/// Connects, settles what is to be replayed, and measures.
pub(crate) async fn run(arguments: &Arguments) -> Result<Measured> {
    let mut connections = Vec::new();
    for number in 0..arguments.plan.connections {
        connections.push(Client::connect(arguments, number).await?);
    }
    if arguments.kind == Kind::Replay {
        for (number, client) in (0..).zip(&mut connections) {
            for wish in to_settle(arguments.plan.accounts, number, arguments.plan.connections) {
                let outcome = client.pay(wish).await?;
                ensure!(outcome.starts_with("200"), "a payment to be replayed was answered {outcome}");
            }
        }
    }
    load::run(connections, &arguments.plan).await
}

struct Client {
    sender: SendRequest<Full<Bytes>>,
    host: String,
    path: String,
    signer: Option<Signer>,
    wishes: Wishes,
}

impl Client {
    async fn connect(arguments: &Arguments, number: u64) -> Result<Self> {
        let stream = TcpStream::connect(arguments.address).await.context("cannot connect to the API")?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        let signer = arguments.master_secret.as_deref().map(signer).transpose()?;
        let plan = &arguments.plan;
        let wishes = Wishes::new(arguments.kind, plan.accounts, number, plan.connections);
        let (host, path) = (arguments.address.to_string(), arguments.path.clone());
        Ok(Self { sender, host, path, signer, wishes })
    }

    async fn pay(&mut self, wish: Wish) -> Result<String> {
        let request = self.request(wish)?;
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await.context("no answer")?;
        let replayed = response.headers().contains_key("idempotent-replayed");
        let status = response.status().as_u16();
        response.into_body().collect().await.context("the answer broke off")?;
        Ok(if replayed { format!("{status} replayed") } else { status.to_string() })
    }

    fn request(&self, wish: Wish) -> Result<Request<Full<Bytes>>> {
        let body = format!(r#"{{"amount":1,"recipient_id":"{RECIPIENT}","account_id":"{}"}}"#, wish.account);
        let mut request = Request::post(&self.path)
            .header("Host", &self.host)
            .header("Content-Type", "application/json")
            .header("Idempotency-Key", wish.key.to_string());
        if self.signer.is_none() {
            request = request.header(TENANT_ID, TENANT.to_string());
        }
        let (mut parts, body) = request.body(Bytes::from(body))?.into_parts();
        if let Some(signer) = &self.signer {
            let created = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs())?;
            signer.sign(&mut parts, &body, created, &Nonce::random())?;
        }
        Ok(Request::from_parts(parts, Full::new(body)))
    }
}

impl Connection for Client {
    async fn call(&mut self) -> Result<String> {
        let wish = self.wishes.next();
        self.pay(wish).await
    }
}

/// The tenant's signer with the first version of its key.
pub(crate) fn signer(master_secret: &str) -> Result<Signer> {
    let key_id = KeyId::new(TENANT, 1)?;
    let secret = master_secret.parse::<MasterSecrets>()?.issue(&key_id)?;
    Ok(Signer::new(key_id, secret))
}
