//! The wait for something that cargo has to build first. While any cargo builds, the time does not run: another one may
//! hold the lock of the target folder for as long as it likes.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A build that is over sooner is not worth a word.
const WORTH_A_WORD: Duration = Duration::from_secs(3);

/// How long it is waited, and what a person is told meanwhile.
pub(crate) struct Patience {
    limit: Duration,
    target: PathBuf,
    until: Instant,
    building_since: Option<Instant>,
    told: bool,
}

impl Patience {
    /// So long from now on, builds into that target folder not counted.
    pub(crate) fn new(limit: Duration, target: PathBuf) -> Self {
        Self { limit, target, until: Instant::now() + limit, building_since: None, told: false }
    }

    /// Looks whether something is being built, and says once that it is waited for. To be called again and again.
    pub(crate) fn look(&mut self) {
        if !is_held(&self.target) {
            self.building_since = None;
            return;
        }
        self.until = Instant::now() + self.limit;
        let since = *self.building_since.get_or_insert_with(Instant::now);
        if !self.told && since.elapsed() >= WORTH_A_WORD {
            self.told = true;
            println!("  a cargo is building in {}: waiting for it", self.target.display());
        }
    }

    /// Whether the time is up.
    pub(crate) fn is_over(&self) -> bool {
        Instant::now() > self.until
    }
}

/// Cargo holds this file's lock from the first to the last step of a build.
fn is_held(target: &Path) -> bool {
    let lock = File::open(target.join("debug/.cargo-lock"));
    lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_time_does_not_run_while_another_cargo_builds() {
        let target = std::env::temp_dir().join(format!("xtask-target-{}", uuid::Uuid::new_v4()));
        fs::create_dir_all(target.join("debug")).unwrap();
        let mut patience = Patience::new(Duration::ZERO, target.clone());
        patience.look();
        assert!(patience.is_over() && patience.building_since.is_none(), "there is no lock yet");
        let builder = File::create(target.join("debug/.cargo-lock")).unwrap();

        let mut patience = Patience::new(Duration::from_millis(1), target.clone());
        builder.lock().unwrap();
        std::thread::sleep(Duration::from_millis(2));
        patience.limit = Duration::from_mins(1);
        patience.look();
        assert!(!patience.is_over() && patience.building_since.is_some());

        builder.unlock().unwrap();
        patience.limit = Duration::ZERO;
        patience.look();
        assert!(patience.building_since.is_none() && !patience.told);
        fs::remove_dir_all(target).unwrap();
    }
}
