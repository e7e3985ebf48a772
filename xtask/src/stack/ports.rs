//! Loopback ports: which are free, and a clear word when one is taken.

use std::net::TcpListener;
use std::ops::Range;

use anyhow::{Context, Result, bail};
use uuid::Uuid;

/// Fails when `port` on 127.0.0.1 is taken, naming what wanted it and the option that changes it.
pub(crate) fn require_free(port: u16, wanted_by: &str, option: &str) -> Result<()> {
    if TcpListener::bind(("127.0.0.1", port)).is_err() {
        bail!(
            "port {port} is taken, {wanted_by} needs it: stop what listens there or choose another with {option} <port>"
        );
    }
    Ok(())
}

/// Below the range from which systems take the ports of outgoing connections, so that none of those comes in between.
const RANGE: Range<u16> = 15_000..32_000;
const TRIES: usize = 100;

/// A port that was free a moment ago. Chosen at random, so that two runs at once hardly choose the same.
pub(crate) fn free() -> Result<u16> {
    let candidates = std::iter::repeat_with(random).take(TRIES);
    let mut free = candidates.filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    free.next().context("no free port on 127.0.0.1")
}

fn random() -> u16 {
    let [high, low, ..] = *Uuid::new_v4().as_bytes();
    RANGE.start + u16::from_be_bytes([high, low]) % (RANGE.end - RANGE.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_port_is_refused_with_the_option_that_changes_it() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let error = require_free(port, "the API", "--port").unwrap_err().to_string();
        assert!(error.contains(&port.to_string()) && error.contains("--port"), "{error}");
    }

    #[test]
    fn a_port_given_as_free_can_be_bound() {
        let port = free().unwrap();
        assert!(require_free(port, "a test", "--port").is_ok());
    }
}
