//! Tools that are Python programs: pinned with all that they pull in, in a virtual environment of their own.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use uuid::Uuid;

use super::{provision, pypi, run};
use crate::workspace;

/// Programs that are installed together.
pub(crate) struct Environment {
    /// Names the folder in `.tools/`.
    pub(crate) name: &'static str,
    /// What is installed, for a person.
    pub(crate) what: &'static str,
    /// The file with the pins, from the repository's root.
    pub(crate) requirements: &'static str,
}

/// SAM's command line, the template's linters and pytest.
pub(crate) const TEMPLATE: Environment = Environment {
    name: "python-template",
    what: "SAM, cfn-lint, checkov and pytest (some 530 MB)",
    requirements: "xtask/template/requirements.txt",
};
/// The local emulator of AWS.
pub(crate) const EMULATOR: Environment = Environment {
    name: "python-emulator",
    what: "MiniStack, the emulator of AWS (some 220 MB)",
    requirements: "xtask/emulator/requirements.txt",
};

/// An interpreter that sees exactly what was pinned.
pub(crate) struct Python(PathBuf);

impl Environment {
    /// Makes sure that the environment is there and returns its interpreter. Changed pins make a new environment.
    pub(crate) fn provide(&self) -> Result<Python> {
        let requirements = workspace::root().join(self.requirements);
        let pins = fs::read(&requirements).with_context(|| format!("cannot read {}", self.requirements))?;
        let version = Uuid::new_v5(&Uuid::NAMESPACE_OID, &pins).simple().to_string();
        let folder = format!("{}-{}", self.name, version.get(..8).unwrap_or(&version));
        let environment = provision(&folder, self.what, |partial| {
            let python = pypi::python()?;
            require_recent(&python)?;
            // Without its own pip, since Debian splits that from Python; the one that is there installs from outside.
            run(Command::new(&python).args(["-m", "venv", "--without-pip"]).arg(partial))?;
            run(pypi::pip()?
                .arg("--python")
                .arg(partial.join("bin/python"))
                .args(["install", "--quiet", "--disable-pip-version-check", "--no-deps", "--requirement"])
                .arg(&requirements))
        })?;
        Ok(Python(environment.join("bin/python")))
    }
}

impl Python {
    /// A command that runs an installed program. Given to the interpreter, since its first line names the folder that it
    /// was installed under, not this one.
    pub(crate) fn program(&self, name: &str) -> Command {
        let mut command = self.command();
        command.arg(self.0.with_file_name(name));
        command
    }

    /// The interpreter. It leaves no bytecode in the checkout.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.0);
        workspace::without_own_cargo_variables(&mut command);
        command.current_dir(workspace::root()).env("PYTHONDONTWRITEBYTECODE", "1").env_remove("PYTHONPATH");
        command
    }
}

fn require_recent(python: &PathBuf) -> Result<()> {
    let recent = "import sys; sys.exit(sys.version_info < (3, 11))";
    let status = Command::new(python).args(["-c", recent]).status().context("cannot run python3")?;
    if !status.success() {
        bail!("{} is older than Python 3.11: put a newer python3 on PATH", python.display());
    }
    Ok(())
}
