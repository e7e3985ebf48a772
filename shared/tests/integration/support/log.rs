//! What this thread logs, as the functions would write it to standard output.

use std::io::Write;
use std::sync::{Arc, LazyLock, Mutex};

use serde_json::Value;
use tracing::Dispatch;
use tracing::level_filters::LevelFilter;
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::fmt::MakeWriter;

/// Everything that this thread logs while the guard lives.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

/// While only one subscriber exists, tracing asks the thread that first reaches a log statement whether anybody listens,
/// and remembers a "no" of another test's thread for ever. A second one makes it ask the subscribers.
static ANOTHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(tracing_subscriber::registry()));

impl Log {
    /// Captures what the functions write, of any level.
    pub(crate) fn capture() -> (Self, DefaultGuard) {
        Self::from_level(LevelFilter::TRACE)
    }

    /// Captures what the functions write when nothing else is asked for.
    pub(crate) fn of_functions() -> (Self, DefaultGuard) {
        Self::from_level(LevelFilter::INFO)
    }

    /// Captures what the functions write from that level on.
    pub(crate) fn from_level(level: LevelFilter) -> (Self, DefaultGuard) {
        let log = Self::default();
        let guard = Self::listen(payments::telemetry::subscriber(log.clone(), level));
        (log, guard)
    }

    fn listen(subscriber: impl Into<Dispatch>) -> DefaultGuard {
        LazyLock::force(&ANOTHER);
        tracing::dispatcher::set_default(&subscriber.into())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    /// Every line.
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The lines about requests.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.lines().into_iter().filter(|line| line["message"] == "request").collect()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
