//! What a plugin tells people: Events, log lines and metrics.

use crate::query::ObjectRef;

/// An Event about the primary, or about another object with [`Event::about`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What it is about. None is the primary.
    pub regarding: Option<ObjectRef>,
    /// A second object that plays a part in it.
    pub related: Option<ObjectRef>,
    /// How it is shown.
    pub severity: Severity,
    /// Why, in CamelCase and from a small fixed set: `QuotaExceeded`.
    pub reason: String,
    /// What was done or tried, also in CamelCase: `CreateChild`.
    pub action: String,
    /// A sentence for people.
    pub note: String,
}

/// How an Event is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Good to know.
    Normal,
    /// Somebody should look.
    Warning,
}

impl Event {
    /// Something good to know.
    pub fn normal(reason: &str, action: &str, note: impl Into<String>) -> Self {
        Self::new(Severity::Normal, reason, action, note.into())
    }

    /// Something that somebody should look at.
    pub fn warning(reason: &str, action: &str, note: impl Into<String>) -> Self {
        Self::new(Severity::Warning, reason, action, note.into())
    }

    /// The same about another object than the primary.
    #[must_use]
    pub fn about(mut self, regarding: ObjectRef) -> Self {
        self.regarding = Some(regarding);
        self
    }

    fn new(severity: Severity, reason: &str, action: &str, note: String) -> Self {
        Self {
            regarding: None,
            related: None,
            severity,
            reason: reason.to_owned(),
            action: action.to_owned(),
            note,
        }
    }
}

/// A metric of the plugin, on `/metrics` of the host.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// Letters, digits and `_`, with a letter first: `mails_sent`.
    pub name: String,
    /// Its labels: few values, never the name of an object.
    pub labels: Vec<(String, String)>,
    /// How it changes.
    pub measure: Measure,
}

/// How a metric changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measure {
    /// It is added to a counter.
    Add(f64),
    /// A gauge is set to it.
    Set(f64),
    /// It is counted in a histogram.
    Observe(f64),
}

impl Metric {
    /// Adds one to a counter.
    pub fn count(name: &str) -> Self {
        Self::new(name, Measure::Add(1.0))
    }

    /// Sets a gauge.
    pub fn gauge(name: &str, to: f64) -> Self {
        Self::new(name, Measure::Set(to))
    }

    /// Counts a value in a histogram, such as of seconds.
    pub fn observe(name: &str, value: f64) -> Self {
        Self::new(name, Measure::Observe(value))
    }

    /// Adds a label.
    #[must_use]
    pub fn label(mut self, name: &str, value: impl Into<String>) -> Self {
        self.labels.push((name.to_owned(), value.into()));
        self
    }

    fn new(name: &str, measure: Measure) -> Self {
        Self {
            name: name.to_owned(),
            labels: Vec::new(),
            measure,
        }
    }
}

/// How much a log line matters, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Every step.
    Trace,
    /// For somebody who looks for a bug.
    Debug,
    /// For the operator of the plugin.
    Info,
    /// Wrong, but handled.
    Warn,
    /// Somebody must act.
    Error,
}
