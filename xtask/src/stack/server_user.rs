//! PostgreSQL refuses to run as root: chooses the user that runs it and a folder that this user can reach.

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::workspace;

/// The user that runs the server.
#[derive(Clone)]
pub(crate) enum ServerUser {
    /// Whoever runs xtask.
    Caller,
    /// Another user, because the caller is root.
    Other {
        /// The user's name.
        name: &'static str,
        /// Its numeric id.
        uid: u32,
        /// Its primary group.
        gid: u32,
    },
}

impl ServerUser {
    /// `postgres` or else `nobody` for root, the caller itself otherwise.
    pub(crate) fn choose() -> Result<Self> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Self::Caller);
        }
        for name in ["postgres", "nobody"] {
            if let (Some(uid), Some(gid)) = (id("-u", name), id("-g", name)) {
                return Ok(Self::Other { name, uid, gid });
            }
        }
        bail!("PostgreSQL may not run as root, and there is neither a user `postgres` nor `nobody` to run it as")
    }

    /// A command that runs as this user. Supplementary groups are dropped together with root.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        if let Self::Other { uid, gid, .. } = self {
            command.uid(*uid).gid(*gid).current_dir("/");
        }
        command
    }

    /// Whether this user can run `program`: every folder above must let it through.
    pub(crate) fn can_run(&self, program: &Path) -> bool {
        let mut command = self.command(program);
        command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    /// A folder owned by this user: `.local/<name>`, or one in the system's temporary folder where the checkout is closed to it.
    pub(crate) fn home(&self, name: &str) -> Result<PathBuf> {
        let Self::Other { name: user, uid, gid } = self else {
            let inside = workspace::local().join(name);
            fs::create_dir_all(&inside).with_context(|| format!("cannot create {}", inside.display()))?;
            return Ok(inside);
        };
        let local = workspace::local();
        fs::create_dir_all(&local).with_context(|| format!("cannot create {}", local.display()))?;
        let home = if self.can_enter(&local) { local.join(name) } else { elsewhere(name) };
        create_owned(&home, *uid, *gid)?;
        if !home.starts_with(&local) {
            println!("  user `{user}` cannot enter this checkout: {name} lies in {}", home.display());
        }
        Ok(home)
    }

    /// A folder of this user's outside the checkout, the same on every call with this name.
    pub(crate) fn outside(&self, name: &str) -> Result<PathBuf> {
        let folder = elsewhere(name);
        match self {
            Self::Caller => {
                fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
            }
            Self::Other { uid, gid, .. } => create_owned(&folder, *uid, *gid)?,
        }
        Ok(folder)
    }

    fn can_enter(&self, folder: &Path) -> bool {
        let mut command = self.command(Path::new("ls"));
        command.arg("-d").arg(folder.join(".")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }
}

/// The same place for the same checkout, so that a second start finds its data.
fn elsewhere(name: &str) -> PathBuf {
    let checkout = uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_URL, workspace::root().as_os_str().as_encoded_bytes());
    std::env::temp_dir().join(format!("payments-{name}-{}", checkout.simple()))
}

/// Creates the folder for that user, or makes sure that the one found is its own: the temporary folder is open to all.
fn create_owned(folder: &Path, uid: u32, gid: u32) -> Result<()> {
    match fs::symlink_metadata(folder) {
        Ok(found) if found.is_dir() && found.uid() == uid => return Ok(()),
        Ok(found) if !found.is_dir() || found.uid() != 0 => {
            bail!("{} exists and belongs to somebody else: remove it", folder.display())
        }
        Ok(_) => {}
        Err(_) => fs::DirBuilder::new()
            .mode(0o700)
            .create(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?,
    }
    chown(folder, Some(uid), Some(gid)).with_context(|| format!("cannot hand over {}", folder.display()))
}

fn id(what: &str, user: &str) -> Option<u32> {
    let output = Command::new("id").args([what, user]).output().ok().filter(|output| output.status.success())?;
    String::from_utf8_lossy(&output.stdout).trim().parse().ok()
}
