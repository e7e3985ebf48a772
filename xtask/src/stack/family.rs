//! The processes that a process started, directly or not.
//!
//! Knows the system's process table; not what any process is for.

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};

/// Every process that this one started, directly or not.
pub(crate) fn of_this() -> Vec<Pid> {
    of(rustix::process::getpid())
}

/// Asks the processes to end; those that have ended already are fine.
pub(crate) fn terminate(processes: &[Pid]) {
    send(processes, Signal::TERM);
}

/// Ends the processes; those that have ended already are fine.
pub(crate) fn kill(processes: &[Pid]) {
    send(processes, Signal::KILL);
}

fn send(processes: &[Pid], signal: Signal) {
    for pid in processes {
        let _ = kill_process(*pid, signal);
    }
}

/// Processes that stand still until they are thawed. Dropping it thaws them, too.
pub(crate) struct Frozen(Vec<Pid>);

impl Frozen {
    /// Stops every process of that program among those that `root` started.
    pub(crate) fn freeze(root: Pid, program: &str) -> Self {
        let processes: Vec<Pid> = of(root).into_iter().filter(|pid| runs(*pid, program)).collect();
        send(&processes, Signal::STOP);
        Self(processes)
    }

    /// How many stand still.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Lets them run on and says how many they were.
    pub(crate) fn thaw(self) -> usize {
        self.count()
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        send(&self.0, Signal::CONT);
    }
}

/// The name in the system's process table. Linux cuts it after 15 bytes.
fn runs(pid: Pid, program: &str) -> bool {
    let id = pid.as_raw_nonzero().to_string();
    let name = fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_else(|_| {
        let output = Command::new("ps").args(["-p", &id, "-o", "comm="]).output();
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
    });
    Path::new(name.trim()).file_name().is_some_and(|name| name == program)
}

/// Every process that `root` started, directly or not, while it is still there to be asked.
pub(crate) fn of(root: Pid) -> Vec<Pid> {
    let table = if Path::new("/proc/self/stat").exists() { table_from_proc() } else { table_from_ps() };
    descendants_in(&table, root.as_raw_nonzero().get()).into_iter().filter_map(Pid::from_raw).collect()
}

/// Lines of process id and parent's id. Slim images carry no `ps`.
fn table_from_proc() -> String {
    let Ok(folders) = fs::read_dir("/proc") else {
        return String::new();
    };
    let lines = folders.filter_map(|folder| {
        let stat = fs::read_to_string(folder.ok()?.path().join("stat")).ok()?;
        // The command's name stands in parentheses and may hold anything, so the fields are read from its end on.
        let (pid, _) = stat.split_once(' ')?;
        let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?;
        Some(format!("{pid} {parent}\n"))
    });
    lines.collect()
}

fn table_from_ps() -> String {
    let output = Command::new("ps").args(["-A", "-o", "pid=,ppid="]).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}

fn descendants_in(table: &str, root: i32) -> Vec<i32> {
    let pairs: Vec<(i32, i32)> = table
        .lines()
        .filter_map(|line| {
            let mut fields = line.split_whitespace().map(str::parse::<i32>);
            Some((fields.next()?.ok()?, fields.next()?.ok()?))
        })
        .collect();
    let mut family = vec![root];
    let mut found = Vec::new();
    while let Some(parent) = family.pop() {
        let children = pairs.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid);
        for child in children {
            family.push(child);
            found.push(child);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grandchildren_belong_to_the_family_and_strangers_do_not() {
        let table = "    1     0\n   10     1\n   11    10\n   12    11\n   20     1\n";
        let mut family = descendants_in(table, 10);
        family.sort_unstable();
        assert_eq!(family, [11, 12]);
    }
}
