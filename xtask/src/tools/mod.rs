//! Tools that the commands need beyond Rust: found, or provisioned into `.tools/`, pinned, with visible progress.
//!
//! Everything is installed under a temporary name and renamed when complete, so a broken download is never taken for a tool.

mod debian;
pub(crate) mod go;
pub(crate) mod pgbouncer;
pub(crate) mod postgres;
pub(crate) mod pypi;
pub(crate) mod python;
pub(crate) mod redis;
pub(crate) mod signing_clients;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};

use crate::workspace;

/// Puts a tool into `.tools/<folder>` unless it is there, and returns that folder.
fn provision(folder: &str, what: &str, install: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let target = workspace::tools().join(folder);
    if target.exists() {
        return Ok(target);
    }
    let _lock = lock()?;
    provision_locked(folder, what, install)
}

/// The same for what another installation needs: that one holds the lock.
fn provision_locked(folder: &str, what: &str, install: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let target = workspace::tools().join(folder);
    if target.exists() {
        return Ok(target);
    }
    let partial = workspace::tools().join(format!("{folder}.partial"));
    if partial.exists() {
        fs::remove_dir_all(&partial).with_context(|| format!("cannot remove {}", partial.display()))?;
    }
    fs::create_dir_all(&partial).with_context(|| format!("cannot create {}", partial.display()))?;
    let progress = Progress::start(what);
    let installed = install(&partial);
    progress.finish(installed.is_ok());
    installed.with_context(|| format!("cannot provide {what}"))?;
    fs::rename(&partial, &target).with_context(|| format!("cannot rename {}", partial.display()))?;
    Ok(target)
}

/// Two xtasks at once install one after the other.
fn lock() -> Result<File> {
    let folder = workspace::tools();
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let file = File::options().create(true).append(true).open(folder.join(".lock"))?;
    file.lock().context("cannot lock .tools")?;
    Ok(file)
}

/// The program's path if it is on `PATH` or in one of the `extra` folders.
fn find(program: &str, extra: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(extra.iter().map(PathBuf::from))
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file())
}

/// Runs a command quietly; its error output becomes the error.
fn run(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot run {name}"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let end: Vec<&str> = text.trim().lines().rev().take(8).collect();
        bail!("{name} failed: {}", end.into_iter().rev().collect::<Vec<_>>().join("\n"));
    }
    Ok(())
}

/// A spinner for a person, plain lines for a log.
struct Progress {
    bar: ProgressBar,
    what: String,
    since: Instant,
}

impl Progress {
    fn start(what: &str) -> Self {
        let bar = ProgressBar::new_spinner();
        if bar.is_hidden() {
            println!("  installing {what} …");
        }
        if let Ok(style) = ProgressStyle::with_template("  {spinner} installing {msg} … {elapsed}") {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(100));
        Self { bar, what: what.to_owned(), since: Instant::now() }
    }

    fn finish(self, installed: bool) {
        self.bar.finish_and_clear();
        if installed {
            println!("  installed {} ({:.0} s)", self.what, self.since.elapsed().as_secs_f32());
        }
    }
}
