//! Why it is not known which namespaces the grants of a plugin select.

/// Why it is not known which namespaces the grants of a plugin select.
#[derive(Debug, thiserror::Error)]
pub(in super::super) enum SelectionProblem {
    /// The host may not list them.
    #[error("{0}")]
    Forbidden(String),
    /// The API server does not list them.
    #[error("{0}")]
    Unanswered(String),
}

impl SelectionProblem {
    /// The reason of the condition.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Forbidden(_) => "NamespacesForbidden",
            Self::Unanswered(_) => "NamespacesUnavailable",
        }
    }
}
