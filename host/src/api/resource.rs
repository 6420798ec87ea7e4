//! Resources of the API, and the paths of their objects.
//!
//! - A path is built from checked names only: what a guest says never becomes a path as it is.

use std::fmt;

/// A resource that the API server serves.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resource {
    /// `apps`, or empty for the core group.
    pub group: String,
    /// `v1`.
    pub version: String,
    /// `Deployment`.
    pub kind: String,
    /// `deployments`.
    pub plural: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
}

/// A name that cannot stand in a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a valid name: it must not be empty, `.` or `..`, nor contain `/`, `%` or control characters"
)]
pub struct BadName(String);

impl Resource {
    /// `apps/v1`, or `v1` for the core group.
    pub fn api_version(&self) -> String {
        match self.group.as_str() {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// The path of the collection, or of the object called `name`, or of its `subresource`.
    ///
    /// # Errors
    /// A name that cannot stand in a path.
    pub fn path(
        &self,
        namespace: Option<&str>,
        name: Option<&str>,
        subresource: Option<&str>,
    ) -> Result<String, BadName> {
        let mut path = api_path(&self.api_version());
        let pieces = [
            namespace.filter(|_| self.namespaced).map(|_| "namespaces"),
            namespace.filter(|_| self.namespaced),
            Some(self.plural.as_str()),
            name,
            subresource,
        ];
        for piece in pieces.into_iter().flatten() {
            path.push('/');
            path.push_str(segment(piece)?);
        }
        Ok(path)
    }
}

/// `deployments.apps`, as kubectl and RBAC messages write it.
impl fmt::Display for Resource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.group.as_str() {
            "" => write!(out, "{}", self.plural),
            group => write!(out, "{}.{group}", self.plural),
        }
    }
}

/// `/api/v1` or `/apis/apps/v1`.
pub fn api_path(api_version: &str) -> String {
    if api_version.contains('/') {
        format!("/apis/{api_version}")
    } else {
        format!("/api/{api_version}")
    }
}

/// The group in `apps/v1`; empty in `v1`.
pub fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// `name`, if it can stand in a path: Kubernetes' own rule (apimachinery `IsValidPathSegmentName`), and none that
/// would need escaping.
pub fn segment(name: &str) -> Result<&str, BadName> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._:~@".contains(c);
    if name.is_empty()
        || name == "."
        || name == ".."
        || name.len() > 253
        || !name.chars().all(plain)
    {
        return Err(BadName(name.chars().take(100).collect()));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployments() -> Resource {
        Resource {
            group: "apps".into(),
            version: "v1".into(),
            kind: "Deployment".into(),
            plural: "deployments".into(),
            namespaced: true,
        }
    }

    #[test]
    fn paths_are_kubernetes_paths() {
        let path = deployments()
            .path(Some("shop"), Some("web"), Some("status"))
            .unwrap();
        assert_eq!(path, "/apis/apps/v1/namespaces/shop/deployments/web/status");
        assert_eq!(
            deployments().path(None, None, None).unwrap(),
            "/apis/apps/v1/deployments"
        );
        let nodes = Resource {
            group: String::new(),
            plural: "nodes".into(),
            namespaced: false,
            ..deployments()
        };
        assert_eq!(
            nodes.path(Some("ignored"), Some("a"), None).unwrap(),
            "/api/v1/nodes/a"
        );
    }

    #[test]
    fn no_name_leads_out_of_its_place() {
        for name in [
            "", ".", "..", "a/b", "a%2fb", "a?b", "a#b", "a\nb", "a b", "é",
        ] {
            assert!(
                deployments().path(Some("shop"), Some(name), None).is_err(),
                "{name:?}"
            );
            assert!(
                deployments().path(Some(name), None, None).is_err(),
                "{name:?}"
            );
        }
        assert!(
            deployments()
                .path(None, Some("system:node.a-b"), None)
                .is_ok()
        );
    }
}
