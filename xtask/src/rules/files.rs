//! The repository's own files: what git would track, with their text.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ignore::WalkBuilder;

/// A file of the repository.
pub(crate) struct RepositoryFile {
    /// Its path from the root, with `/`.
    pub(crate) path: String,
    /// Its text; empty for what is no UTF-8.
    pub(crate) text: String,
}

impl RepositoryFile {
    /// Whether its name ends with this extension.
    pub(crate) fn is(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == extension)
    }
}

/// Every file below `root` that is not ignored, sorted by path.
pub(crate) fn all(root: &Path) -> Result<Vec<RepositoryFile>> {
    let mut walk = WalkBuilder::new(root);
    walk.hidden(false).require_git(false).filter_entry(|entry| entry.file_name() != ".git");
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in walk.build() {
        let entry = entry?;
        if entry.file_type().is_some_and(|kind| kind.is_file()) {
            paths.push(entry.into_path());
        }
    }
    paths.sort();
    paths.iter().map(|path| read(root, path)).collect()
}

fn read(root: &Path, path: &Path) -> Result<RepositoryFile> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let relative = path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/");
    Ok(RepositoryFile { path: relative, text: String::from_utf8(bytes).unwrap_or_default() })
}
