//! Load over HTTP/1.1 with kept connections, on ours and on the references alike. Signs where it is asked to.

use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use http::{Request, response};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use payments::auth::TENANT_ID;
use payments::auth::http_signature::{KeyId, MasterSecrets, Nonce, Signer};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::load::{self, Connection, Measured, Plan};
use crate::subjects::{Kind, RECIPIENT, TENANT, Wish, Wishes, to_settle};

/// A server that bounds its connections takes more than it serves: the others wait in the system's queue.
const PATIENCE: Duration = Duration::from_secs(5);

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
        let mut client = Client::connect(arguments, number).await?;
        client.require_served(PATIENCE).await.with_context(|| not_served(number, arguments.plan.connections))?;
        connections.push(client);
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

fn not_served(number: u64, wanted: u64) -> String {
    format!(
        "the server serves {number} connections and leaves number {} of {wanted} without an answer: ask for fewer \
         (--connections), or let it serve more (ours: MAX_CONNECTIONS)",
        number + 1
    )
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
        let answer = self.exchange(request).await?;
        let status = answer.status.as_u16();
        Ok(if answer.headers.contains_key("idempotent-replayed") {
            format!("{status} replayed")
        } else {
            status.to_string()
        })
    }

    /// Any answer will do: it shows that this connection is served. Without a key nothing is paid. The path is the load's,
    /// because the emulator leaves others without an answer.
    async fn require_served(&mut self, patience: Duration) -> Result<()> {
        let request = Request::post(&self.path).header("Host", &self.host).body(Full::default())?;
        timeout(patience, self.exchange(request)).await.context("no answer in time")??;
        Ok(())
    }

    async fn exchange(&mut self, request: Request<Full<Bytes>>) -> Result<response::Parts> {
        self.sender.ready().await.context("the server has closed the connection")?;
        let response = self.sender.send_request(request).await.context("no answer")?;
        let (head, body) = response.into_parts();
        body.collect().await.context("the answer broke off")?;
        Ok(head)
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

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    fn arguments(address: SocketAddr) -> Arguments {
        let plan = Plan::few(2);
        Arguments { address, path: "/api/v1/payments".to_owned(), kind: Kind::Spread, master_secret: None, plan }
    }

    #[tokio::test]
    async fn a_connection_that_the_server_accepts_and_does_not_serve_is_an_error_that_says_so() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let arguments = arguments(listener.local_addr().unwrap());
        let mut client = Client::connect(&arguments, 0).await.unwrap();

        let error = client.require_served(Duration::from_millis(50)).await.unwrap_err();

        assert_eq!(error.to_string(), "no answer in time");
        let told = not_served(1, 2);
        assert!(told.contains("serves 1 connections") && told.contains("number 2 of 2"), "{told}");
    }

    #[tokio::test]
    async fn a_connection_that_the_server_closes_is_an_error_that_says_so() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let arguments = arguments(listener.local_addr().unwrap());
        let mut client = Client::connect(&arguments, 0).await.unwrap();
        let (mut served, _) = listener.accept().await.unwrap();
        let answer = async {
            let read = served.read(&mut [0; 1024]).await.unwrap();
            served.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").await.unwrap();
            read
        };
        let (answered, read) = tokio::join!(client.require_served(PATIENCE), answer);
        assert!(answered.is_ok() && read > 0, "{answered:?}");

        drop(served);
        let mut outcome = client.call().await;
        while outcome.is_ok() {
            outcome = client.call().await;
        }

        let told = format!("{:#}", outcome.unwrap_err());
        assert!(told.starts_with("the server has closed the connection") || told.starts_with("no answer"), "{told}");
    }
}
