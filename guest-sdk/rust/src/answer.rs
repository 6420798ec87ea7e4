//! The answer of a reconciler: how the call went, and when to call again.

use std::fmt;
use std::time::Duration;

use crate::bindings::windlass::plugin::types as wit;
use crate::failed::{Code, Error, SetError};

/// When to call again if nothing changes first. A change of something that was read leads to an earlier call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Only when something changes.
    AwaitChange,
    /// After this long at the latest.
    RequeueAfter(Duration),
}

/// How far the clean-up has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Nothing is left to undo.
    Done,
    /// Waiting for something else; call again after this long, or when something that was read
    /// changes.
    Pending(Duration),
}

/// A failure that the reconciler reports, with a text for people.
///
/// `?` makes these failures:
///
/// - JSON that does not fit its type is terminal, since the same text does not fit the next time either.
/// - [`Code::Invalid`] is terminal.
/// - All other cluster errors are transient, also [`Code::Denied`]. They can end although nothing changes that this
///   call has read: an administrator adds a role, or a namespace is created. A terminal failure would not notice that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// May work later: the host calls again with growing delays.
    Transient(String),
    /// Will not work until the object, or something that this call read, changes.
    Terminal(String),
}

impl Failure {
    /// A failure that may go away by itself.
    pub fn transient(text: impl Into<String>) -> Self {
        Self::Transient(text.into())
    }

    /// A failure that stays until somebody changes something.
    pub fn terminal(text: impl Into<String>) -> Self {
        Self::Terminal(text.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transient(text) | Self::Terminal(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Failure {}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::Terminal(error.to_string())
    }
}

/// A request that cannot be made, such as one with a wrong URL, never can.
impl From<http::Error> for Failure {
    fn from(error: http::Error) -> Self {
        Self::Terminal(error.to_string())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error.code {
            Code::Invalid(_) => Self::Terminal(error.to_string()),
            Code::NotFound
            | Code::Denied
            | Code::Conflict
            | Code::Gone
            | Code::Unavailable
            | Code::Other(_) => Self::Transient(error.to_string()),
        }
    }
}

impl From<SetError> for Failure {
    /// Terminal only if every part is terminal.
    fn from(error: SetError) -> Self {
        let text = error.to_string();
        let mut parts = error
            .failures
            .into_iter()
            .map(|part| Self::from(part.error));
        if parts.all(|part| matches!(part, Self::Terminal(_))) {
            Self::Terminal(text)
        } else {
            Self::Transient(text)
        }
    }
}

/// Milliseconds as the contract counts them; what does not fit becomes the longest wait.
fn millis(wait: Duration) -> u32 {
    u32::try_from(wait.as_millis()).unwrap_or(u32::MAX)
}

impl From<Action> for wit::Action {
    fn from(action: Action) -> Self {
        match action {
            Action::AwaitChange => Self::AwaitChange,
            Action::RequeueAfter(wait) => Self::RequeueAfter(millis(wait)),
        }
    }
}

impl From<Progress> for wit::Progress {
    fn from(progress: Progress) -> Self {
        match progress {
            Progress::Done => Self::Done,
            Progress::Pending(wait) => Self::Pending(millis(wait)),
        }
    }
}

impl From<Failure> for wit::Failure {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Transient(text) => Self::Transient(text),
            Failure::Terminal(text) => Self::Terminal(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_invalid_request_is_terminal() {
        let failure = |code| Failure::from(Error::new("apply ConfigMap/default/a", code));
        for code in [
            Code::NotFound,
            Code::Denied,
            Code::Conflict,
            Code::Gone,
            Code::Unavailable,
            Code::Other("x".into()),
        ] {
            assert!(matches!(failure(code), Failure::Transient(_)));
        }
        assert_eq!(
            failure(Code::Invalid("spec.replicas: not a number".into())),
            Failure::terminal("cannot apply ConfigMap/default/a: spec.replicas: not a number"),
        );
    }

    #[test]
    fn a_wait_too_long_for_the_contract_is_the_longest_one() {
        assert_eq!(millis(Duration::from_millis(1500)), 1500);
        assert_eq!(millis(Duration::MAX), u32::MAX);
    }
}
