//! The log: text for people, JSON for machines, always on standard error. And [`Traces`].

mod flags;
mod traces;

use std::io::{self, IsTerminal, Write, stderr};
use std::str::FromStr;

use parking_lot::Mutex;
use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::filter::{FilterExt, LevelFilter, Targets, filter_fn};
use tracing_subscriber::layer::{Filter, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt, registry};

pub use flags::{Endpoint, LogFlags, LogFormat, TraceFlags};
pub use traces::Traces;

use windlass_base::seams::Seams;
use windlass_base::spans;

/// Libraries that log each error which they also return: the host says it once, in its own words.
/// What tells others how it goes, and what is for traces.
const REPEATED: &str = "kube_client=off,kube_runtime=off,rustls_platform_verifier=off,span=off,\
    opentelemetry=off,opentelemetry_sdk=warn,opentelemetry_otlp=warn,hyper_util=off";

/// What OpenTelemetry says each time, and [`Traces`] says once; or when the host has ended.
const SAID_ONCE: [&str; 2] = [
    "BatchSpanProcessor.ExportError",
    "BatchSpanProcessor.OnEnd.AfterShutdown",
];

/// A layer of the log or of traces.
type BoxedLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// What is held back of a log, at most, in bytes.
const MOST: usize = 64 << 10;

/// What was held back since it was taken last.
static HELD: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// The end of a log that is held back.
struct BufferedLog;

impl Write for BufferedLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut held = HELD.lock();
        let room = MOST.saturating_sub(held.len()).min(bytes.len());
        held.extend_from_slice(bytes.get(..room).unwrap_or_default());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How the log is written, and where traces go.
#[derive(Debug)]
pub struct LogSettings {
    /// Text or JSON; text on a terminal and JSON elsewhere if it is not said.
    pub format: Option<LogFormat>,
    /// A level, or a filter such as `info,plugin=debug`.
    pub filter: String,
    /// Whether it is kept for [`take_buffered`] and not written.
    pub is_held_back: bool,
    /// The collector of traces, if there is one.
    pub traces: Option<Endpoint>,
}

impl LogSettings {
    /// The settings of a command whose log people and scripts read: text, if no flag says otherwise.
    #[must_use]
    pub fn for_people(self) -> Self {
        let format = self.format.or(Some(LogFormat::Text));
        Self { format, ..self }
    }
}

/// Takes what was held back, for who tells it when something has failed.
pub fn take_buffered() -> String {
    let mut held = HELD.lock();
    String::from_utf8_lossy(&std::mem::take(&mut *held)).into_owned()
}

/// Starts the log, which is for [`take_buffered`] if it is held back, and traces, if somebody wants them.
///
/// # Errors
/// Traces cannot be sent.
pub fn start(settings: &LogSettings, seams: &Seams) -> anyhow::Result<Option<Traces>> {
    let filter = wanted(&settings.filter)?;
    let traces = settings
        .traces
        .as_ref()
        .map(|to| Traces::start(to, seams))
        .transpose()?;
    let log = log(settings.format, settings.is_held_back);
    // No `Option` of a layer: where it is none, `tracing::enabled!` says that all is.
    let mut layers: Vec<BoxedLayer> = vec![log.with_filter(filter).boxed()];
    if let Some(traces) = &traces {
        // Not what a plugin logs: the spans that wait are counted, and not by their size.
        let wanted = Targets::new().with_target(spans::TARGET, Level::TRACE);
        let spans = tracing_opentelemetry::layer()
            .with_tracer(traces.tracer())
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            // Nobody asks for the context of a thread.
            .with_context_activation(false)
            .with_filter(wanted);
        layers.push(spans.boxed());
    }
    registry().with(layers).init();
    Ok(traces)
}

/// Reads a filter of the log.
///
/// # Errors
/// It is none. So is a word that is not a level: it would stand for a target, and nothing else would be logged.
pub fn filter(text: &str) -> Result<String, String> {
    let parts: Vec<_> = text.split(',').map(str::trim).collect();
    let is_level = |part: &str| !part.is_empty() && LevelFilter::from_str(part).is_ok();
    let is_wrong = |part: &&&str| !part.contains('=') && !is_level(part);
    if let Some(part) = parts.iter().find(is_wrong) {
        return Err(format!(
            "{part:?} is not a level: use off, error, warn, info, debug or trace, and give a target \
             its own, such as info,plugin=debug"
        ));
    }
    let text = parts.join(",");
    match EnvFilter::try_new(&text) {
        Ok(_) => Ok(text),
        Err(error) => Err(format!("not a filter such as info,plugin=debug: {error}")),
    }
}

/// What of all that is told comes into the log.
fn wanted<S>(filter: &str) -> anyhow::Result<impl Filter<S> + use<S>> {
    let asked = EnvFilter::try_new(format!("{REPEATED},{filter}"))?;
    let is_new = filter_fn(|event: &Metadata<'_>| !SAID_ONCE.contains(&event.name()));
    // Without a hint it would hide the other filter's, and each line that a library writes for who traces it would be
    // made, in every call.
    Ok(FilterExt::<S>::and(
        asked,
        is_new.with_max_level_hint(Level::TRACE),
    ))
}

fn log<S>(format: Option<LogFormat>, is_held: bool) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    if is_held {
        let log = fmt::layer().with_ansi(false).with_target(false);
        return log.without_time().with_writer(|| BufferedLog).boxed();
    }
    let terminal = stderr().is_terminal();
    // A terminal that is gone takes no complaints either: saying so on it would panic.
    let log = fmt::layer().with_writer(stderr).log_internal_errors(false);
    let usual = if terminal {
        LogFormat::Text
    } else {
        LogFormat::Json
    };
    match format.unwrap_or(usual) {
        LogFormat::Text => log.with_ansi(terminal).with_target(false).boxed(),
        LogFormat::Json => log
            .json()
            .flatten_event(true)
            .with_current_span(false)
            .with_span_list(false)
            .boxed(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_of_levels_and_of_targets_with_theirs() {
        for (text, wrong) in [
            ("info", None),
            ("DEBUG", None),
            ("off", None),
            ("info,plugin=debug", None),
            ("info, plugin=debug", None),
            ("warn,windlass_host::informer=trace,kube=off", None),
            ("loud", Some("\"loud\" is not a level")),
            ("info,plugin", Some("\"plugin\" is not a level")),
            ("info,,plugin=debug", Some("\"\" is not a level")),
            ("", Some("\"\" is not a level")),
            ("plugin=loud", Some("not a filter")),
        ] {
            match (filter(text), wrong) {
                (Ok(read), None) => assert_eq!(read, text.replace(' ', "")),
                (Err(said), Some(wrong)) => assert!(said.starts_with(wrong), "{text}: {said}"),
                (read, _) => panic!("{text}: {read:?}"),
            }
        }
    }

    #[test]
    fn what_nobody_wants_is_never_made() {
        for (filter, most) in [
            ("info", LevelFilter::INFO),
            ("warn,plugin=debug", LevelFilter::DEBUG),
        ] {
            let wanted = wanted::<Registry>(filter).unwrap();
            assert_eq!(wanted.max_level_hint(), Some(most), "{filter}");
        }
    }
}
