//! An HTTP client for the stack's own ports.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result};

/// A client that gives up after `limit`. The stack lies on this machine: a proxy in the environment is not for it.
pub(crate) fn client(limit: Duration) -> Result<reqwest::Client> {
    builder(limit).build().context("cannot build an HTTP client")
}

/// A client that opens a connection for each request: a network draws its faults once per connection.
pub(crate) fn without_reuse(limit: Duration) -> Result<reqwest::Client> {
    builder(limit).pool_max_idle_per_host(0).build().context("cannot build an HTTP client")
}

/// The same for a host name that no name server knows.
pub(crate) fn client_for(host: &str, address: SocketAddr, limit: Duration) -> Result<reqwest::Client> {
    builder(limit).resolve(host, address).build().context("cannot build an HTTP client")
}

fn builder(limit: Duration) -> reqwest::ClientBuilder {
    reqwest::Client::builder().no_proxy().timeout(limit)
}
