//! How widely something is granted: as widely it is worth asking for the right to it.

use super::{Access, Grant, Grants, Namespaces};

/// How widely something is granted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Breadth {
    /// In all namespaces.
    pub everywhere: bool,
    /// To some objects by their names.
    pub by_name: bool,
}

impl Grants {
    /// How widely the grants that allow `access` hold.
    pub fn breadth(&self, access: &Access<'_>, home: Option<&str>) -> Breadth {
        let any = |wanted: fn(&Grant) -> bool| self.allow_by(access, home, wanted);
        Breadth {
            everywhere: any(|grant| grant.namespaces == Namespaces::All),
            by_name: any(|grant| !grant.resource_names.is_empty()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_kube::api::Resource;

    #[test]
    fn only_grants_that_allow_the_access_count() {
        let grants = r#"[
            { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"], "namespaces": "all" },
            { "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a"], "verbs": ["list"], "namespaces": ["x"] },
            { "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a"], "verbs": ["get"], "namespaces": ["x"] }
        ]"#;
        let grants: Vec<Grant> = serde_json::from_str(grants).unwrap();
        let grants = Grants::new(grants).unwrap();
        let resource = Resource {
            group: String::new(),
            version: "v1".into(),
            kind: "ConfigMap".into(),
            plural: "configmaps".into(),
            namespaced: true,
        };
        // (verb, namespace, name; whether a grant holds everywhere, and one names objects)
        let rows = [
            ("get", "y", "a", (true, false)),
            ("get", "x", "a", (true, true)),
            ("get", "x", "b", (true, false)),
            ("list", "x", "a", (false, true)),
            ("list", "y", "a", (false, false)),
        ];
        for (verb, namespace, name, want) in rows {
            let access = Access {
                verb,
                resource: &resource,
                subresource: None,
                namespace: Some(namespace),
                name: Some(name),
            };
            let breadth = grants.breadth(&access, None);
            let is = (breadth.everywhere, breadth.by_name);
            assert_eq!(is, want, "{verb} {namespace} {name}");
        }
    }
}
