//! One `dev` per checkout: an advisory file lock that the system releases when its holder dies.

use std::fs::{self, File, TryLockError};
use std::path::Path;

use anyhow::{Context, Result, bail};

/// Held for as long as the value lives.
pub(crate) struct Lock {
    _file: File,
}

/// Takes the lock or says who seems to hold it.
pub(crate) fn take(path: &Path, holder: &str) -> Result<Lock> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    let file = File::options()
        .create(true)
        .append(true)
        .open(path)
        .with_context(|| format!("cannot open {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(Lock { _file: file }),
        Err(TryLockError::WouldBlock) => {
            bail!("{holder} already runs in this checkout: stop it first (Ctrl-C in its terminal)")
        }
        Err(TryLockError::Error(error)) => Err(error).with_context(|| format!("cannot lock {}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_holder_is_refused_until_the_first_is_gone() {
        let path = std::env::temp_dir().join(format!("xtask-lock-{}", uuid::Uuid::new_v4()));
        let first = take(&path, "`dev`").unwrap();
        assert!(take(&path, "`dev`").is_err());
        drop(first);
        assert!(take(&path, "`dev`").is_ok());
        fs::remove_file(path).unwrap();
    }
}
