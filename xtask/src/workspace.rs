//! Where things lie in this checkout. Knows paths and cargo, and nothing else.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// Variables that `cargo run` sets for xtask itself; a nested cargo that inherits them may rebuild for nothing.
const OWN_CARGO_VARIABLES: [&str; 5] =
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"];

/// The repository's root. Asked at run time, since checkouts may share one target directory.
pub(crate) fn root() -> PathBuf {
    let manifest_dir =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest_dir.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// Provisioned tools, git-ignored.
pub(crate) fn tools() -> PathBuf {
    root().join(".tools")
}

/// State of the local stack, git-ignored: data, logs, `dev.env`.
pub(crate) fn local() -> PathBuf {
    root().join(".local")
}

/// Logs of the stack named `stack`.
pub(crate) fn logs(stack: &str) -> PathBuf {
    match stack {
        "dev" => local().join("logs"),
        other => local().join("logs").join(other),
    }
}

/// `path` as a person in the repository's root would type it.
pub(crate) fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// A cargo command in the repository's root.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    without_own_cargo_variables(&mut command);
    command
}

/// Compiles what the arguments select, with the progress for all to see.
pub(crate) fn build<'a>(selection: impl IntoIterator<Item = &'a str>) -> Result<()> {
    let status = cargo().args(["build", "--locked"]).args(selection).status().context("cannot run cargo")?;
    ensure!(status.success(), "it does not compile");
    Ok(())
}

/// The binary of that name as [`build`] left it, with `--release` or without.
pub(crate) fn built(binary: &str, release: bool) -> Result<PathBuf> {
    Ok(target()?.join(if release { "release" } else { "debug" }).join(binary))
}

/// Where cargo puts what it builds; the environment may have moved it.
pub(crate) fn target() -> Result<PathBuf> {
    #[derive(Deserialize)]
    struct Metadata {
        target_directory: PathBuf,
    }
    let output = cargo()
        .args(["metadata", "--format-version", "1", "--no-deps", "--locked"])
        .output()
        .context("cannot run cargo metadata")?;
    let metadata: Metadata = serde_json::from_slice(&output.stdout).context("cargo metadata is not understood")?;
    Ok(metadata.target_directory)
}

/// Removes what `cargo run` told xtask about xtask.
pub(crate) fn without_own_cargo_variables(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let name_text = name.to_string_lossy();
        if OWN_CARGO_VARIABLES.iter().any(|prefix| name_text.starts_with(prefix)) {
            command.env_remove(name);
        }
    }
}
