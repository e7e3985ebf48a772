//! Logs: one JSON object a line, flat, with timestamp and level, as CloudWatch Logs reads them.
//! Never a body, a key or a secret in clear.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::time::UtcTime;

/// Starts logging to standard output. `LOG_LEVEL` names the least level shown (default `info`).
pub fn init() {
    let filter = EnvFilter::builder()
        .with_default_directive(tracing::Level::INFO.into())
        .with_env_var("LOG_LEVEL")
        .from_env_lossy();
    let subscriber = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .with_target(false)
        .with_timer(UtcTime::rfc_3339())
        .with_env_filter(filter);
    // A second call finds logging started, and that is all it wants.
    let _ = subscriber.try_init();
}
