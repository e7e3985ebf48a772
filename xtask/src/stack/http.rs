//! An HTTP client for the stack's own ports.

use std::time::Duration;

use anyhow::{Context, Result};

/// A client that gives up after `limit`. The stack lies on this machine: a proxy in the environment is not for it.
pub(crate) fn client(limit: Duration) -> Result<reqwest::Client> {
    reqwest::Client::builder().no_proxy().timeout(limit).build().context("cannot build an HTTP client")
}
