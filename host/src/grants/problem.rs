//! What in a grant can match nothing, or must not be there.

use super::{Grant, Namespaces, split_subresource};

impl Grant {
    /// What in it can match nothing that there is, and how it should be written.
    pub(super) fn grants_nothing(&self) -> Option<String> {
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
            return Some(format!("{field} is an empty list: that grants nothing"));
        }
        if let Some(group) = self.api_groups.iter().find(|group| group.contains('/')) {
            return Some(format!(
                "apiGroups: {group:?} has a version: write the group alone, such as apps"
            ));
        }
        if let Some(problem) = self
            .finalizers
            .iter()
            .find_map(|name| finalizer_problem(name))
        {
            return Some(format!("finalizers: {problem}"));
        }
        let upper = |name: &&String| split_subresource(name).0.chars().any(char::is_uppercase);
        let kind = self.resources.iter().find(upper)?;
        Some(format!(
            "resources: {kind:?} is not a resource: write the plural in lower case, such as deployments"
        ))
    }
}

/// What is wrong with the name of a finalizer: it is `domain/name`, or one of Kubernetes' own without a domain.
fn finalizer_problem(name: &str) -> Option<String> {
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
