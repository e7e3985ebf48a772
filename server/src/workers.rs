//! Threads of their own for the requests that were admitted. On the threads that read and refuse, each step of a payment
//! would queue behind every request of a flood, and hold its connection to the database meanwhile.

use std::future::Future;

use anyhow::{Context as _, Result};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

/// The threads, as many as the machine has processors.
pub(crate) struct Workers(Option<Runtime>);

impl Workers {
    /// Starts them.
    pub(crate) fn start() -> Result<Self> {
        let runtime = Builder::new_multi_thread().thread_name("payments").enable_all().build();
        Ok(Self(Some(runtime.context("cannot start the threads that work on requests")?)))
    }

    /// Lets them do that work, also when nobody waits for it any more.
    pub(crate) fn spawn<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        match &self.0 {
            Some(runtime) => runtime.spawn(work),
            // Only while it is dropped, and then nobody can call.
            None => tokio::spawn(work),
        }
    }
}

impl Drop for Workers {
    /// Without waiting: whoever drops it has waited for what matters, or has given up.
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_goes_on_while_the_threads_that_read_requests_are_busy() {
        let workers = Workers::start().unwrap();
        let (done, told) = std::sync::mpsc::channel();
        let work = workers.spawn(async move { done.send(()).unwrap() });

        // The only thread of this test's own runtime is busy from here on.
        told.recv_timeout(std::time::Duration::from_secs(10)).unwrap();

        work.await.unwrap();
    }
}
