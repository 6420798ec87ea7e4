//! What is wrong with a run, judged by what really happened at the server.

mod stable;

use std::fmt::{self, Display, Formatter};

use crate::run::Evidence;

/// Something that is wrong with a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Which property does not hold: `O4 stable`.
    pub check: &'static str,
    /// How that shows.
    pub text: String,
}

/// Everything that is wrong with a run by itself.
pub fn judge(evidence: &Evidence) -> Vec<Failure> {
    let mut failures = Vec::new();
    failures.extend(stable::writes_after_rest(evidence));
    failures
}

impl Failure {
    pub(crate) fn new(check: &'static str, text: impl Into<String>) -> Self {
        Self {
            check,
            text: text.into(),
        }
    }
}

impl Display for Failure {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.check, self.text)
    }
}
