//! What a plugin is granted while it is developed: what it asks for.

use windlass_base::text::clean;
use windlass_kube::api::Resource;
use windlass_policy::grants::{Grant, Grants, Namespaces};
use windlass_sandbox::{Description, Need};

/// The longest text of a component that is shown.
const TEXT: usize = 2 << 10;

/// Everything that `description` asks for, wherever it is, beside what is granted already; `primaries` as the
/// server knows them, as far as it does. A plugin for `*` gets no more than its document grants, if it grants anything:
/// that says which kinds it reconciles. What no plugin is ever given is left out: the code that loads the plugin names it.
pub(super) fn requested_grants(
    granted: &Grants,
    description: &Description,
    primaries: &[Resource],
) -> Grants {
    let every = description.every_kind();
    if every.is_some() && !granted.watched_patterns().is_empty() {
        return granted.clone();
    }
    let mut all: Vec<Grant> = granted.iter().cloned().collect();
    let mut more: Vec<Grant> = description
        .needs
        .iter()
        .map(|need| {
            let named = Grant {
                resource_names: need.names.clone(),
                ..everywhere(&need.group, &need.resource, &need.verbs)
            };
            named.acknowledged()
        })
        .collect();
    if let Some((_, watch)) = every {
        let verbs = watch.verbs().into_iter().map(str::to_owned);
        more.push(everywhere("*", "*", &verbs.collect::<Vec<_>>()));
    }
    for primary in primaries {
        let verbs = ["get", "list", "watch", "patch"].map(str::to_owned);
        more.push(everywhere(&primary.group, &primary.plural, &verbs));
    }
    // One by one: what is never given takes nothing else with it.
    all.extend(
        more.into_iter()
            .filter(|grant| Grants::new(vec![grant.clone()]).is_ok()),
    );
    Grants::new(all).unwrap_or_else(|_| granted.clone())
}

/// What a component alone is granted of its primaries beside what it asks for: an old one does not ask for the status.
pub(super) fn status(primaries: &[Resource]) -> Grants {
    let grants = primaries.iter().map(|Resource { group, plural, .. }| {
        everywhere(group, &format!("{plural}/status"), &["patch".to_owned()])
    });
    Grants::new(grants.collect()).unwrap_or_default()
}

fn everywhere(group: &str, resource: &str, verbs: &[String]) -> Grant {
    let verbs: Vec<&str> = verbs.iter().map(String::as_str).collect();
    Grant::suggested(group, &[resource], &verbs, Namespaces::All)
}

