//! Writes a command's figures to `target/reports/<command>.json`. Knows nothing of what they mean.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::workspace;

/// Writes `figures` as the report of `command` and returns the file's path.
pub(crate) fn write(command: &str, figures: &impl Serialize) -> Result<PathBuf> {
    let folder = workspace::root().join("target/reports");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let path = folder.join(format!("{command}.json"));
    let mut text = serde_json::to_string_pretty(figures)?;
    text.push('\n');
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}
