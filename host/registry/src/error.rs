//! Why there is no artifact. Each variant is one decision of the caller.

use std::time::Duration;

/// Why a pull or a push failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The reference or a setting cannot be used. Somebody has to correct it.
    #[error("{0}")]
    Invalid(String),
    /// There is no such repository, tag or digest. It may come.
    #[error("{reference} is not found: {reason}")]
    NotFound {
        /// What was asked for.
        reference: String,
        /// What is missing, and what to do.
        reason: String,
    },
    /// The registry wants credentials, or does not accept these.
    #[error("{reference} needs other credentials: {reason}")]
    Unauthorized {
        /// What was asked for.
        reference: String,
        /// What the registry says, and what to do.
        reason: String,
    },
    /// The registry knows who asks, and does not allow it.
    #[error("{reference} is denied: {reason}")]
    Denied {
        /// What was asked for.
        reference: String,
        /// What the registry says, and what to do.
        reason: String,
    },
    /// There is no whole answer now. Try again.
    #[error("{reference} is unavailable: {reason}; try again later")]
    Unavailable {
        /// What was asked for.
        reference: String,
        /// What happened.
        reason: String,
        /// How long the registry wants to be left alone, if it says so.
        retry_after: Option<Duration>,
    },
    /// The artifact is forged, or is not a plugin. The same digest stays so.
    #[error("{reference} is refused: {reason}")]
    Refused {
        /// What was asked for.
        reference: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// A host leads to an address that is forbidden.
    #[error("{reference} leads to a forbidden address: {reason}")]
    Unreachable {
        /// What was asked for.
        reference: String,
        /// Which host and address, and which setting allows it.
        reason: String,
    },
    /// A part is larger than the limits.
    #[error("{reference} is too large: {reason}")]
    TooLarge {
        /// What was asked for.
        reference: String,
        /// Which part, and the limit.
        reason: String,
    },
}

impl Error {
    /// Whether the same call can succeed later although nobody changes anything here.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Unavailable { .. } | Self::NotFound { .. } => true,
            Self::Invalid(_)
            | Self::Unauthorized { .. }
            | Self::Denied { .. }
            | Self::Refused { .. }
            | Self::Unreachable { .. }
            | Self::TooLarge { .. } => false,
        }
    }
}
