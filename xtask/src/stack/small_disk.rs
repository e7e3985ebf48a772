//! A small file system that can be filled to the last byte, where the system lets us mount one: in memory, as root.
//!
//! Knows mounting; not what is kept on it.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::server_user::ServerUser;

/// Room for the largest run, and little enough for a small machine's memory.
const SIZE: &str = "size=512m";
const CHUNK: usize = 1 << 20;

/// A mounted file system; dropping it unmounts it.
pub(crate) struct SmallDisk {
    folder: PathBuf,
}

impl SmallDisk {
    /// Mounts it for the user that runs PostgreSQL.
    pub(crate) fn mount(name: &str) -> Result<Self> {
        let ServerUser::Other { uid, gid, .. } = ServerUser::choose()? else {
            anyhow::bail!("only root can mount a small file system");
        };
        let folder = ServerUser::choose()?.outside(name)?;
        // A killed run may have left one behind.
        while quiet("umount", &[], &folder) {}
        let options = format!("{SIZE},mode=0700,uid={uid},gid={gid}");
        let mounted = quiet("mount", &["-t", "tmpfs", "-o", &options, "tmpfs"], &folder);
        ensure!(mounted, "this machine lets nobody mount a file system in memory");
        Ok(Self { folder })
    }

    /// Where it is mounted.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Fills it until nothing fits any more.
    pub(crate) fn fill(&self) -> Result<Ballast> {
        let ballast = Ballast(self.folder.join("ballast"));
        let mut file = File::create(&ballast.0).context("cannot create the ballast")?;
        let chunk = vec![1; CHUNK];
        for size in [CHUNK, 4096, 1] {
            while chunk.get(..size).is_some_and(|bytes| file.write_all(bytes).is_ok()) {}
        }
        Ok(ballast)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        quiet("umount", &[], &self.folder);
        // A mount that stays busy is removed by the next run.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// What takes up the room; dropping it gives the room back.
pub(crate) struct Ballast(PathBuf);

impl Drop for Ballast {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn quiet(program: &str, arguments: &[&str], folder: &Path) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).arg(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
