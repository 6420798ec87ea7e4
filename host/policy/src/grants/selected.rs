//! Grants by the labels of namespaces, and the names that stand for them.
//!
//! - A document has only the selector. A host asks which namespaces it selects, and asks again when they change.
//! - Until then such a grant holds nowhere.

use std::collections::BTreeSet;

use super::{Grants, Namespaces};

impl Namespaces {
    /// The selector in the notation of a request, if there is one.
    fn selector(&self) -> Option<String> {
        match self {
            // A wrong one is refused with its document.
            Self::Selected { selector, .. } => selector.text().ok(),
            Self::SameAsPrimary | Self::Only(_) | Self::All => None,
        }
    }
}

impl Grants {
    /// The selectors of namespaces in them, each once, in the notation of a request.
    pub fn namespace_selectors(&self) -> BTreeSet<String> {
        let selectors = self.iter().map(|grant| grant.namespaces.selector());
        selectors.flatten().collect()
    }

    /// The same in the namespaces that `select` answers for each selector.
    #[must_use]
    pub fn in_selected(&self, select: impl Fn(&str) -> Vec<String>) -> Self {
        let mut grants = self.clone();
        for grant in &mut grants.given {
            let text = grant.namespaces.selector();
            if let (Namespaces::Selected { names, .. }, Some(text)) = (&mut grant.namespaces, text)
            {
                *names = select(&text);
                names.sort();
                names.dedup();
            }
        }
        grants
    }

    /// The same in all namespaces instead of those that are selected: RBAC has no selectors.
    #[must_use]
    pub fn without_selectors(&self) -> Self {
        let mut grants = self.clone();
        for grant in &mut grants.given {
            if let Namespaces::Selected { .. } = grant.namespaces {
                grant.namespaces = Namespaces::All;
            }
        }
        grants
    }

    /// Where `watch` on a resource is granted by the labels of namespaces, if it is. There may be none of them now.
    pub fn watched_by_selector(&self, group: &str, plural: &str) -> Option<&Namespaces> {
        let mut grants = self.iter().filter(|grant| {
            grant.resource_names.is_empty() && grant.names("watch", group, plural, None)
        });
        let by_selector = |it: &&Namespaces| matches!(it, Namespaces::Selected { .. });
        grants.find_map(|grant| Some(&grant.namespaces).filter(by_selector))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Access, Grant, Scope};
    use super::*;
    use windlass_kube::api::Resource;

    fn read(fields: &str) -> Result<Grant, String> {
        let text = format!(
            "{{ apiGroups: [''], resources: [configmaps], verbs: [get, watch], {fields} }}"
        );
        serde_saphyr::from_str(&text).map_err(|error| error.to_string())
    }

    fn grants(fields: &str) -> Grants {
        Grants::new(vec![read(fields).unwrap()]).unwrap()
    }

    fn may_get(grants: &Grants, namespace: Option<&str>) -> bool {
        let resource = Resource {
            group: String::new(),
            version: "v1".into(),
            kind: "ConfigMap".into(),
            plural: "configmaps".into(),
            namespaced: true,
        };
        let access = Access {
            verb: "get",
            resource: &resource,
            subresource: None,
            namespace,
            name: Some("a"),
        };
        grants.allow(&access, namespace)
    }

    const SHOP: &str = "namespaceSelector: { matchLabels: { team: shop } }";

    #[test]
    fn a_selector_holds_nowhere_until_it_is_known_what_it_selects() {
        let open = grants(SHOP);
        assert_eq!(open.namespace_selectors(), ["team=shop".to_owned()].into());
        assert!(open.watch_scope("", "configmaps", None).is_empty());
        assert!(!may_get(&open, Some("a")));
        let known = open.in_selected(|selector| {
            assert_eq!(selector, "team=shop");
            ["b", "a", "b"].map(str::to_owned).into()
        });
        let names = ["a", "b"].map(str::to_owned).into();
        let scope = known.watch_scope("", "configmaps", None);
        assert_eq!(scope, Scope::Namespaces(names));
        let cases = [
            (Some("a"), true),
            (Some("b"), true),
            (Some("c"), false),
            (None, false),
        ];
        for (namespace, may) in cases {
            assert_eq!(may_get(&known, namespace), may, "{namespace:?}");
        }
        assert_ne!(known, open);
        // Fewer than before.
        let less = known.in_selected(|_| vec!["b".to_owned()]);
        assert!(!may_get(&less, Some("a")) && may_get(&less, Some("b")));
    }

    #[test]
    fn an_empty_selector_is_not_all() {
        let open = grants("namespaceSelector: {}");
        assert_eq!(open.namespace_selectors(), [String::new()].into());
        assert!(!may_get(&open, Some("a")) && !may_get(&open, None));
    }

    #[test]
    fn what_is_named_is_left_as_it_is() {
        for fields in [
            "namespaces: all",
            "namespaces: [a]",
            "namespaces: same-as-primary",
        ] {
            let held = grants(fields);
            assert!(held.namespace_selectors().is_empty(), "{fields}");
            assert_eq!(held.in_selected(|_| vec!["z".to_owned()]), held, "{fields}");
            assert_eq!(held.without_selectors(), held, "{fields}");
        }
        let wide = grants(SHOP).without_selectors();
        assert_eq!(wide.watch_scope("", "configmaps", None), Scope::All);
    }

    #[test]
    fn one_of_the_two_says_where() {
        for fields in ["all", "[a]", "same-as-primary"] {
            let told = read(&format!("namespaces: {fields}, {SHOP}")).unwrap_err();
            assert!(
                told.contains("has both namespaces and namespaceSelector"),
                "{told}"
            );
        }
        let told = read("namespaceSelection: {}").unwrap_err();
        assert!(told.contains("unknown field"), "{told}");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_field() {
        let held =
            read("namespaceSelector: { matchExpressions: [{ key: a, operator: Is }] }").unwrap();
        let told = Grants::new(vec![held]).unwrap_err().to_string();
        let want = "[0].namespaceSelector.matchExpressions[0].operator: \"Is\" is not one of";
        assert!(told.starts_with(want), "{told}");
    }

    #[test]
    fn what_asks_for_a_name_is_not_granted_by_a_selector() {
        let lease = "{ apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get], namespaceSelector: {} }";
        let told = Grants::new(vec![serde_saphyr::from_str(lease).unwrap()]);
        let told = told.unwrap_err().to_string();
        assert!(told.contains("a plugin is never given that"), "{told}");
    }

    #[test]
    fn powers_hold_in_all_namespaces() {
        let secrets =
            "{ apiGroups: [''], resources: [secrets], verbs: [get], namespaceSelector: {} }";
        let held: Grant = serde_saphyr::from_str(secrets).unwrap();
        assert_eq!(
            held.acknowledgements(),
            ["secrets/get", "in all namespaces"]
        );
    }
}
