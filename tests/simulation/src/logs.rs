//! What the hosts log, by host: a line belongs to the process whose task is being polled.

use std::cell::RefCell;
use std::fmt::Debug;
use std::sync::Arc;

use parking_lot::Mutex;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::trace::{Log, Trace, What};

/// The name of the span of a process.
const PROCESS: &str = "process";

thread_local! {
    /// The processes whose tasks are being polled on this thread, the innermost last.
    static ENTERED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Puts the log of one run into its trace.
#[derive(Debug)]
pub struct Logs {
    trace: Trace,
    /// The names of the processes so far; a span's id is its place, from 1.
    names: Mutex<Vec<Arc<str>>>,
}

/// The span that a process called `name` is polled in.
pub fn span(name: &str) -> tracing::Span {
    tracing::error_span!("process", name)
}

impl Logs {
    /// Logs into `trace`.
    pub fn new(trace: Trace) -> Self {
        Self {
            trace,
            names: Mutex::default(),
        }
    }

    fn who(&self) -> Arc<str> {
        let innermost = ENTERED.with_borrow(|entered| entered.last().copied());
        let names = self.names.lock();
        let index = innermost.and_then(|id| usize::try_from(id).ok()?.checked_sub(1));
        let name = index.and_then(|index| names.get(index));
        name.cloned().unwrap_or_else(|| "nobody".into())
    }
}

impl Subscriber for Logs {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let ours = metadata.target().starts_with("windlass") || metadata.target() == "plugin";
        if metadata.is_span() {
            return metadata.name() == PROCESS;
        }
        *metadata.level() <= if ours { Level::INFO } else { Level::ERROR }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::INFO)
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields::default();
        span.record(&mut fields);
        let name = fields.0.into_iter().next().map(|(_, name)| name);
        let mut names = self.names.lock();
        names.push(name.unwrap_or_default().into());
        Id::from_u64(names.len() as u64)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let at = fields.0.iter().position(|(name, _)| *name == "message");
        let message = at.map(|at| fields.0.remove(at).1).unwrap_or_default();
        let log = Log {
            level: *event.metadata().level(),
            target: event.metadata().target(),
            message,
            fields: fields.0,
        };
        self.trace.add(&self.who(), What::Log(log));
    }

    fn enter(&self, id: &Id) {
        ENTERED.with_borrow_mut(|entered| entered.push(id.into_u64()));
    }

    fn exit(&self, _: &Id) {
        ENTERED.with_borrow_mut(Vec::pop);
    }
}

#[derive(Default)]
struct Fields(Vec<(&'static str, String)>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push((field.name(), format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push((field.name(), value.to_owned()));
    }
}
