//! Programs that run several times each under a supervisor: whatever ends is started again.
//!
//! Knows processes and signals; not what they serve. Dropping the fleet ends all of them.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Child;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// A sandbox is replaced after a moment, not at once.
const PAUSE: Duration = Duration::from_millis(50);

/// How one more process of a program is started.
pub(crate) type Recipe = Arc<dyn Fn() -> Command + Send + Sync>;

/// A program of the fleet.
pub(crate) struct Program {
    /// Names its processes.
    pub(crate) name: &'static str,
    /// How many processes of it run at once.
    pub(crate) processes: usize,
    /// How each is started; asked anew each time, so that settings may change in between.
    pub(crate) recipe: Recipe,
}

/// What a member is told.
enum Order {
    Kill,
    Freeze(Duration),
}

/// One place in the fleet, filled by one process after the other.
struct Member {
    program: &'static str,
    pid: Arc<AtomicI32>,
    orders: mpsc::Sender<Order>,
}

/// The running processes.
pub(crate) struct Fleet {
    members: Vec<Member>,
    starts: Arc<AtomicU64>,
    _tasks: JoinSet<()>,
}

impl Fleet {
    /// Starts every program; their output is appended to `log`.
    pub(crate) fn start(programs: &[Program], log: &Path) -> Result<Self> {
        if let Some(folder) = log.parent() {
            fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        }
        fs::write(log, "").with_context(|| format!("cannot write {}", log.display()))?;
        let starts = Arc::new(AtomicU64::new(0));
        let mut tasks = JoinSet::new();
        let mut members = Vec::new();
        for program in programs {
            for _ in 0..program.processes {
                let (orders, received) = mpsc::channel(1);
                let pid = Arc::new(AtomicI32::new(0));
                let place = Place { pid: pid.clone(), starts: starts.clone(), log: log.to_path_buf() };
                tasks.spawn(keep_running(program.recipe.clone(), place, received));
                members.push(Member { program: program.name, pid, orders });
            }
        }
        Ok(Self { members, starts, _tasks: tasks })
    }

    /// How many places a program has.
    pub(crate) fn count(&self, program: &str) -> usize {
        self.of(program).count()
    }

    /// Kills the process in that place; false if it is not running or has another order to carry out.
    pub(crate) fn kill(&self, program: &str, place: usize) -> bool {
        self.order(program, place, Order::Kill)
    }

    /// Lets the process in that place stand still for a while; false as for [`Self::kill`].
    pub(crate) fn freeze(&self, program: &str, place: usize, duration: Duration) -> bool {
        self.order(program, place, Order::Freeze(duration))
    }

    /// Processes started so far, restarts included.
    pub(crate) fn starts(&self) -> u64 {
        self.starts.load(Ordering::Relaxed)
    }

    /// Resident memory of the largest process of a program, in bytes; zero where the system does not tell.
    pub(crate) fn largest_resident(&self, program: &str) -> u64 {
        self.of(program).map(|member| resident(member.pid.load(Ordering::Relaxed))).max().unwrap_or_default()
    }

    fn of(&self, program: &str) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(move |member| member.program == program)
    }

    fn order(&self, program: &str, place: usize, order: Order) -> bool {
        self.of(program)
            .nth(place)
            .is_some_and(|member| member.pid.load(Ordering::Relaxed) != 0 && member.orders.try_send(order).is_ok())
    }
}

/// Where a process runs.
struct Place {
    pid: Arc<AtomicI32>,
    starts: Arc<AtomicU64>,
    log: PathBuf,
}

async fn keep_running(recipe: Recipe, place: Place, mut orders: mpsc::Receiver<Order>) {
    loop {
        match start(&recipe, &place.log) {
            Ok(child) => {
                place.starts.fetch_add(1, Ordering::Relaxed);
                live(child, &place.pid, &mut orders).await;
                place.pid.store(0, Ordering::Relaxed);
            }
            Err(error) => eprintln!("  a process of the fleet does not start: {error:#}"),
        }
        sleep(PAUSE).await;
    }
}

/// Waits for the end of the process. Signals are sent from here alone, where it cannot have been reaped meanwhile.
async fn live(mut child: Child, shown: &AtomicI32, orders: &mut mpsc::Receiver<Order>) {
    let Some(pid) = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw) else {
        return;
    };
    shown.store(pid.as_raw_nonzero().get(), Ordering::Relaxed);
    loop {
        let order = tokio::select! {
            _ = child.wait() => return,
            Some(order) = orders.recv() => order,
        };
        match order {
            Order::Kill => {
                let _ = child.start_kill();
            }
            Order::Freeze(duration) => {
                let _ = kill_process(pid, Signal::STOP);
                sleep(duration).await;
                let _ = kill_process(pid, Signal::CONT);
            }
        }
    }
}

fn start(recipe: &Recipe, log: &Path) -> Result<Child> {
    let output = OpenOptions::new().append(true).create(true).open(log)?;
    let mut command = recipe();
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
    let mut command = tokio::process::Command::from(command);
    Ok(command.process_group(0).kill_on_drop(true).spawn()?)
}

/// Linux alone says it without a tool: the second field of `statm`, in pages.
fn resident(pid: i32) -> u64 {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    let pages: u64 = statm.split_whitespace().nth(1).and_then(|field| field.parse().ok()).unwrap_or_default();
    pages * u64::try_from(rustix::param::page_size()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn sleeper() -> Program {
        let recipe = || {
            let mut command = Command::new("sleep");
            command.arg("60");
            command
        };
        Program { name: "sleeper", processes: 1, recipe: Arc::new(recipe) }
    }

    async fn until(condition: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while !condition() {
            assert!(Instant::now() < deadline, "it did not come true");
            sleep(Duration::from_millis(5)).await;
        }
    }

    #[tokio::test]
    async fn a_killed_process_is_started_again() {
        let log = std::env::temp_dir().join(format!("xtask-fleet-{}.log", uuid::Uuid::new_v4()));
        let fleet = Fleet::start(&[sleeper()], &log).unwrap();
        until(|| fleet.starts() == 1 && fleet.kill("sleeper", 0)).await;
        until(|| fleet.starts() == 2).await;
        assert!(!fleet.kill("somebody else", 0));
        fs::remove_file(log).unwrap();
    }
}
