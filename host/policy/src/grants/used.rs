//! What of its grants a plugin has used: what it never touches, it need not be granted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;

use super::{Access, BIND, Grants};

/// The verbs by which something is watched: an informer uses all of them.
const READS: [&str; 3] = ["get", "list", "watch"];

/// A verb on a resource of a group: `("create", "", "configmaps")`.
type Use = (String, String, String);

/// What a plugin has used, in whatever version. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Used(Arc<Mutex<BTreeSet<Use>>>);

/// Verbs on a resource that a plugin may use, and never has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unused {
    /// `deployments.apps/scale`.
    pub resource: String,
    /// `delete`.
    pub verbs: Vec<String>,
}

impl Used {
    /// It was allowed `access`, and uses it.
    pub fn note(&self, access: &Access<'_>) {
        let resource = access.resource;
        let name = match access.subresource {
            Some(subresource) => format!("{}/{subresource}", resource.plural),
            None => resource.plural.clone(),
        };
        self.add(access.verb, &resource.group, &name);
    }

    /// It watches this resource.
    pub fn watches(&self, group: &str, plural: &str) {
        READS.iter().for_each(|verb| self.add(verb, group, plural));
    }

    /// The host does this for it.
    pub fn add(&self, verb: &str, group: &str, resource: &str) {
        let mut used = self.0.lock();
        used.insert((verb.to_owned(), group.to_owned(), resource.to_owned()));
    }

    /// What `grants` hold beside it. A wildcard is used if anything that it covers is.
    pub fn unused(&self, grants: &Grants) -> Vec<Unused> {
        let used = self.0.lock().clone();
        let covers = |held: &str, one: &str| held == "*" || held == one;
        let mut unused: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut note = |verb: &str, group: &str, resource: &str| {
            // Who reads an object reads its status: such a grant gives nothing more.
            if resource.contains('/') && READS.contains(&verb) {
                return;
            }
            // No import uses it: the API server asks for it when a binding is made.
            if verb == BIND {
                return;
            }
            let is_used = used.iter().any(|one| {
                covers(verb, &one.0) && covers(group, &one.1) && covers(resource, &one.2)
            });
            if !is_used {
                let verbs = unused.entry(spelled(group, resource)).or_default();
                if !verbs.iter().any(|held| held == verb) {
                    verbs.push(verb.to_owned());
                }
            }
        };
        for grant in grants.iter() {
            for group in &grant.api_groups {
                for resource in &grant.resources {
                    grant
                        .verbs
                        .iter()
                        .for_each(|verb| note(verb, group, resource));
                }
            }
        }
        let unused = unused.into_iter();
        unused
            .map(|(resource, verbs)| Unused { resource, verbs })
            .collect()
    }
}

/// `deployments.apps/scale`.
pub(super) fn spelled(group: &str, resource: &str) -> String {
    match (group, resource.split_once('/')) {
        ("", _) => resource.to_owned(),
        (group, Some((plural, subresource))) => format!("{plural}.{group}/{subresource}"),
        (group, None) => format!("{resource}.{group}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grants::Grant;

    fn grants(rows: &[(&str, &str, &[&str])]) -> Grants {
        let grants = rows.iter().map(|(group, resource, verbs)| Grant {
            api_groups: vec![(*group).to_owned()],
            resources: vec![(*resource).to_owned()],
            resource_names: Vec::new(),
            verbs: verbs.iter().map(|&verb| verb.to_owned()).collect(),
            namespaces: crate::grants::Namespaces::SameAsPrimary,
            acknowledge: Vec::new(),
            adopt: false,
            finalizers: Vec::new(),
            owners: crate::grants::Owners::Primary,
        });
        Grants::new(grants.map(Grant::acknowledged).collect()).unwrap()
    }

    fn unused_lines(used: &Used, grants: &Grants) -> Vec<String> {
        let unused = used.unused(grants).into_iter();
        unused
            .map(|one| format!("{}: {}", one.resource, one.verbs.join(" ")))
            .collect()
    }

    #[test]
    fn what_was_never_used_is_told_by_resource() {
        let granted = grants(&[
            (
                "",
                "configmaps",
                &["get", "list", "watch", "create", "patch", "delete"],
            ),
            ("apps", "deployments", &["get", "patch"]),
            ("apps", "deployments/scale", &["get", "patch"]),
        ]);
        let used = Used::default();
        used.watches("", "configmaps");
        used.add("create", "", "configmaps");
        used.add("patch", "", "configmaps");
        used.add("patch", "apps", "deployments");
        let want = [
            "configmaps: delete",
            "deployments.apps: get",
            "deployments.apps/scale: patch",
        ];
        assert_eq!(unused_lines(&used, &granted), want);
    }

    #[test]
    fn a_wildcard_is_used_if_anything_of_it_is() {
        let granted = grants(&[("apps", "*", &["get"]), ("batch", "jobs", &["*"])]);
        let used = Used::default();
        assert_eq!(
            unused_lines(&used, &granted),
            ["*.apps: get", "jobs.batch: *"]
        );
        used.add("get", "apps", "deployments");
        used.add("delete", "batch", "jobs");
        assert_eq!(unused_lines(&used, &granted), [""; 0]);
    }

    #[test]
    fn two_grants_for_one_resource_are_one_row() {
        let granted = grants(&[
            ("", "configmaps", &["get", "delete"]),
            ("", "configmaps", &["delete", "create"]),
        ]);
        assert_eq!(
            unused_lines(&Used::default(), &granted),
            ["configmaps: get delete create"]
        );
    }
}
