//! What the host logs, kept for tests to look at.

use std::fmt::Debug;
use std::sync::Once;

use parking_lot::Mutex;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// One line.
#[derive(Clone, Debug)]
pub struct Line {
    /// How much it matters.
    pub level: Level,
    /// `plugin` if the guest wrote it, otherwise the host's module.
    pub target: String,
    /// Which plugin it is about.
    pub plugin: String,
    /// Which primary it is about: `Greeting/default/ada`.
    pub object: String,
    /// The sentence.
    pub message: String,
    /// What a guest wrote beside it: `key="value"`.
    pub fields: String,
}

static LINES: Mutex<Vec<Line>> = Mutex::new(Vec::new());

/// Keeps every line from now on, for the whole process.
pub fn keep() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // If another task was faster, lines go elsewhere, and tests that look for them fail.
        let _ = tracing_subscriber::registry().with(Keep).try_init();
    });
}

/// The lines about a primary. Tests run at once: each has primaries of its own.
pub fn about(object: &str) -> Vec<Line> {
    let lines = LINES.lock();
    let about = lines.iter().filter(|line| line.object == object);
    about.cloned().collect()
}

struct Keep;

impl<S: Subscriber> Layer<S> for Keep {
    fn enabled(&self, metadata: &tracing::Metadata<'_>, _: Context<'_, S>) -> bool {
        metadata.target() == "plugin" || metadata.target().starts_with("windlass_")
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut line = Line {
            level: *event.metadata().level(),
            target: event.metadata().target().to_owned(),
            plugin: String::new(),
            object: String::new(),
            message: String::new(),
            fields: String::new(),
        };
        event.record(&mut line);
        LINES.lock().push(line);
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.message = format!("{value:?}");
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "plugin" => self.plugin = value.to_owned(),
            "object" => self.object = value.to_owned(),
            "message" => self.message = value.to_owned(),
            "fields" => self.fields = value.to_owned(),
            _ => {}
        }
    }
}
