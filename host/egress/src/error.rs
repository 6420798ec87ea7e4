//! Why a request has no answer: one word for the guest, and a reason for the operator.

/// What the guest learns.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No rule allows it, or the origin leads to an address that is forbidden.
    #[error("denied")]
    Denied,
    /// Too slow.
    #[error("timed out")]
    Timeout,
    /// There is no connection, or it broke.
    #[error("unavailable")]
    Unavailable,
    /// The request or the answer is larger than the limits.
    #[error("too large")]
    TooLarge,
    /// This cannot be sent. The text is for people.
    #[error("invalid request: {0}")]
    Invalid(String),
    /// Anything else. The text is for people.
    #[error("{0}")]
    Other(String),
}

impl Error {
    /// Names the error in metrics.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::Timeout => "timeout",
            Self::Unavailable => "unavailable",
            Self::TooLarge => "too_large",
            Self::Invalid(_) => "invalid",
            Self::Other(_) => "other",
        }
    }
}

/// Whether bytes of a request can have reached the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// Certainly not.
    No,
    /// Some or all of them may have: the other side may have acted.
    Maybe,
}

/// A request without an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Failure {
    /// What the guest learns.
    pub error: Error,
    /// What the operator reads. It holds no secret.
    pub reason: String,
    /// Whether the other side may have acted on it.
    pub sent: Sent,
}

impl Failure {
    /// A request that the host does not let through, for a reason of its own.
    pub fn refused(reason: impl Into<String>) -> Self {
        Self::denied(reason)
    }

    /// A request for which the host cannot read what its rule names.
    pub fn unreadable(reason: impl Into<String>) -> Self {
        let text = "the host cannot read what the rule names";
        Self::unsent(Error::Other(text.to_owned()), reason)
    }

    /// A request that was not sent.
    pub(crate) fn unsent(error: Error, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self {
            error,
            reason,
            sent: Sent::No,
        }
    }

    /// A request that no rule and no address check lets through.
    pub(crate) fn denied(reason: impl Into<String>) -> Self {
        Self::unsent(Error::Denied, reason)
    }

    /// A request that cannot be sent. The guest reads the same text as the operator.
    pub(crate) fn invalid(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::unsent(Error::Invalid(text.clone()), text)
    }
}

/// An error with its causes.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.ends_with(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    text
}
