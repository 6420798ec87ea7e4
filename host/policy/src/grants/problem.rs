//! What in a grant can match nothing, or must not be there.

use std::fmt;

use super::{Grant, Namespaces, split_subresource};
use windlass_kube::selector::BadMapping;

/// What is wrong with a grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantError {
    /// Which grant.
    pub index: usize,
    /// Which of its fields: `verbs[1]`. Empty for the whole grant.
    pub field: String,
    /// What is wrong with it, and what to write.
    pub message: String,
}

/// What is wrong with some grants; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantErrors(pub Vec<GrantError>);

impl GrantError {
    /// Of a grant whose number is not known here.
    pub(super) fn new(field: &str, message: String) -> Self {
        Self {
            index: 0,
            field: field.to_owned(),
            message,
        }
    }

    /// `[1].verbs[0]`: where it is below `spec.grants`.
    pub fn path(&self) -> String {
        let dot = if self.field.is_empty() { "" } else { "." };
        format!("[{}]{dot}{}", self.index, self.field)
    }
}

/// A line for each: `[1].verbs[0]: ...`.
impl fmt::Display for GrantErrors {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, error) in self.0.iter().enumerate() {
            let line = if number == 0 { "" } else { "\n" };
            write!(out, "{line}{}: {}", error.path(), error.message)?;
        }
        Ok(())
    }
}

impl Grant {
    /// What in it can match nothing that there is, and how it should be written.
    pub(super) fn grants_nothing(&self) -> Option<GrantError> {
        let lists = [
            ("apiGroups", self.api_groups.is_empty()),
            ("resources", self.resources.is_empty()),
            ("verbs", self.verbs.is_empty()),
            (
                "namespaces",
                self.namespaces == Namespaces::Only(Vec::new()),
            ),
        ];
        if let Some((field, _)) = lists.iter().find(|(_, empty)| *empty) {
            let text = "is an empty list: that grants nothing".to_owned();
            return Some(GrantError::new(field, text));
        }
        if let Namespaces::Selected { selector, .. } = &self.namespaces
            && let Err(BadMapping { field, why }) = selector.text()
        {
            return Some(GrantError::new(&format!("namespaceSelector.{field}"), why));
        }
        let groups = self.api_groups.iter().enumerate();
        let mut groups = groups.filter(|(_, group)| group.contains('/'));
        if let Some((at, group)) = groups.next() {
            return Some(GrantError::new(
                &format!("apiGroups[{at}]"),
                format!("{group:?} has a version: write the group alone, such as apps"),
            ));
        }
        for (at, name) in self.finalizers.iter().enumerate() {
            if name != "*"
                && let Some(problem) = finalizer_problem(name)
            {
                return Some(GrantError::new(&format!("finalizers[{at}]"), problem));
            }
        }
        let upper = |name: &str| split_subresource(name).0.chars().any(char::is_uppercase);
        let mut kinds = self.resources.iter().enumerate();
        let (at, kind) = kinds.find(|(_, name)| upper(name))?;
        Some(GrantError::new(
            &format!("resources[{at}]"),
            format!(
                "{kind:?} is not a resource: write the plural in lower case, such as deployments"
            ),
        ))
    }
}

/// What is wrong with the name of a finalizer: it is `domain/name`, or one of Kubernetes' own without a domain.
pub(crate) fn finalizer_problem(name: &str) -> Option<String> {
    let (domain, word) = name.split_once('/').unwrap_or(("", name));
    if domain == "windlass.dev" || domain.ends_with(".windlass.dev") {
        return Some(format!(
            "{name:?} is the host's own: it puts it on and takes it off"
        ));
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    let is_name = !word.is_empty() && word.len() <= 63 && word.chars().all(is_plain);
    let is_domain = domain.len() <= 253 && domain.chars().all(is_plain);
    let is_known =
        !domain.is_empty() || ["foregroundDeletion", "orphan", "kubernetes"].contains(&word);
    (!is_name || !is_domain || !is_known)
        .then(|| format!("{name:?} is not the name of a finalizer, such as example.com/cleanup"))
}
