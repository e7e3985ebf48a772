//! Writes an event's message as it is, and nothing else. For messages that are whole lines already: the formats of
//! tracing-subscriber look at each of their characters for what a terminal would obey. Knows no metric.

use std::fmt::{self, Debug};

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// The format.
pub(super) struct Bare;

impl<S, N> FormatEvent<S, N> for Bare
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut message = Message { writer: writer.by_ref(), written: Ok(()) };
        event.record(&mut message);
        message.written?;
        writeln!(writer)
    }
}

struct Message<'w> {
    writer: Writer<'w>,
    written: fmt::Result,
}

impl Visit for Message<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.written = write!(self.writer, "{value:?}");
        }
    }
}
