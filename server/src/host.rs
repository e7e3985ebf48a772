//! Connections of clients: accepts them, bounds their number, and ends them in order. Knows no route.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
#[cfg(target_os = "linux")]
use rustix::net::sockopt::set_tcp_user_timeout;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal as listen};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

use crate::api::Api;
use crate::settings::Settings;

/// The longest wait for a request's headers, also between two requests of one connection.
const HEADERS_LIMIT: Duration = Duration::from_secs(30);
/// Bytes of one request's head.
const HEAD_LIMIT: usize = 32 * 1024;
/// Rest after a failed accept, such as of too many open files: trying at once would only burn the processor.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Beyond a request's time, for its answer to leave.
const GRACE: Duration = Duration::from_secs(1);

/// Resolves at SIGTERM or SIGINT, and listens from now on.
pub(crate) fn signal() -> Result<impl Future<Output = &'static str>> {
    let mut terminate = listen(SignalKind::terminate()).context("cannot listen to SIGTERM")?;
    let mut interrupt = listen(SignalKind::interrupt()).context("cannot listen to SIGINT")?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        }
    })
}

/// Serves until `stop` resolves, and then lets what is at work finish: no answer that was earned is lost.
pub(crate) async fn serve(
    listener: TcpListener,
    api: Arc<Api>,
    settings: &Settings,
    stop: impl Future<Output = &'static str>,
) {
    let graceful = GracefulShutdown::new();
    let name = tokio::select! {
        name = stop => name,
        () = accept(&listener, &api, settings, &graceful) => "the end of all connections",
    };
    tracing::info!(signal = name, "stopping");
    drop(listener);
    let finished = timeout(settings.request_timeout() + GRACE, async {
        graceful.shutdown().await;
        api.idle().await;
    });
    if finished.await.is_ok() {
        tracing::info!("stopped");
    } else {
        tracing::warn!("stopped, and requests were still at work");
    }
}

async fn accept(listener: &TcpListener, api: &Arc<Api>, settings: &Settings, graceful: &GracefulShutdown) {
    let places = Arc::new(Semaphore::new(settings.max_connections));
    // The semaphore is never closed.
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        match listener.accept().await {
            Ok((stream, _)) => {
                prepare(&stream, settings.request_timeout());
                carry(stream, Arc::clone(api), graceful, place);
            }
            Err(error) => {
                tracing::warn!(cause = ?error, "cannot accept a connection");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// What the system is asked to do for a connection; one that it cannot do it for is served all the same.
fn prepare(stream: &TcpStream, patience: Duration) {
    // An answer is one small packet; it must not wait for the client's acknowledgement of the one before.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(cause = ?error, "a connection keeps its delay");
    }
    // A client that takes no answer, gone or not reading, would hold its place for ever.
    #[cfg(target_os = "linux")]
    if let Err(error) = set_tcp_user_timeout(stream, u32::try_from(patience.as_millis()).unwrap_or(u32::MAX)) {
        tracing::debug!(cause = ?error, "a connection may stall");
    }
    #[cfg(not(target_os = "linux"))]
    let _ = patience;
}

fn carry(stream: TcpStream, api: Arc<Api>, graceful: &GracefulShutdown, place: OwnedSemaphorePermit) {
    let service = service_fn(move |request| Arc::clone(&api).answer(request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_LIMIT)
        .max_buf_size(HEAD_LIMIT)
        .serve_connection(TokioIo::new(stream), service);
    let connection = graceful.watch(connection);
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(cause = ?error, "a connection broke");
        }
        drop(place);
    });
}
