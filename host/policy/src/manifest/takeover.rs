//! What a plugin takes over from an operator that ran before it: pure.

use crate::grants::{Grants, problem_of_finalizer};
use windlass_kube::selector::is_qualified_name;

/// Whether a finalizer is one of Kubernetes' own: `foregroundDeletion`, `kubernetes.io/pvc-protection`.
pub fn belongs_to_kubernetes(finalizer: &str) -> bool {
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

/// What is wrong with `spec.reportingController`: the API server takes a qualified name (`legacyValidateEvent` of Kubernetes).
pub(super) fn reporter_problem(name: &str) -> Option<String> {
    if name.starts_with("windlass.dev/") {
        return Some(format!("{name:?} is the name of a plugin"));
    }
    (!is_qualified_name(name)).then(|| {
        format!("{name:?} is not the name of a controller, such as job-controller or example.com/operator")
    })
}

/// The longest name of a field manager: the API server takes no longer one.
const LONGEST_MANAGER: usize = 128;

/// What is wrong with `spec.replaces`, and with which of the names. `own` is the plugin's field manager.
pub(super) fn replaces_problem(managers: &[String], own: &str) -> Option<(usize, String)> {
    let problem = |name: &String| {
        if name == own || name.starts_with(&format!("{own}/")) {
            return Some(format!("{name} is the plugin's own field manager"));
        }
        let is_name = !name.is_empty()
            && name.chars().count() <= LONGEST_MANAGER
            && !name.chars().any(char::is_control);
        (!is_name).then(|| {
            format!(
                "{name:?} is not the name of a field manager: `kubectl get KIND NAME -o yaml --show-managed-fields` shows them"
            )
        })
    };
    let mut managers = managers.iter().enumerate();
    managers.find_map(|(at, name)| Some((at, problem(name)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grants::Grant;

    #[test]
    fn what_is_replaced_is_a_field_manager_of_somebody_else() {
        let long = "x".repeat(129);
        let rows = [
            (
                &["cert-manager", "before-first-apply", "windlass/old"][..],
                None,
            ),
            (
                &["old", ""],
                Some((1, "\"\" is not the name of a field manager")),
            ),
            (&[&*long], Some((0, "is not the name"))),
            (&["a\nb"], Some((0, "is not the name"))),
            (
                &["windlass/p"],
                Some((0, "is the plugin's own field manager")),
            ),
            (
                &["windlass/p/1234"],
                Some((0, "is the plugin's own field manager")),
            ),
        ];
        for (managers, want) in rows {
            let managers: Vec<String> = managers.iter().map(|it| (*it).to_owned()).collect();
            let problem = replaces_problem(&managers, "windlass/p");
            let is_told = match (&problem, want) {
                (Some((at, told)), Some((place, text))) => *at == place && told.contains(text),
                (told, want) => told.is_none() && want.is_none(),
            };
            assert!(is_told, "{managers:?}: {problem:?}");
        }
    }

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

    #[test]
    fn events_are_reported_by_a_qualified_name_that_is_not_a_plugins() {
        for (name, is_right) in [
            ("job-controller", true),
            ("example.com/operator", true),
            ("", false),
            ("a b", false),
            ("example.com/a/b", false),
            ("windlass.dev/job", false),
        ] {
            assert_eq!(reporter_problem(name).is_none(), is_right, "{name}");
        }
    }
}
