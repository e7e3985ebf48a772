//! Logs and metrics: JSON lines on standard output, as CloudWatch reads them. No call leaves the process for them.
//! Never a body, a key or a secret in clear.

pub mod metrics;

use tracing::Subscriber;
use tracing_subscriber::filter::{FilterExt, LevelFilter, filter_fn};
use tracing_subscriber::fmt::{self, MakeWriter, time::UtcTime};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

/// Starts logging to standard output. `LOG_LEVEL` names the least level shown (default `info`); metrics have no level.
pub fn init() {
    // A second call finds logging started, and that is all it wants.
    let _ = subscriber(std::io::stdout).try_init();
}

/// What [`init`] starts, writing elsewhere: logs flat, with timestamp and level; metrics as they are.
pub fn subscriber<W>(writer: W) -> impl Subscriber + Send + Sync
where
    W: for<'a> MakeWriter<'a> + Clone + Send + Sync + 'static,
{
    let level = least_level(std::env::var("LOG_LEVEL").ok().as_deref());
    let logs = fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .with_target(false)
        .with_timer(UtcTime::rfc_3339())
        .with_writer(writer.clone())
        .with_filter(level.and(filter_fn(|event| event.target() != metrics::TARGET)));
    let metrics = fmt::layer()
        .with_ansi(false)
        .with_level(false)
        .with_target(false)
        .without_time()
        .with_writer(writer)
        .with_filter(filter_fn(|event| event.target() == metrics::TARGET));
    Registry::default().with(logs).with(metrics)
}

/// The level that a setting names, `info` where it names none. A level and no more: filters by module would bring a
/// machine for regular expressions into every function.
fn least_level(setting: Option<&str>) -> LevelFilter {
    setting.filter(|setting| !setting.is_empty()).and_then(|setting| setting.parse().ok()).unwrap_or(LevelFilter::INFO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_read_and_anything_else_is_info() {
        assert_eq!(least_level(Some("debug")), LevelFilter::DEBUG);
        assert_eq!(least_level(Some("ERROR")), LevelFilter::ERROR);
        for unclear in [None, Some(""), Some("loud"), Some("payments=debug")] {
            assert_eq!(least_level(unclear), LevelFilter::INFO, "{unclear:?}");
        }
    }
}
