//! What a plugin takes over from an operator that ran before it: pure.

use crate::grants::{Grants, problem_of_finalizer};

/// Whether a finalizer is one of Kubernetes' own: `foregroundDeletion`, `kubernetes.io/pvc-protection`.
pub(crate) fn belongs_to_kubernetes(finalizer: &str) -> bool {
    let Some((domain, _)) = finalizer.split_once('/') else {
        return true;
    };
    ["kubernetes.io", "k8s.io"].iter().any(|own| {
        let rest = domain.strip_suffix(own);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

/// What is wrong with `spec.finalizer`.
pub(super) fn finalizer_problem(name: &str, grants: &Grants) -> Option<String> {
    if !name.contains('/') {
        return Some(format!(
            "{name:?} is not the name of an operator's finalizer, such as example.com/cleanup"
        ));
    }
    if let Some(problem) = problem_of_finalizer(name) {
        return Some(problem);
    }
    let named = || {
        let mut grants = grants.iter();
        grants.any(|grant| grant.finalizers.iter().any(|held| held == name))
    };
    (belongs_to_kubernetes(name) && !named()).then(|| {
        format!(
            "{name} belongs to Kubernetes, which takes it off itself: if you want it, add it to `finalizers` of the grant for the primary kind, and acknowledge that"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grants::Grant;

    #[test]
    fn a_finalizer_is_an_operators_or_a_grant_names_it() {
        let grants = |finalizers: &str| {
            let text = format!(
                "[{{ apiGroups: [''], resources: [persistentvolumeclaims], verbs: [patch], finalizers: [{finalizers}] }}]"
            );
            let grants: Vec<Grant> = serde_saphyr::from_str(&text).unwrap();
            Grants::new(grants.into_iter().map(Grant::acknowledged).collect()).unwrap()
        };
        let protection = "kubernetes.io/pvc-protection";
        let rows = [
            ("example.com/cleanup", "", ""),
            ("notkubernetes.io/x", "", ""),
            (protection, protection, ""),
            (protection, "", "belongs to Kubernetes"),
            ("node.k8s.io/x", protection, "belongs to Kubernetes"),
            (
                "foregroundDeletion",
                "foregroundDeletion",
                "is not the name of an operator's finalizer",
            ),
            ("orphan", "", "is not the name of an operator's finalizer"),
            ("windlass.dev/other", "", "is the host's own"),
            ("example.com/", "", "is not the name of a finalizer"),
            ("example.com/a b", "", "is not the name of a finalizer"),
        ];
        for (name, held, want) in rows {
            let problem = finalizer_problem(name, &grants(held));
            let told = problem.unwrap_or_default();
            assert!(
                told.contains(want) && told.is_empty() == want.is_empty(),
                "{name}: {told}"
            );
        }
    }
}
