//! Errors of the contract that carry a refusal: the API server's, or the host's own.

use super::bindings::cluster::{Error, Refusal};

/// The reason of an error about a kind that is not served.
const NO_KIND_MATCH: &str = "NoKindMatch";

impl Error {
    /// A grant is missing.
    pub(super) fn denied(message: impl Into<String>) -> Self {
        Self::Denied(by_host(message))
    }

    /// Somebody else was first.
    pub(super) fn conflict(message: impl Into<String>) -> Self {
        Self::Conflict(by_host(message))
    }

    /// The request or the object is wrong.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid(by_host(message))
    }

    /// Anything else.
    pub(super) fn other(message: impl Into<String>) -> Self {
        Self::Other(by_host(message))
    }

    /// The cluster does not serve `kind`, or not now: nobody knows whether the object is there. The reason is the name of
    /// the error in controller-runtime.
    pub(super) fn not_served(kind: &str) -> Self {
        Self::Other(Refusal {
            code: 404,
            reason: NO_KIND_MATCH.into(),
            message: format!("the cluster does not serve {kind}"),
            causes: Vec::new(),
        })
    }

    /// Whether the cluster does not serve the kind.
    pub(super) fn is_not_served(&self) -> bool {
        matches!(self, Self::Other(refusal) if refusal.reason == NO_KIND_MATCH)
    }

    /// Its word in the contract.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::NotFound => "not-found",
            Self::Denied(_) => "denied",
            Self::Conflict(_) => "conflict",
            Self::Invalid(_) => "invalid",
            Self::Gone => "gone",
            Self::Unavailable => "unavailable",
            Self::Other(_) => "other",
        }
    }

    /// Who refused it, and why, if it says so.
    pub(super) fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Denied(refusal)
            | Self::Conflict(refusal)
            | Self::Invalid(refusal)
            | Self::Other(refusal) => Some(refusal),
            Self::NotFound | Self::Gone | Self::Unavailable => None,
        }
    }

    /// The error with this word; none if no error has it.
    pub(super) fn of_word(word: &str, refusal: Refusal) -> Option<Self> {
        Some(match word {
            "not-found" => Self::NotFound,
            "denied" => Self::Denied(refusal),
            "conflict" => Self::Conflict(refusal),
            "invalid" => Self::Invalid(refusal),
            "gone" => Self::Gone,
            "unavailable" => Self::Unavailable,
            "other" => Self::Other(refusal),
            _ => return None,
        })
    }
}

/// The host itself refused the call.
fn by_host(message: impl Into<String>) -> Refusal {
    Refusal {
        code: 0,
        reason: String::new(),
        message: message.into(),
        causes: Vec::new(),
    }
}
