//! Resources of the API, and the paths of their objects.
//!
//! - A path is built from checked names only, each percent-encoded: what a guest says never becomes a path as it is.

use std::borrow::Cow;
use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The longest name in bytes. Kubernetes has no limit for kinds whose names only have to fit into a path, such as
/// ClusterRole; those of all other kinds have at most 253.
const LONGEST_NAME: usize = 1024;

/// What is percent-encoded in a path.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b':')
    .remove(b'~')
    .remove(b'@');

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
#[error("{name:?} is not a valid name: {why}")]
pub struct BadName {
    /// Its beginning.
    name: String,
    why: &'static str,
}

impl Resource {
    /// Secrets or ConfigMaps, which requests are filled with.
    pub fn of_source(kind: &str) -> Self {
        Self {
            group: String::new(),
            version: "v1".to_owned(),
            kind: kind.to_owned(),
            plural: format!("{}s", kind.to_lowercase()),
            namespaced: true,
        }
    }

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
            path.push_str(&segment(piece)?);
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

/// `name` as a segment of a path, percent-encoded. The rule is Kubernetes' own (apimachinery
/// `IsValidPathSegmentName`), with a limit to the length.
///
/// # Errors
/// It is empty, too long, `.` or `..`, or contains `/` or `%`.
pub fn segment(name: &str) -> Result<Cow<'_, str>, BadName> {
    let why = match name {
        "" => "it is empty",
        "." | ".." => "a name must not be `.` or `..`",
        name if name.contains(['/', '%']) => "a name must not contain `/` or `%`",
        name if name.len() > LONGEST_NAME => "a name has at most 1024 bytes",
        name => return Ok(utf8_percent_encode(name, ENCODED).into()),
    };
    let name = name.chars().take(100).collect();
    Err(BadName { name, why })
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
        let long = "a".repeat(LONGEST_NAME + 1);
        for name in ["", ".", "..", "a/b", "a%2fb", "../..", &long] {
            assert!(
                deployments().path(Some("shop"), Some(name), None).is_err(),
                "{name:?}"
            );
            assert!(
                deployments().path(Some(name), None, None).is_err(),
                "{name:?}"
            );
        }
        let why = segment("a/b").unwrap_err().to_string();
        assert_eq!(
            why,
            r#""a/b" is not a valid name: a name must not contain `/` or `%`"#
        );
    }

    #[test]
    fn every_name_that_the_server_accepts_is_one_segment() {
        let long = "a".repeat(LONGEST_NAME);
        for (name, want) in [
            ("web", "web"),
            ("Upper", "Upper"),
            ("system:node.a-b", "system:node.a-b"),
            ("me@example.com~1", "me@example.com~1"),
            ("with space", "with%20space"),
            ("cost$", "cost%24"),
            ("a?b#c", "a%3Fb%23c"),
            ("a+b&c=d;e", "a%2Bb%26c%3Dd%3Be"),
            ("é", "%C3%A9"),
            ("a\nb", "a%0Ab"),
            ("..a", "..a"),
            (&long, &long),
        ] {
            assert_eq!(segment(name).unwrap(), want);
            let path = deployments().path(Some("shop"), Some(name), Some("status"));
            let path = path.unwrap();
            assert_eq!(
                path,
                format!("/apis/apps/v1/namespaces/shop/deployments/{want}/status")
            );
            assert!(path.parse::<http::Uri>().is_ok(), "{path}");
        }
    }
}
