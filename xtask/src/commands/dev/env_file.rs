//! `.local/dev.env`: what a shell needs to speak to a running `dev`. One that leads nowhere must not lie about.
//! Knows a file; nothing of what is in it.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The file of a start that is under way. Dropped before [`Self::keep`], it takes the file along.
pub(super) struct EnvFile {
    path: PathBuf,
    kept: bool,
}

impl EnvFile {
    /// Begins a start: whatever an earlier one has left is removed.
    pub(super) fn begin(path: PathBuf) -> Result<Self> {
        remove(&path)?;
        Ok(Self { path, kept: false })
    }

    /// Writes it, readable by its owner alone.
    pub(super) fn write(&self, text: &str) -> Result<()> {
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&self.path)
            .with_context(|| format!("cannot write {}", self.path.display()))?;
        Ok(file.write_all(text.as_bytes())?)
    }

    /// The start succeeded: the file stays.
    pub(super) fn keep(mut self) -> PathBuf {
        self.kept = true;
        self.path.clone()
    }
}

impl Drop for EnvFile {
    fn drop(&mut self) {
        if !self.kept {
            // The error that ends the start says more than one from here.
            let _ = remove(&self.path);
        }
    }
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stale() -> PathBuf {
        let path = std::env::temp_dir().join(format!("xtask-env-{}", uuid::Uuid::new_v4()));
        fs::write(&path, "BASE_URL=stale\n").unwrap();
        path
    }

    #[test]
    fn a_start_that_fails_leaves_neither_its_own_file_nor_an_older_one() {
        let path = stale();
        drop(EnvFile::begin(path.clone()).unwrap());
        assert!(!path.exists(), "it failed before it wrote");

        let path = stale();
        let file = EnvFile::begin(path.clone()).unwrap();
        assert!(!path.exists());
        file.write("BASE_URL=new\n").unwrap();
        drop(file);
        assert!(!path.exists(), "it failed after it wrote");
    }

    #[test]
    fn a_start_that_succeeds_leaves_its_file() {
        let file = EnvFile::begin(stale()).unwrap();
        file.write("BASE_URL=new\n").unwrap();
        let path = file.keep();
        assert_eq!(fs::read_to_string(&path).unwrap(), "BASE_URL=new\n");
        fs::remove_file(path).unwrap();
    }
}
