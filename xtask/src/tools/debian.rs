//! Debian's packages, unpacked into a folder where that is enough: needs neither root nor a package that stays.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{find, run};

/// Unpacks the package and those of the libraries it depends on that the machine lacks.
pub(super) fn unpack(package: &str, into: &Path) -> Result<()> {
    if find("apt-get", &[]).is_none() || find("dpkg-deb", &[]).is_none() {
        bail!("this machine has no apt-get to fetch {package} with");
    }
    download(&[package.to_owned()], into).or_else(|first| {
        if !rustix::process::geteuid().is_root() {
            return Err(first.context("apt's package lists may be missing: run apt-get update as root"));
        }
        run(Command::new("apt-get").args(["update", "--quiet"]))?;
        download(&[package.to_owned()], into)
    })?;
    let missing = missing_libraries(into)?;
    if !missing.is_empty() {
        download(&missing, into)?;
    }
    for archive in archives(into)? {
        run(Command::new("dpkg-deb").arg("--extract").arg(&archive).arg(into))?;
        fs::remove_file(archive)?;
    }
    Ok(())
}

/// Installs a package into the system, which only root may.
pub(super) fn install(package: &str) -> Result<()> {
    if find("apt-get", &[]).is_none() || !rustix::process::geteuid().is_root() {
        bail!("{package} is not installed, and only root may install it with apt-get");
    }
    println!("  installing {package} with apt-get …");
    run(Command::new("apt-get").args(["update", "--quiet"]))?;
    let mut apt = Command::new("apt-get");
    apt.args(["install", "--yes", "--quiet", "--no-install-recommends", package]);
    run(apt.env("DEBIAN_FRONTEND", "noninteractive"))
}

/// A script `name` that runs `program` with the unpacked libraries, wherever the folder is moved.
pub(super) fn write_wrapper(into: &Path, name: &str, program: &str) -> Result<()> {
    let script = format!(
        "#!/bin/sh\nhere=$(dirname \"$(readlink -f \"$0\")\")\n\
        LD_LIBRARY_PATH=$(echo \"$here\"/usr/lib/*-linux-gnu)${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}\n\
        export LD_LIBRARY_PATH\nexec \"$here/{program}\" \"$@\"\n"
    );
    let path = into.join(name);
    fs::write(&path, script)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

fn download(packages: &[String], into: &Path) -> Result<()> {
    run(Command::new("apt-get").arg("download").args(packages).current_dir(into))
}

fn missing_libraries(folder: &Path) -> Result<Vec<String>> {
    let mut missing = Vec::new();
    for archive in archives(folder)? {
        let output = Command::new("dpkg-deb").arg("--field").arg(&archive).arg("Depends").output();
        let depends = output.context("cannot run dpkg-deb")?.stdout;
        missing.extend(
            libraries(&String::from_utf8_lossy(&depends)).filter(|library| !is_installed(library)).map(str::to_owned),
        );
    }
    Ok(missing)
}

fn archives(folder: &Path) -> Result<Vec<PathBuf>> {
    let paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    Ok(paths.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "deb")).collect())
}

/// The library packages in a `Depends` field; of alternatives the first. The C library must stay the machine's own.
fn libraries(depends: &str) -> impl Iterator<Item = &str> {
    let names = depends.split(',').filter_map(|dependency| dependency.split_whitespace().next());
    names.filter(|name| name.starts_with("lib") && *name != "libc6")
}

fn is_installed(package: &str) -> bool {
    let output = Command::new("dpkg-query").args(["--show", "--showformat=${db:Status-Status}", package]).output();
    output.is_ok_and(|output| output.status.success() && output.stdout.starts_with(b"installed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_read_from_a_depends_field() {
        let field = "libc6 (>= 2.34), libcares2 (>= 1.11), libevent-2.1-7 (>= 2.1), init-system-helpers | dbus\n";
        assert_eq!(libraries(field).collect::<Vec<_>>(), ["libcares2", "libevent-2.1-7"]);
    }
}
