//! `PgBouncer`: the stand-in for RDS Proxy. The machine's own, or Debian's package unpacked into `.tools/`.
//!
//! Debian's 1.18 is wanted for its strictness: later versions hide the use of named prepared statements.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{debian, find, provision};

const WRAPPER: &str = "pgbouncer";

/// A `pgbouncer` that starts.
pub(crate) fn provide() -> Result<PathBuf> {
    if let Some(found) = find("pgbouncer", &["/usr/sbin", "/opt/homebrew/bin"]).filter(|path| starts(path)) {
        return Ok(found);
    }
    let folder = provision("pgbouncer-debian", "PgBouncer (Debian's package)", |partial| {
        debian::unpack("pgbouncer", partial)?;
        debian::write_wrapper(partial, WRAPPER, "usr/sbin/pgbouncer")?;
        if !starts(&partial.join(WRAPPER)) {
            bail!("the unpacked pgbouncer does not start: a library is missing");
        }
        Ok(())
    })
    .context("install pgbouncer (the tests want 1.18, for its transaction mode) and put it on PATH")?;
    Ok(folder.join(WRAPPER))
}

fn starts(pgbouncer: &Path) -> bool {
    Command::new(pgbouncer).arg("--version").output().is_ok_and(|output| output.status.success())
}
