//! Tools that are published as Go modules, such as Toxiproxy, and what this repository has in Go.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::{find, provision, pypi, run};

const TOXIPROXY: &str = "2.12.0";

/// Makes sure that Toxiproxy's server is built and returns its path.
pub(crate) fn toxiproxy() -> Result<PathBuf> {
    with_toolchain(build_toxiproxy)
}

/// Compiles the module in `source` to `program`.
pub(crate) fn build(source: &Path, program: &Path) -> Result<()> {
    with_toolchain(|go| run(Command::new(go).arg("build").arg("-o").arg(program).arg(".").current_dir(source)))
}

/// The machine's own Go where that does it, else a fetched one.
fn with_toolchain<T>(work: impl Fn(&Path) -> Result<T>) -> Result<T> {
    match find("go", &["/usr/local/go/bin", "/opt/homebrew/bin"]).map(|go| work(&go)) {
        Some(Ok(done)) => Ok(done),
        Some(Err(error)) => {
            println!("  the Go toolchain found cannot build it ({error:#}); fetching another");
            work(&pypi::GO.provide()?)
        }
        None => work(&pypi::GO.provide()?),
    }
}

fn build_toxiproxy(go: &Path) -> Result<PathBuf> {
    let what = format!("Toxiproxy {TOXIPROXY} (go install)");
    let folder = provision(&format!("toxiproxy-{TOXIPROXY}"), &what, |partial| {
        let module = format!("github.com/Shopify/toxiproxy/v2/cmd/server@v{TOXIPROXY}");
        run(Command::new(go).args(["install", &module]).env("GOBIN", partial).env_remove("GOFLAGS"))?;
        fs::rename(partial.join("server"), partial.join("toxiproxy-server")).context("go install left no server")
    })?;
    Ok(folder.join("toxiproxy-server"))
}
