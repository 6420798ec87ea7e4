//! A call to the cluster that failed, and why.

use std::fmt;

/// A call to the cluster that was not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What to decide by.
    pub code: Code,
    /// What was tried, for people: `apply ConfigMap/default/ada`.
    pub call: String,
    /// Who refused the call, and why: for `Denied`, `Conflict`, `Invalid` and `Other`.
    pub status: Option<Box<Status>>,
}

/// Who refused a call, and why: for conditions, and for the few cases in which a plugin must know more than the
/// [`Code`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The HTTP status code of the API server: 403, 409, 422. It is 0 if the host refused the call.
    pub code: u16,
    /// The API server's reason, in CamelCase: `AlreadyExists`. It can be empty.
    pub reason: String,
    /// What is wrong, for people: the API server's message, or the host's.
    pub message: String,
    /// What the API server names as causes: fields such as `spec.replicas`, or words such as `NamespaceTerminating`.
    pub causes: Vec<String>,
}

/// Why a call failed, as far as a plugin can act on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Code {
    /// No such object, namespace or kind.
    NotFound,
    /// A grant or a role is missing.
    Denied,
    /// Somebody else was first. Read and decide again, best in the next pass.
    Conflict,
    /// The request or the object is wrong.
    Invalid(String),
    /// The primary is being deleted or was replaced, or the namespace is terminating.
    Gone,
    /// May work later; a write may have been carried out nevertheless.
    Unavailable,
    /// Anything else.
    Other(String),
}

impl Error {
    /// That `call` was not carried out because of `code`.
    pub fn new(call: impl Into<String>, code: Code) -> Self {
        Self {
            code,
            call: call.into(),
            status: None,
        }
    }

    /// Whether there is no such object, namespace or kind.
    pub fn is_not_found(&self) -> bool {
        self.code == Code::NotFound
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}: ", self.call)?;
        match (&self.code, self.status.as_deref()) {
            (Code::Denied | Code::Conflict, Some(status)) if !status.message.is_empty() => {
                write!(f, "{}: {}", self.code, status.message)
            }
            (Code::Other(_), Some(status)) if status.code != 0 => {
                let Status {
                    code,
                    reason,
                    message,
                    ..
                } = status;
                let space = if reason.is_empty() { "" } else { " " };
                write!(f, "API server answered {code}{space}{reason}: {message}")
            }
            (code, _) => write!(f, "{code}"),
        }
    }
}

impl std::error::Error for Error {}

/// A set that failed in part. The children that it names failed, and every other child was applied. Nothing was
/// deleted, unless the error is about a delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetError {
    /// What failed.
    pub failures: Vec<SetFailure>,
}

/// What went wrong in a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetFailure {
    /// Which of the given children, from 0; none for the set as a whole, or for a former child that could
    /// not be deleted.
    pub index: Option<usize>,
    /// What was wrong with it.
    pub error: Error,
}

impl SetError {
    /// That the set was not applied at all.
    pub(crate) fn whole(error: Error) -> Self {
        Self {
            failures: vec![SetFailure { index: None, error }],
        }
    }
}

impl fmt::Display for SetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, failure) in self.failures.iter().enumerate() {
            let before = if at == 0 { "" } else { "; " };
            write!(f, "{before}{}", failure.error)?;
        }
        Ok(())
    }
}

impl std::error::Error for SetError {}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotFound => "not found",
            Self::Denied => "denied",
            Self::Conflict => "somebody else was first",
            Self::Invalid(text) | Self::Other(text) => text,
            Self::Gone => "what it belongs to is going away",
            Self::Unavailable => "the API server is not available",
        })
    }
}

/// Adds to a bare code what was tried.
pub(crate) trait Context<T> {
    /// Names the call that failed.
    fn doing(self, call: impl FnOnce() -> String) -> Result<T, Error>;
}

impl<T> Context<T> for Result<T, Refused> {
    fn doing(self, call: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|Refused { code, status }| Error {
            status,
            ..Error::new(call(), code)
        })
    }
}

/// What the host answers to a call that it does not carry out.
pub(crate) struct Refused {
    pub(crate) code: Code,
    pub(crate) status: Option<Box<Status>>,
}

impl From<Code> for Refused {
    fn from(code: Code) -> Self {
        Self { code, status: None }
    }
}

impl<T> Context<T> for Result<T, Code> {
    fn doing(self, call: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|code| Error::new(call(), code))
    }
}
