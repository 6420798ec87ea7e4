//! Why a component cannot be fetched: pure.

use std::time::Duration;

use windlass_registry::Error;

use super::{AGAIN, Retry};

/// A server that wants to be left alone is asked again after this at the latest.
const LONGEST_PAUSE: Duration = Duration::from_secs(600);

/// Why a component cannot be fetched.
#[derive(Debug)]
pub(in crate::hosting) struct FetchProblem {
    kind: FetchProblemKind,
    /// What a person needs to fix it.
    pub(in crate::hosting) text: String,
    /// How long the server wants to be left alone.
    pause: Option<Duration>,
}

/// What kind of problem it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FetchProblemKind {
    /// What the document says cannot be.
    Invalid,
    /// It is not there.
    Absent,
    /// The credentials are missing or wrong.
    Unauthorized,
    /// The host, or who installs the plugin, may not have it.
    Denied,
    /// Nobody answers.
    Unavailable,
    /// What is there is not a component, or not the one that is asked for.
    Refused,
    /// It is at an address where nothing is fetched from.
    Forbidden,
    /// It is larger than a component may be.
    TooLarge,
}

impl FetchProblem {
    fn new(kind: FetchProblemKind, text: String) -> Self {
        Self {
            kind,
            text,
            pause: None,
        }
    }

    /// It is not there.
    pub(in crate::hosting) fn absent(text: String) -> Self {
        Self::new(FetchProblemKind::Absent, text)
    }

    /// The credentials are missing or wrong.
    pub(in crate::hosting) fn credentials(text: String) -> Self {
        Self::new(FetchProblemKind::Unauthorized, text)
    }

    /// The API server gives no answer that helps.
    pub(in crate::hosting) fn unanswered(text: String) -> Self {
        Self::new(FetchProblemKind::Unavailable, text)
    }

    /// What is there is not a component, or not the one that is asked for.
    pub(in crate::hosting) fn refused(text: String) -> Self {
        Self::new(FetchProblemKind::Refused, text)
    }

    /// The plugin may not have it.
    pub(in crate::hosting) fn withheld(text: String) -> Self {
        Self::new(FetchProblemKind::Denied, text)
    }

    /// The same, for somebody who may not know what is there.
    pub(in crate::hosting) fn hidden(self, text: String) -> Self {
        let kind = match self.kind {
            FetchProblemKind::Unavailable => FetchProblemKind::Unavailable,
            _ => FetchProblemKind::Denied,
        };
        Self { kind, text, ..self }
    }

    /// Whether nobody gives a whole answer.
    pub(in crate::hosting) fn is_unavailable(&self) -> bool {
        self.kind == FetchProblemKind::Unavailable
    }

    /// When it is tried again. What has a digest stays as it is.
    pub(super) fn retry(&self, is_pinned: bool) -> Retry {
        match self.kind {
            FetchProblemKind::Invalid => Retry::OnChange,
            FetchProblemKind::Refused | FetchProblemKind::TooLarge if is_pinned => Retry::OnChange,
            FetchProblemKind::Absent
            | FetchProblemKind::Unauthorized
            | FetchProblemKind::Denied
            | FetchProblemKind::Unavailable
            | FetchProblemKind::Refused
            | FetchProblemKind::Forbidden
            | FetchProblemKind::TooLarge => {
                let pause = self.pause.unwrap_or_default();
                Retry::After(pause.clamp(AGAIN, LONGEST_PAUSE))
            }
        }
    }

    /// The reason of the condition.
    pub(super) fn reason(&self) -> &'static str {
        match self.kind {
            FetchProblemKind::Invalid => "SourceInvalid",
            FetchProblemKind::Absent => "SourceNotFound",
            FetchProblemKind::Unauthorized => "SourceUnauthorized",
            FetchProblemKind::Denied => "SourceDenied",
            FetchProblemKind::Unavailable => "SourceUnavailable",
            FetchProblemKind::Refused => "SourceRefused",
            FetchProblemKind::Forbidden => "SourceForbidden",
            FetchProblemKind::TooLarge => "SourceTooLarge",
        }
    }
}

impl From<Error> for FetchProblem {
    fn from(error: Error) -> Self {
        let kind = match &error {
            Error::Invalid(_) => FetchProblemKind::Invalid,
            Error::NotFound { .. } => FetchProblemKind::Absent,
            Error::Unauthorized { .. } => FetchProblemKind::Unauthorized,
            Error::Denied { .. } => FetchProblemKind::Denied,
            Error::Unavailable { .. } => FetchProblemKind::Unavailable,
            Error::Refused { .. } => FetchProblemKind::Refused,
            Error::Unreachable { .. } => FetchProblemKind::Forbidden,
            Error::TooLarge { .. } => FetchProblemKind::TooLarge,
        };
        let pause = match &error {
            Error::Unavailable { retry_after, .. } => *retry_after,
            _ => None,
        };
        Self {
            pause,
            ..Self::new(kind, error.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_pass_is_tried_again() {
        let seconds = Duration::from_secs;
        let unavailable = |pause| Error::Unavailable {
            reference: "r".into(),
            reason: "x".into(),
            retry_after: pause,
        };
        let refused = || Error::Refused {
            reference: "r".into(),
            reason: "x".into(),
        };
        let rows = [
            (unavailable(None), true, Retry::After(AGAIN)),
            (
                unavailable(Some(seconds(60))),
                true,
                Retry::After(seconds(60)),
            ),
            (
                unavailable(Some(seconds(9999))),
                false,
                Retry::After(LONGEST_PAUSE),
            ),
            (refused(), true, Retry::OnChange),
            (refused(), false, Retry::After(AGAIN)),
            (Error::Invalid("x".into()), false, Retry::OnChange),
        ];
        for (error, is_pinned, want) in rows {
            let told = error.to_string();
            assert_eq!(FetchProblem::from(error).retry(is_pinned), want, "{told}");
        }
    }
}
