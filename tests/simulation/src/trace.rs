//! Everything that happened in a run, in order: requests, log lines, faults, what users did.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;
use tracing::Level;

/// What happened in a run. Clones are the same trace.
#[derive(Clone, Debug)]
pub struct Trace {
    start: Instant,
    /// None if they are not kept.
    lines: Option<Arc<Mutex<Vec<Line>>>>,
}

/// One thing that happened.
#[derive(Clone, Debug)]
pub struct Line {
    /// When, since the beginning.
    pub at: Duration,
    /// Who did it: `host-1.0` for the first life of host 1.
    pub who: Arc<str>,
    /// What.
    pub what: What,
}

/// What can happen.
#[derive(Clone, Debug)]
pub enum What {
    /// A request has got its answer.
    Request {
        /// `patch`.
        verb: &'static str,
        /// Path and query.
        uri: String,
        /// The status, or why there is none.
        answer: Answer,
    },
    /// A line of the log.
    Log(Log),
    /// Somebody did something: a user, or chance.
    Deed(String),
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// With a status.
    Status(u16),
    /// The connection broke.
    Reset,
    /// Not within any patience.
    Never,
}

/// A line of the log.
#[derive(Clone, Debug)]
pub struct Log {
    /// How bad it is.
    pub level: Level,
    /// Who wrote it: `windlass_kube::lease`.
    pub target: &'static str,
    /// Its sentence.
    pub message: String,
    /// What else it says, in the order in which it says it.
    pub fields: Vec<(&'static str, String)>,
}

impl Log {
    /// What it says of `name`; empty if nothing.
    pub fn field(&self, name: &str) -> &str {
        let found = self.fields.iter().find(|(field, _)| *field == name);
        found.map_or("", |(_, value)| value.as_str())
    }
}

impl Trace {
    /// An empty trace that begins now.
    pub fn new() -> Self {
        Self {
            start: Instant::now(),
            lines: Some(Arc::default()),
        }
    }

    /// A trace that begins now and keeps nothing.
    pub fn of_nothing() -> Self {
        Self {
            start: Instant::now(),
            lines: None,
        }
    }

    /// The time since the beginning.
    pub fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Adds a line.
    pub fn add(&self, who: &Arc<str>, what: What) {
        let (at, who) = (self.now(), who.clone());
        if let Some(mut lines) = self.held() {
            lines.push(Line { at, who, what });
        }
    }

    /// Somebody did something.
    pub fn deed(&self, who: &str, deed: impl Display) {
        self.add(&who.into(), What::Deed(deed.to_string()));
    }

    /// All lines so far.
    pub fn lines(&self) -> Vec<Line> {
        self.held().map(|lines| lines.clone()).unwrap_or_default()
    }

    fn held(&self) -> Option<MutexGuard<'_, Vec<Line>>> {
        let lines = self.lines.as_ref()?;
        Some(lines.lock())
    }
}

impl Default for Trace {
    fn default() -> Self {
        Self::new()
    }
}

impl Display for Line {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{:>11.3} {:<9} ", self.at.as_secs_f64(), self.who)?;
        match &self.what {
            What::Request { verb, uri, answer } => write!(out, "{verb} {uri} -> {answer}"),
            What::Deed(deed) => write!(out, "* {deed}"),
            What::Log(log) => {
                write!(out, "{} {}: {}", log.level, log.target, log.message)?;
                let mut fields = log.fields.iter();
                fields.try_for_each(|(name, value)| write!(out, " {name}={value}"))
            }
        }
    }
}

impl Display for Answer {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(out, "{status}"),
            Self::Reset => out.write_str("reset"),
            Self::Never => out.write_str("never"),
        }
    }
}
