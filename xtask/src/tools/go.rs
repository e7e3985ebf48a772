//! Tools that are published as Go modules: Toxiproxy.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::{find, provision, pypi, run};

const TOXIPROXY: &str = "2.12.0";

/// Makes sure that Toxiproxy's server is built and returns its path.
pub(crate) fn toxiproxy() -> Result<PathBuf> {
    match find("go", &["/usr/local/go/bin", "/opt/homebrew/bin"]).map(|go| build_with(&go)) {
        Some(Ok(server)) => Ok(server),
        Some(Err(error)) => {
            println!("  the Go toolchain found cannot build it ({error:#}); fetching another");
            build_with(&pypi::GO.provide()?)
        }
        None => build_with(&pypi::GO.provide()?),
    }
}

fn build_with(go: &Path) -> Result<PathBuf> {
    let what = format!("Toxiproxy {TOXIPROXY} (go install)");
    let folder = provision(&format!("toxiproxy-{TOXIPROXY}"), &what, |partial| {
        let module = format!("github.com/Shopify/toxiproxy/v2/cmd/server@v{TOXIPROXY}");
        run(Command::new(go).args(["install", &module]).env("GOBIN", partial).env_remove("GOFLAGS"))?;
        fs::rename(partial.join("server"), partial.join("toxiproxy-server")).context("go install left no server")
    })?;
    Ok(folder.join("toxiproxy-server"))
}
