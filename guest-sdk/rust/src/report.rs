//! What a plugin tells people: Events and log lines.

use crate::query::ObjectRef;

/// One thing worth telling about the primary, or about something else with [`Event::about`].
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
    /// What was done or tried, likewise: `CreateChild`.
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

/// How much a log line matters, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Every step.
    Trace,
    /// For whoever hunts a bug.
    Debug,
    /// For whoever runs the plugin.
    Info,
    /// Wrong, but handled.
    Warn,
    /// Somebody must act.
    Error,
}
