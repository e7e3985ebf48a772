//! The functions as they are deployed: `sam build` of the template, skipped where nothing has changed since.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use uuid::Uuid;

use crate::rules::files;
use crate::tools::python::Python;
use crate::workspace;

/// What goes into a build, as beginnings of paths.
const SOURCES: [&str; 7] =
    ["Cargo.lock", "Cargo.toml", "functions/", "migrations/", "rust-toolchain.toml", "shared/", "template.yaml"];

/// How much the compiler is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Effort {
    /// The release profile without its optimisation: the same sources, features, checks and panics, in a fraction of the time.
    Quick,
    /// The release profile as it is, for figures and before a deployment.
    AsDeployed,
}

impl Effort {
    /// What cargo takes instead of the manifest's `[profile.release]`.
    fn overrides(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Quick => &[
                ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
                ("CARGO_PROFILE_RELEASE_LTO", "off"),
                ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0"),
            ],
            Self::AsDeployed => &[],
        }
    }
}

/// Builds if need be and returns the template that can be deployed to the emulator.
pub(super) fn run(python: &Python, compilers: &[PathBuf], effort: Effort) -> Result<PathBuf> {
    let folder = workspace::root().join(".aws-sam");
    let mark = folder.join("rehearsed-sources");
    let sources = format!("{} {} {effort:?}\n", fingerprint()?, architecture());
    if fs::read_to_string(&mark).is_ok_and(|built| built == sources) {
        println!("  unchanged since the last build");
    } else {
        println!("  sam build: some minutes");
        // A build that breaks off must not be taken for this one.
        let _ = fs::remove_file(&mark);
        let started = Instant::now();
        require_success(sam_build(python, compilers, effort)?, "sam build")?;
        println!("  built in {:.0} s", started.elapsed().as_secs_f64());
        fs::write(&mark, sources).with_context(|| format!("cannot write {}", mark.display()))?;
    }
    let built = folder.join("build/template.yaml");
    // Beside the original, since the paths of the binaries inside are relative.
    let rewritten = folder.join("build/for_emulator.yaml");
    let mut rewrite = python.command();
    rewrite.arg("xtask/template/for_emulator.py").arg(built).arg(&rewritten);
    require_success(rewrite, "for_emulator.py")?;
    Ok(rewritten)
}

/// The emulator runs the binaries on this machine.
pub(super) fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "aarch64" => "arm64",
        other => other,
    }
}

/// SAM looks for cargo-lambda on `PATH`, and that for Zig.
fn sam_build(python: &Python, compilers: &[PathBuf], effort: Effort) -> Result<Command> {
    let own = compilers.iter().filter_map(|program| program.parent()).map(Path::to_path_buf);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(own.chain(std::env::split_paths(&path)))?;
    let mut command = python.program("sam");
    command
        .args(["build", "--parameter-overrides", &format!("Architecture={}", architecture())])
        .env("PATH", path)
        .envs(effort.overrides().iter().copied())
        .env("AWS_DEFAULT_REGION", "eu-central-1")
        .env("SAM_CLI_TELEMETRY", "0");
    Ok(command)
}

fn require_success(mut command: Command, what: &str) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot run {what}"))?;
    if !status.success() {
        bail!("{what} failed, see its output");
    }
    Ok(())
}

fn fingerprint() -> Result<Uuid> {
    let mut all = Vec::new();
    for file in files::all(&workspace::root())? {
        if SOURCES.iter().any(|source| file.path.starts_with(source)) && !file.path.starts_with("shared/tests/") {
            all.extend_from_slice(file.path.as_bytes());
            all.push(0);
            all.extend_from_slice(file.text.as_bytes());
            all.push(0);
        }
    }
    Ok(Uuid::new_v5(&Uuid::NAMESPACE_OID, &all))
}
