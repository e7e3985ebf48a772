//! Ctrl-C, SIGTERM and a closed terminal end a command in order: first its parts, then whatever is left of its children.
//!
//! Knows signals; nothing of what the command does.

use std::future::Future;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::timeout;

use crate::stack::family;

/// A command that waits for a child of its own, a compiler for instance, hears of the end only when that child ends.
const PATIENCE: Duration = Duration::from_secs(2);
const LAST_LIMIT: Duration = Duration::from_secs(30);

/// How a command came to its end.
pub(crate) enum Outcome {
    /// By itself.
    Finished(Result<()>),
    /// By a signal.
    Interrupted,
}

/// Runs the command until it ends or a signal ends it.
pub(crate) async fn supervise(command: impl Future<Output = Result<()>> + Send + 'static) -> Result<Outcome> {
    let mut signals = Signals::listen()?;
    let mut task = tokio::spawn(command);
    let name = tokio::select! {
        joined = &mut task => return Ok(Outcome::Finished(joined.context("the command broke off")?)),
        name = signals.next() => name,
    };
    println!("\n{name}: stopping");
    let children = family::of_this();
    task.abort();
    if timeout(PATIENCE, &mut task).await.is_err() {
        family::terminate(&children);
        // Whatever does not end even now is killed below.
        let _ = timeout(LAST_LIMIT, &mut task).await;
    }
    family::kill(&children);
    Ok(Outcome::Interrupted)
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    fn listen() -> Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "interrupted",
            _ = self.terminate.recv() => "terminated",
            _ = self.hang_up.recv() => "terminal closed",
        }
    }
}
