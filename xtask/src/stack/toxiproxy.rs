//! Toxiproxy: a network that delays and cuts connections on purpose.
//!
//! Knows Toxiproxy's HTTP API; not what is sent through it.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::{Value, json};

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

/// A running Toxiproxy.
pub(crate) struct Toxiproxy {
    process: Process,
    api: String,
    client: reqwest::Client,
}

impl Toxiproxy {
    /// Starts the server with its API on a free port.
    pub(crate) async fn start(binary: &Path, stack: &'static str) -> Result<Self> {
        let port = ports::free()?;
        let mut command = Command::new(binary);
        command.args(["-host", "127.0.0.1", "-port", &port.to_string()]);
        // It would write several lines for each packet.
        command.env("LOG_LEVEL", "warn");
        let log = workspace::logs(stack).join("toxiproxy.log");
        let process = Process::start("Toxiproxy", command, Stop::Group, log)?;
        let client = http::client(Duration::from_secs(5))?;
        let mut toxiproxy = Self { process, api: format!("http://127.0.0.1:{port}"), client };
        toxiproxy.wait_until_ready().await?;
        Ok(toxiproxy)
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
        self.post("proxies", &proxy).await?;
        Ok(port)
    }

    /// Adds a fault to the proxy.
    pub(crate) async fn add(&self, proxy: &str, toxic: &Toxic) -> Result<()> {
        self.post(&format!("proxies/{proxy}/toxics"), toxic).await
    }

    /// Takes a fault away; the connections that it held up go on.
    pub(crate) async fn remove(&self, proxy: &str, toxic: &str) -> Result<()> {
        let answer = self.client.delete(format!("{}/proxies/{proxy}/toxics/{toxic}", self.api)).send().await?;
        anyhow::ensure!(answer.status().is_success(), "Toxiproxy keeps {toxic}: {}", answer.status());
        Ok(())
    }

    /// Resolves with an error when the server has ended by itself.
    pub(crate) async fn broken(&mut self) -> anyhow::Error {
        self.process.broken().await
    }

    async fn post(&self, path: &str, body: &impl Serialize) -> Result<()> {
        let answer = self.client.post(format!("{}/{path}", self.api)).json(body).send().await?;
        let status = answer.status();
        let text = answer.text().await?;
        anyhow::ensure!(status.is_success(), "Toxiproxy refused {path}: {status} {text}");
        Ok(())
    }

    async fn wait_until_ready(&mut self) -> Result<()> {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            self.process.require_running()?;
            match self.client.get(format!("{}/version", self.api)).send().await {
                Ok(_) => return Ok(()),
                Err(error) if Instant::now() > deadline => {
                    return Err(error).context("Toxiproxy does not answer");
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }
}
