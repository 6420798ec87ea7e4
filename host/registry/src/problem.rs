//! A problem before it is told to which reference it belongs.

use std::time::Duration;

use crate::error::Error;

/// What is wrong, with the reason for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    Invalid(String),
    NotFound(String),
    Unauthorized(String),
    Denied(String),
    Unavailable(String, Option<Duration>),
    Refused(String),
    Unreachable(String),
    TooLarge(String),
}

impl Problem {
    /// Something that a later try may find otherwise.
    pub(crate) fn unavailable(reason: impl Into<String>) -> Self {
        Self::Unavailable(reason.into(), None)
    }

    /// The error of a call for `reference`.
    pub(crate) fn at(self, reference: &impl ToString) -> Error {
        let reference = reference.to_string();
        match self {
            Self::Invalid(reason) => Error::Invalid(format!("{reference}: {reason}")),
            Self::NotFound(reason) => Error::NotFound { reference, reason },
            Self::Unauthorized(reason) => Error::Unauthorized { reference, reason },
            Self::Denied(reason) => Error::Denied { reference, reason },
            Self::Unavailable(reason, retry_after) => Error::Unavailable {
                reference,
                reason,
                retry_after,
            },
            Self::Refused(reason) => Error::Refused { reference, reason },
            Self::Unreachable(reason) => Error::Unreachable { reference, reason },
            Self::TooLarge(reason) => Error::TooLarge { reference, reason },
        }
    }
}
