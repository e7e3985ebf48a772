//! Logs and metrics: JSON lines on standard output, as CloudWatch reads them. No call leaves the process for them.
//! Never a body, a key or a secret in clear.

mod bare;
pub mod metrics;

use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::{FilterExt, filter_fn};
use tracing_subscriber::fmt::{self, MakeWriter, time::UtcTime};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

use crate::config::LogConfig;

/// Starts logging to standard output; metrics have no level.
pub fn init(config: &LogConfig) {
    // A second call finds logging started, and that is all it wants.
    let _ = subscriber(std::io::stdout, config.level).try_init();
}

/// What [`init`] starts, writing elsewhere: logs flat, with timestamp and level; metrics as they are.
pub fn subscriber<W>(writer: W, level: LevelFilter) -> impl Subscriber + Send + Sync
where
    W: for<'a> MakeWriter<'a> + Clone + Send + Sync + 'static,
{
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
        .event_format(bare::Bare)
        .with_writer(writer)
        .with_filter(filter_fn(|event| event.target() == metrics::TARGET));
    Registry::default().with(logs).with(metrics)
}
