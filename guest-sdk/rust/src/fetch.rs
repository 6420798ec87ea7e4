//! HTTP requests to servers outside the cluster.

use std::fmt;
use std::time::Duration;

use crate::answer::Failure;

/// What to send: a request of the crate `http`, with a whole body.
pub type FetchRequest = http::Request<Vec<u8>>;

/// The answer of the server: a response of the crate `http`, with a whole body.
pub type FetchResponse = http::Response<Vec<u8>>;

/// How to send a request. The default is without a Secret, and for as long as the call may take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FetchOptions {
    /// The longest time for the whole exchange.
    pub timeout: Option<Duration>,
    /// A Secret in the namespace of the primary that the host uses, if the document allows it with `credentials`. The
    /// annotation `windlass.dev/origins` of the Secret must name the origin.
    pub credential: Option<String>,
}

/// A request without an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchError {
    /// What to decide by.
    pub code: FetchCode,
    /// What was tried, for people: `GET https://api.example.com/v1`.
    pub call: String,
}

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FetchCode {
    /// No rule of the document allows it, or the origin leads to an address that none allows.
    Denied,
    /// Too slow. The server may have acted on it.
    Timeout,
    /// There is no connection, or it broke. The server may have acted on it.
    Unavailable,
    /// The request or the answer is larger than the limits.
    TooLarge,
    /// This request cannot be sent.
    Invalid(String),
    /// Anything else.
    Other(String),
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}: {}", self.call, self.code)
    }
}

impl std::error::Error for FetchError {}

impl fmt::Display for FetchCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Denied => {
                "the operator does not allow this request, its origin leads to an address that is not allowed, or the Secret that was chosen does not name the origin in its annotation windlass.dev/origins (`windlass why` has the reason)"
            }
            Self::Timeout => "too slow; the server may have acted on it",
            Self::Unavailable => {
                "there is no connection, or it broke; the server may have acted on it"
            }
            Self::TooLarge => "the request or the answer is too large",
            Self::Invalid(text) | Self::Other(text) => text,
        })
    }
}

/// Terminal only if the request is invalid: all others can end without anything changing that this call has read.
impl From<FetchError> for Failure {
    fn from(error: FetchError) -> Self {
        match error.code {
            FetchCode::Invalid(_) => Self::Terminal(error.to_string()),
            FetchCode::Denied
            | FetchCode::Timeout
            | FetchCode::Unavailable
            | FetchCode::TooLarge
            | FetchCode::Other(_) => Self::Transient(error.to_string()),
        }
    }
}
