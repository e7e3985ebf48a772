//! A child process with a log file, ended together with everything it started.
//!
//! Knows process ids and signals; not what the process is for.

use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::net::TcpStream;
use tokio::process::Child;

use super::{family, log};
use crate::workspace;

/// How a process is asked to end.
#[derive(Clone, Copy)]
pub(crate) enum Stop {
    /// SIGTERM to the whole process group.
    Group,
    /// SIGINT to the process alone: PostgreSQL's fast shutdown, which ends its own children.
    Postmaster,
}

/// How long a process may take to end before it is killed.
const GRACE: Duration = Duration::from_secs(8);
const POLL: Duration = Duration::from_millis(20);

/// A running process; dropping it ends it.
pub(crate) struct Process {
    name: &'static str,
    child: Child,
    pid: Pid,
    stop: Stop,
    log: PathBuf,
}

impl Process {
    /// Starts `command` in its own process group, so that Ctrl-C reaches xtask first and parts end in order.
    pub(crate) fn start(name: &'static str, mut command: Command, stop: Stop, log: PathBuf) -> Result<Self> {
        use std::os::unix::process::CommandExt as _;

        if let Some(folder) = log.parent() {
            fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        }
        let output = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output).process_group(0);
        let child = tokio::process::Command::from(command).spawn().with_context(|| format!("cannot start {name}"))?;
        let pid = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw)
            .with_context(|| format!("{name} ended at once"))?;
        Ok(Self { name, child, pid, stop, log })
    }

    /// Where its output goes.
    pub(crate) fn log(&self) -> &Path {
        &self.log
    }

    /// Its id.
    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// Resolves with an error when the process has ended by itself.
    pub(crate) async fn broken(&mut self) -> anyhow::Error {
        match self.child.wait().await {
            Ok(status) => self.died(status),
            Err(error) => anyhow::Error::new(error).context(format!("cannot wait for {}", self.name)),
        }
    }

    /// Fails with the log's end if the process is no longer running.
    pub(crate) fn require_running(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => Err(self.died(status)),
        }
    }

    /// Waits until it listens on that port of this machine; fails when it dies, or is not there within the limit.
    pub(crate) async fn until_listening(&mut self, port: u16, limit: Duration) -> Result<()> {
        let deadline = Instant::now() + limit;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.is_err() {
            self.require_running()?;
            ensure!(Instant::now() < deadline, "{} does not listen:\n{}", self.name, log::tail(&self.log, 20));
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }

    /// The error that says that this part died, with the end of its log.
    fn died(&self, status: ExitStatus) -> anyhow::Error {
        anyhow::anyhow!(
            "{} ended by itself ({status}); the end of {}:\n{}",
            self.name,
            workspace::shown(&self.log),
            log::tail(&self.log, 20)
        )
    }

    /// Ends the process and everything it started. Again is harmless.
    pub(crate) fn stop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        let mut started = family::of(self.pid);
        self.ask_to_stop();
        if !self.wait_until_ended(GRACE) {
            started.extend(family::of(self.pid));
            let _ = kill_process_group(self.pid, Signal::KILL);
            self.wait_until_ended(GRACE);
        }
        // cargo-lambda puts each function into a process group of its own, out of reach of the group's signal.
        family::kill(&started);
    }

    /// Ends the process and everything it started at once, as a crash would: nothing is finished and nothing tidied up.
    pub(crate) fn crash(&mut self) {
        let started = family::of(self.pid);
        let _ = kill_process_group(self.pid, Signal::KILL);
        family::kill(&started);
        self.wait_until_ended(GRACE);
    }

    /// Sends SIGQUIT to the process alone: PostgreSQL's immediate shutdown. It has ended afterwards, whatever it takes.
    pub(crate) fn quit(&mut self) {
        let _ = kill_process(self.pid, Signal::QUIT);
        if !self.wait_until_ended(GRACE) {
            self.crash();
        }
    }

    fn ask_to_stop(&self) {
        // A process that ended a moment ago is what we want: the error carries nothing to act on.
        let _ = match self.stop {
            Stop::Group => kill_process_group(self.pid, Signal::TERM),
            Stop::Postmaster => kill_process(self.pid, Signal::INT),
        };
    }

    fn wait_until_ended(&mut self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        while Instant::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return true;
            }
            std::thread::sleep(POLL);
        }
        false
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_dropped_process_takes_its_children_along() {
        let log = std::env::temp_dir().join(format!("xtask-process-{}.log", uuid::Uuid::new_v4()));
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 60 & echo $!; wait"]);
        let process = Process::start("sleeper", command, Stop::Group, log.clone()).unwrap();
        let child = loop {
            if let Some(pid) = fs::read_to_string(&log).ok().and_then(|text| text.trim().parse::<i32>().ok()) {
                break Pid::from_raw(pid).unwrap();
            }
            tokio::task::yield_now().await;
        };
        drop(process);
        let deadline = Instant::now() + Duration::from_secs(5);
        while is_alive(child) && Instant::now() < deadline {
            tokio::time::sleep(POLL).await;
        }
        assert!(!is_alive(child), "the child outlived its parent's drop");
        fs::remove_file(log).unwrap();
    }

    #[cfg(target_os = "linux")]
    /// A killed orphan may stay a zombie where nothing reaps it; that one is dead as well.
    fn is_alive(pid: Pid) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, fields)| !fields.starts_with('Z'))
    }
}