/// What is powerful in what it asks for, and why: a line for each reason. What it needs of each kind that `granted` names is
/// acknowledged there.
pub(super) fn powerful(description: &Description, granted: &Grants) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let is_narrow = !granted.watched_patterns().is_empty();
    let needs = description.needs.iter();
    for need in needs.filter(|need| !(is_narrow && description.is_of_every_kind(need))) {
        let verbs: Vec<&str> = need.verbs.iter().map(String::as_str).collect();
        for reason in need.grant(&verbs).powers() {
            let line = clean(&reason.to_string(), TEXT);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

/// The needs of a plugin, a line for each resource: `configmaps: get list watch`. Two kinds may ask for the same.
pub(super) fn need_lines(description: &Description) -> Vec<String> {
    let mut all: Vec<(&Need, Vec<&str>)> = Vec::new();
    for need in &description.needs {
        let what = |one: &Need| (one.group.clone(), one.resource.clone(), one.names.clone());
        let place = all.iter().position(|(held, _)| what(held) == what(need));
        let verbs = need.verbs.iter().map(String::as_str);
        match place.and_then(|place| all.get_mut(place)) {
            Some((_, held)) => {
                for verb in verbs {
                    if !held.contains(&verb) {
                        held.push(verb);
                    }
                }
            }
            None => all.push((need, verbs.collect())),
        }
    }
    let line = |(need, verbs): (&Need, Vec<&str>)| {
        let names = need.names.iter().map(|name| format!(" {name}"));
        let names: String = names.collect();
        format!("{}{names}: {}", need.resource, verbs.join(" "))
    };
    all.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use windlass_sandbox::PrimaryWatch;

    use super::*;

    fn needs(resource: &str, verbs: &[&str]) -> Description {
        Description::asking("", resource, verbs)
    }

    #[test]
    fn what_is_asked_for_is_granted_everywhere_but_for_what_never_is() {
        let plain = requested_grants(
            &Grants::default(),
            &needs("configmaps", &["get", "create"]),
            &[],
        );
        assert!(plain.cover_need("create", "", "configmaps", &[]));
        assert!(!plain.cover_need("delete", "", "configmaps", &[]));
        let powerful = requested_grants(&Grants::default(), &needs("secrets", &["get"]), &[]);
        assert!(powerful.cover_need("get", "", "secrets", &[]));
        let leases = Description::asking("coordination.k8s.io", "leases", &["get"]);
        let never = requested_grants(&Grants::default(), &leases, &[]);
        assert!(!never.cover_need("get", "coordination.k8s.io", "leases", &[]));
    }

    #[test]
    fn a_resource_that_two_kinds_ask_for_has_one_line() {
        let mut both = needs("jobs", &["get", "list", "watch"]);
        for more in [
            needs("pods", &["get"]),
            needs("jobs", &["watch", "delete"]),
            needs("jobs", &["get", "list", "watch"]),
        ] {
            both.needs.extend(more.needs);
        }
        let want = ["jobs: get list watch delete", "pods: get"];
        assert_eq!(need_lines(&both), want);
        let missing = both.missing(&Grants::default());
        let want = ["get list watch jobs", "get pods", "watch delete jobs"];
        assert_eq!(missing, want, "each once");
    }

    #[test]
    fn what_is_powerful_is_said_with_its_reason() {
        assert_eq!(
            powerful(&needs("configmaps", &["create"]), &Grants::default()),
            [""; 0]
        );
        assert_eq!(
            powerful(&needs("pods", &["get"]), &Grants::default()),
            [""; 0]
        );
        assert_eq!(
            powerful(&needs("pods", &["get", "create"]), &Grants::default()),
            ["pods: a pod runs any image and can mount any Secret of its namespace"]
        );
    }

    #[test]
    fn the_primary_is_granted_as_the_server_knows_it() {
        let primary = Resource {
            group: "x.dev".into(),
            version: "v1".into(),
            kind: "X".into(),
            plural: "exes".into(),
            namespaced: true,
        };
        let all = requested_grants(
            &Grants::default(),
            &needs("configmaps", &["get"]),
            std::slice::from_ref(&primary),
        );
        assert!(all.cover_need("patch", "x.dev", "exes", &[]));
        // A project has a document that grants its status, if it is written.
        assert!(!all.cover_need("patch", "x.dev", "exes/status", &[]));
        let alone = status(std::slice::from_ref(&primary));
        assert!(alone.cover_need("patch", "x.dev", "exes/status", &[]));
        assert_eq!(
            all.watch_scope("x.dev", "exes", None),
            windlass_policy::grants::Scope::All
        );
    }

    #[test]
    fn a_plugin_for_every_kind_has_the_kinds_that_its_document_names() {
        let every = Description {
            primaries: vec![PrimaryWatch::of("*", "*")],
            ..Description::asking("*", "*", &["delete"])
        };
        let read = ["get", "list", "watch"];
        let all = requested_grants(&Grants::default(), &every, &[]);
        assert!(all.cover_need("watch", "apps", "deployments", &[]));
        assert!(all.cover_need("delete", "apps", "deployments", &[]));
        assert_eq!(powerful(&every, &Grants::default()).len(), 1);
        let maps = Grant::suggested("", &["configmaps"], &read, Namespaces::All);
        let maps = Grants::new(vec![maps]).unwrap();
        assert_eq!(requested_grants(&maps, &every, &[]), maps);
        assert_eq!(powerful(&every, &maps), [""; 0]);
    }
}
