//! Toxiproxy: a network that delays and cuts connections on purpose.
//!
//! Knows Toxiproxy's HTTP API; not what is sent through it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::process::{Process, Stop};
use super::{http, ports};
use crate::workspace;

/// Which way a toxic works.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Stream {
    /// From the client to the server: the request.
    Upstream,
    /// From the server to the client: the answer.
    Downstream,
}

/// One fault. Toxicity is drawn once per connection.
#[derive(Serialize)]
pub(crate) struct Toxic {
    /// Unique within its proxy.
    pub(crate) name: &'static str,
    /// Toxiproxy's name of the fault, such as `latency`.
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    /// Which way it works.
    pub(crate) stream: Stream,
    /// The share of connections it hits, 0 to 1.
    pub(crate) toxicity: f64,
    /// The fault's own settings.
    pub(crate) attributes: Value,
}

/// How long the server may take to answer. It can wait as long for one slow connection: that counts as a standstill, too.
const PATIENCE: Duration = Duration::from_secs(5);

/// A running Toxiproxy.
///
/// A connection whose reader is gone or asleep can keep it from taking a fault away for good, and then it lets no other
/// connection through that way either (its issue 558). A server that does not answer is started anew: every connection
/// is cut and every fault gone, and the ways are where they were.
pub(crate) struct Toxiproxy {
    binary: PathBuf,
    log: PathBuf,
    port: u16,
    client: reqwest::Client,
    process: Mutex<Process>,
    /// The requests that opened the ways.
    ways: Mutex<Vec<Value>>,
    restarts: AtomicU64,
}

impl Toxiproxy {
    /// Starts the server with its API on a free port.
    pub(crate) async fn start(binary: &Path, stack: &'static str) -> Result<Self> {
        let (port, log) = (ports::free()?, workspace::logs(stack).join("toxiproxy.log"));
        let client = http::client(PATIENCE)?;
        let process = Mutex::new(serve(binary, port, &log).await?);
        let (ways, restarts) = (Mutex::default(), AtomicU64::new(0));
        Ok(Self { binary: binary.to_owned(), log, port, client, process, ways, restarts })
    }

    /// Opens a free port that leads to `upstream` (a port on 127.0.0.1) and returns it.
    pub(crate) async fn proxy(&self, name: &str, upstream: u16) -> Result<u16> {
        let port = ports::free()?;
        let proxy = json!({
            "name": name,
            "listen": format!("127.0.0.1:{port}"),
            "upstream": format!("127.0.0.1:{upstream}"),
            "enabled": true,
        });
        accepted(self.post("proxies", &proxy).send().await?).await?;
        self.ways.lock().await.push(proxy);
        Ok(port)
    }

    /// Adds a fault to the proxy.
    pub(crate) async fn add(&self, proxy: &str, toxic: &Toxic) -> Result<()> {
        let restarts = self.restarts();
        match self.post(&format!("proxies/{proxy}/toxics"), toxic).send().await {
            Ok(answer) => accepted(answer).await,
            Err(error) => {
                self.start_anew(restarts).await?;
                Err(error).context("Toxiproxy came to a standstill")
            }
        }
    }

    /// Takes a fault away; the connections that it held up go on, unless the server has to be started anew for it.
    pub(crate) async fn remove(&self, proxy: &str, toxic: &str) -> Result<()> {
        let restarts = self.restarts();
        match self.client.delete(self.url(&format!("proxies/{proxy}/toxics/{toxic}"))).send().await {
            Ok(answer) => accepted(answer).await,
            Err(_) => self.start_anew(restarts).await,
        }
    }

    /// How often the server had to be started anew.
    pub(crate) fn restarts(&self) -> u64 {
        self.restarts.load(Ordering::Acquire)
    }

    /// Resolves with an error when the server has ended by itself.
    pub(crate) async fn broken(&mut self) -> anyhow::Error {
        self.process.get_mut().broken().await
    }

    /// Starts the server anew and opens every way again, unless that was done since there were so many restarts.
    async fn start_anew(&self, restarts: u64) -> Result<()> {
        let mut process = self.process.lock().await;
        if self.restarts() > restarts {
            return Ok(());
        }
        process.crash();
        *process = serve(&self.binary, self.port, &self.log).await?;
        for way in self.ways.lock().await.iter() {
            accepted(self.post("proxies", way).send().await?).await?;
        }
        self.restarts.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    fn post(&self, path: &str, body: &impl Serialize) -> reqwest::RequestBuilder {
        self.client.post(self.url(path)).json(body)
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }
}

async fn serve(binary: &Path, port: u16, log: &Path) -> Result<Process> {
    let mut command = Command::new(binary);
    command.args(["-host", "127.0.0.1", "-port", &port.to_string()]);
    // It would write several lines for each packet.
    command.env("LOG_LEVEL", "warn");
    let mut process = Process::start("Toxiproxy", command, Stop::Group, log.to_owned())?;
    process.until_listening(port, Duration::from_secs(10)).await?;
    Ok(process)
}

async fn accepted(answer: reqwest::Response) -> Result<()> {
    let (status, path) = (answer.status(), answer.url().path().to_owned());
    ensure!(status.is_success(), "Toxiproxy refused {path}: {status} {}", answer.text().await?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::timeout;

    use super::*;
    use crate::tools;

    const MEBIBYTE: usize = 1 << 20;

    /// Sends more than any buffer on the way holds, to everybody who connects.
    async fn talkative() -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    for _ in 0..64 {
                        stream.write_all(&vec![1; MEBIBYTE]).await?;
                    }
                    stream.shutdown().await
                });
            }
        });
        port
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_way_that_toxiproxy_cannot_heal_is_opened_anew() {
        let toxiproxy = Toxiproxy::start(&tools::go::toxiproxy().unwrap(), "toxiproxy-test").await.unwrap();
        let way = toxiproxy.proxy("way", talkative().await).await.unwrap();
        let attributes = json!({ "rate": 1_000_000 });
        let toxic = Toxic { name: "slow", kind: "bandwidth", stream: Stream::Downstream, toxicity: 1.0, attributes };
        toxiproxy.add("way", &toxic).await.unwrap();
        let mut asleep = TcpStream::connect((Ipv4Addr::LOCALHOST, way)).await.unwrap();
        assert_eq!(asleep.read_u8().await.unwrap(), 1);
        // Until every buffer is full.
        tokio::time::sleep(Duration::from_secs(1)).await;

        toxiproxy.remove("way", "slow").await.unwrap();
        assert_eq!(toxiproxy.restarts(), 1, "this connection did not hold Toxiproxy up");
        drop(asleep);
        toxiproxy.add("way", &toxic).await.unwrap();
        toxiproxy.remove("way", "slow").await.unwrap();
        assert_eq!(toxiproxy.restarts(), 1);
        let mut next = TcpStream::connect((Ipv4Addr::LOCALHOST, way)).await.unwrap();
        let mut first = vec![0; MEBIBYTE];
        timeout(PATIENCE, next.read_exact(&mut first)).await.expect("nothing comes through").unwrap();
    }
}
