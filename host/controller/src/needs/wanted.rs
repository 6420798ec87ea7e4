//! What to write into a document so that it grants all that its plugin needs: pure.

use super::{PrimaryKind, has_namespaces};
use windlass_policy::grants::{Grant, Grants, Namespaces, Scope, merged, split_subresource};
use windlass_sandbox::{Description, Need};

/// Where grants are to cover a kind.
pub struct CoverageQuery<'a> {
    /// The primary kinds.
    pub primaries: Vec<PrimaryKind<'a>>,
    /// Whether a kind is cluster-scoped; `false` of one that is not known.
    pub is_cluster_scoped: &'a dyn Fn(&str, &str) -> bool,
}

/// A grant for each need that `grants` leave open, in few rules.
///
/// # Errors
/// Some of it is never granted: what, and why.
pub fn wanted(
    description: &Description,
    grants: &Grants,
    coverage: &CoverageQuery<'_>,
) -> Result<Vec<Grant>, String> {
    let open = description.open_needs(grants).into_iter();
    let open = open.map(|(need, verbs)| {
        let verbs: Vec<&str> = verbs.iter().map(String::as_str).collect();
        let namespaces = coverage.of(&need, grants);
        let suggested = Grant::suggested(&need.group, &[&need.resource], &verbs, namespaces);
        let named = Grant {
            resource_names: need.names.clone(),
            ..suggested
        };
        named.acknowledged()
    });
    let open: Vec<Grant> = open.collect();
    let never = open.iter().filter_map(Grant::problem);
    // It is in no document, so it has no place there.
    let never: Vec<String> = never.map(|problem| problem.message).collect();
    if never.is_empty() {
        Ok(merged(open))
    } else {
        Err(never.join("; "))
    }
}

impl CoverageQuery<'_> {
    fn of(&self, need: &Need, grants: &Grants) -> Namespaces {
        let (plural, _) = split_subresource(&need.resource);
        // What has no namespace has no "same" one either.
        let have_namespaces = has_namespaces(&self.primaries);
        if !have_namespaces || (self.is_cluster_scoped)(&need.group, plural) {
            return Namespaces::All;
        }
        let mut primaries = self.primaries.iter();
        let Some(own) = primaries.find(|own| (own.group, own.plural) == (&*need.group, plural))
        else {
            return Namespaces::SameAsPrimary;
        };
        if own.namespaced == Some(false) {
            return Namespaces::All;
        }
        // A primary kind has a place of its own: where it is watched, or everywhere if that is nowhere yet.
        if let Some(by_selector) = grants.watched_by_selector(own.group, own.plural) {
            return by_selector.clone();
        }
        match grants.watch_scope(own.group, own.plural, None) {
            Scope::Namespaces(names) if !names.is_empty() => Namespaces::Only(names),
            Scope::Namespaces(_) | Scope::All => Namespaces::All,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_policy::grants::entries;

    fn need(group: &str, resource: &str, verbs: &[&str]) -> Need {
        let asking = Description::asking(group, resource, verbs);
        asking.needs.into_iter().next().unwrap()
    }

    /// What is written for a plugin that watches the kind `X` of `x.dev`, is called `xes` there, and makes ConfigMaps.
    fn written(grants: &str, namespaced: Option<bool>) -> String {
        let description = Description {
            needs: vec![
                need("x.dev", "xes", &["get", "watch"]),
                need("x.dev", "xes/status", &["patch"]),
                need("", "configmaps", &["create"]),
                need("y.dev", "wholes", &["get"]),
                need("x.dev", "parts", &["get"]),
            ],
            ..Description::asking("", "configmaps", &[])
        };
        let grants: Vec<Grant> = serde_saphyr::from_str(grants).unwrap();
        let grants = Grants::new(grants).unwrap();
        let coverage = CoverageQuery {
            primaries: vec![PrimaryKind {
                group: "x.dev",
                plural: "xes",
                namespaced,
            }],
            // The project defines it.
            is_cluster_scoped: &|_, plural| ["wholes", "parts"].contains(&plural),
        };
        entries(&wanted(&description, &grants, &coverage).unwrap())
    }

    #[test]
    fn a_grant_is_for_where_the_kind_can_be() {
        let own = "- { apiGroups: [x.dev], resources: [xes], verbs: [get, watch], namespaces: all }, - { apiGroups: [x.dev], resources: [xes/status], verbs: [patch], namespaces: all }, ";
        let others = "- { apiGroups: [y.dev], resources: [wholes], verbs: [get], namespaces: all }, - { apiGroups: [x.dev], resources: [parts], verbs: [get], namespaces: all }";
        let maps = "- { apiGroups: [\"\"], resources: [configmaps], verbs: [create] }, ";
        for namespaced in [Some(true), None] {
            let want = format!("{own}{maps}{others}");
            assert_eq!(written("[]", namespaced), want);
        }
        // Beside a primary that has no namespace.
        let maps =
            "- { apiGroups: [\"\"], resources: [configmaps], verbs: [create], namespaces: all }, ";
        let want = format!("{own}{maps}{others}");
        assert_eq!(written("[]", Some(false)), want);
    }

    #[test]
    fn what_is_never_granted_is_not_proposed() {
        let leases = need("coordination.k8s.io", "leases", &["get"]);
        let description = Description {
            needs: vec![need("", "configmaps", &["create"]), leases],
            ..Description::asking("", "configmaps", &[])
        };
        let coverage = CoverageQuery {
            primaries: vec![PrimaryKind::known("x.dev", "xes")],
            is_cluster_scoped: &|_, _| false,
        };
        let never = wanted(&description, &Grants::default(), &coverage).unwrap_err();
        assert!(never.starts_with("leases"), "{never}");
        assert!(never.contains("a plugin is never given that"), "{never}");
        assert!(!never.contains("configmaps"), "{never}");
    }

    #[test]
    fn the_primary_is_granted_where_it_is_watched() {
        let watched =
            "[{ apiGroups: [x.dev], resources: [xes], verbs: [get, watch], namespaces: [a, b] }]";
        let want = "- { apiGroups: [x.dev], resources: [xes/status], verbs: [patch], namespaces: [a, b] }, ";
        let written = written(watched, Some(true));
        assert!(written.starts_with(want), "{written}");
    }
}
