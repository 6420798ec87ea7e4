//! The namespace of the host, and what no grant reaches there.
//!
//! - Plugin documents, components and configuration are in ConfigMaps and Secrets there, and its pods run as the host. A plugin that
//!   reaches these has the rights of the host, and of all plugins.
//! - What runs pods there, or gives tokens, can be read.

use std::sync::Arc;

use super::{Access, Grants, Scope, is_write};
use windlass_kube::api::Resource;

/// The part of a grant that holds in the host's namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Nothing,
    Reads,
}

/// Group and plural, each with its subresources.
const KINDS: [(&str, &str, Left); 16] = [
    ("", "configmaps", Left::Nothing),
    ("", "secrets", Left::Nothing),
    ("", "pods", Left::Nothing),
    ("", "serviceaccounts", Left::Reads),
    ("", "persistentvolumeclaims", Left::Reads),
    ("", "replicationcontrollers", Left::Reads),
    ("apps", "controllerrevisions", Left::Reads),
    ("apps", "daemonsets", Left::Reads),
    ("apps", "deployments", Left::Reads),
    ("apps", "replicasets", Left::Reads),
    ("apps", "statefulsets", Left::Reads),
    ("batch", "cronjobs", Left::Reads),
    ("batch", "jobs", Left::Reads),
    ("rbac.authorization.k8s.io", "rolebindings", Left::Reads),
    ("rbac.authorization.k8s.io", "roles", Left::Reads),
    ("windlass.dev", "plugins", Left::Nothing),
];

fn left(group: &str, plural: &str) -> Option<Left> {
    let mut kinds = KINDS.iter();
    let (_, _, left) = kinds.find(|(of, name, _)| (*of, *name) == (group, plural))?;
    Some(*left)
}

impl Grants {
    /// The same grants of a plugin whose host is in this namespace, if it is in one.
    #[must_use]
    pub fn protecting(mut self, namespace: Option<&str>) -> Self {
        self.protected = namespace.map(Arc::from);
        self
    }

    /// Whether `access` is to what no grant reaches, in the namespace of the host.
    pub fn protect(&self, access: &Access<'_>) -> bool {
        let is_there = self.protected.is_some() && self.protected.as_deref() == access.namespace;
        is_there
            && match left(&access.resource.group, &access.resource.plural) {
                Some(Left::Nothing) => true,
                // A subresource may be a token, or a way into a container.
                Some(Left::Reads) => is_write(access.verb) || access.subresource == Some("token"),
                None => false,
            }
    }

    /// The field selector of a list or watch of `resource` in all namespaces, if it leaves something out.
    pub fn left_out(&self, resource: &Resource) -> Option<String> {
        let namespace = self.protected.as_deref()?;
        let hides =
            resource.namespaced && left(&resource.group, &resource.plural) == Some(Left::Nothing);
        hides.then(|| format!("metadata.namespace!={namespace}"))
    }

    /// `scope` without what no grant reaches.
    pub(super) fn without_protected(&self, group: &str, plural: &str, scope: Scope) -> Scope {
        match scope {
            Scope::Namespaces(mut names) if left(group, plural) == Some(Left::Nothing) => {
                names.retain(|name| Some(&**name) != self.protected.as_deref());
                Scope::Namespaces(names)
            }
            scope => scope,
        }
    }
}

/// Both field selectors, as one.
pub fn joined(fields: Option<&str>, left_out: Option<&str>) -> Option<String> {
    let said = [fields, left_out].into_iter().flatten();
    let said: Vec<&str> = said.filter(|text| !text.is_empty()).collect();
    (!said.is_empty()).then(|| said.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: &str = "windlass-system";

    fn resource(group: &str, plural: &str) -> Resource {
        Resource {
            group: group.into(),
            version: "v1".into(),
            kind: "X".into(),
            plural: plural.into(),
            namespaced: true,
        }
    }

    fn all(kinds: &str, more: &str) -> Grants {
        let grant = format!(
            "[{{ apiGroups: ['', apps, rbac.authorization.k8s.io], resources: [{kinds}], verbs: [get, list, watch, create, patch, delete], {more} }}]"
        );
        let grants: Vec<super::super::Grant> = serde_saphyr::from_str(&grant).unwrap();
        let grants = grants.into_iter().map(super::super::Grant::acknowledged);
        Grants::new(grants.collect()).unwrap()
    }

    #[test]
    fn no_grant_reaches_the_things_of_the_host_and_each_stays_valid_elsewhere() {
        let kinds =
            "configmaps, secrets, pods, pods/exec, deployments, serviceaccounts, services, roles";
        // (kind, subresource, verb, whether it is given in the host's namespace)
        let rows = [
            ("", "configmaps", None, "patch", false),
            ("", "configmaps", None, "get", false),
            ("", "configmaps", None, "list", false),
            ("", "secrets", None, "get", false),
            ("", "pods", None, "delete", false),
            ("", "pods", Some("exec"), "create", false),
            ("apps", "deployments", None, "create", false),
            ("apps", "deployments", None, "get", true),
            ("", "serviceaccounts", None, "patch", false),
            ("", "services", None, "patch", true),
            ("rbac.authorization.k8s.io", "roles", None, "create", false),
        ];
        let places = [
            "namespaces: all".to_owned(),
            format!("namespaces: [{HOME}, shop]"),
            "namespaces: same-as-primary".to_owned(),
        ];
        for place in places {
            let open = all(kinds, &place);
            let closed = open.clone().protecting(Some(HOME));
            for (group, plural, subresource, verb, given) in rows {
                let resource = resource(group, plural);
                let may = |grants: &Grants, namespace: &str| {
                    let access = Access {
                        verb,
                        resource: &resource,
                        subresource,
                        namespace: Some(namespace),
                        name: Some("x"),
                    };
                    grants.allow(&access, Some(namespace))
                };
                assert_eq!(may(&closed, HOME), given, "{verb} {plural}: {place}");
                assert!(may(&open, HOME), "{verb} {plural}: {place}");
                let elsewhere = may(&open, "shop");
                assert_eq!(may(&closed, "shop"), elsewhere, "{verb} {plural}: {place}");
            }
        }
    }

    #[test]
    fn lists_and_watches_leave_them_out() {
        let grants = all("configmaps, services", "namespaces: all").protecting(Some(HOME));
        let selector = grants.left_out(&resource("", "configmaps"));
        assert_eq!(
            selector.as_deref(),
            Some("metadata.namespace!=windlass-system")
        );
        assert_eq!(grants.left_out(&resource("", "services")), None);
        assert_eq!(grants.watch_scope("", "configmaps", None), Scope::All);
        let some = all(
            "configmaps, services",
            &format!("namespaces: [{HOME}, shop]"),
        );
        let some = some.protecting(Some(HOME));
        let shop = Scope::Namespaces(vec!["shop".to_owned()]);
        assert_eq!(some.watch_scope("", "configmaps", None), shop);
        let both = Scope::Namespaces(["shop", HOME].map(str::to_owned).into());
        assert_eq!(some.watch_scope("", "services", None), both);
        assert_eq!(joined(None, selector.as_deref()), selector);
        assert_eq!(
            joined(Some("a=b"), Some("c!=d")).as_deref(),
            Some("a=b,c!=d")
        );
        assert_eq!(joined(Some(""), None), None);
    }
}
