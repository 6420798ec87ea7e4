//! How much power a grant gives: plain, powerful, or too much for any plugin.

use super::{Grant, Namespaces};

/// How much power a grant gives, and what in it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Power {
    /// Nothing beyond the objects that it names.
    Plain,
    /// Enough to become somebody else, to run code, or to read secrets.
    Powerful(String),
    /// Enough to take over the cluster, or the host.
    Never(String),
}

/// Kinds that are powerful with any verb: (group, resource).
const POWERFUL: [(&str, &str); 21] = [
    ("", "secrets"),
    ("", "pods/exec"),
    ("", "pods/attach"),
    ("", "pods/portforward"),
    ("", "pods/proxy"),
    ("", "pods/ephemeralcontainers"),
    ("", "services/proxy"),
    ("", "serviceaccounts/token"),
    ("", "nodes"),
    ("", "persistentvolumes"),
    ("apiextensions.k8s.io", "customresourcedefinitions"),
    (
        "admissionregistration.k8s.io",
        "validatingwebhookconfigurations",
    ),
    (
        "admissionregistration.k8s.io",
        "mutatingwebhookconfigurations",
    ),
    (
        "admissionregistration.k8s.io",
        "validatingadmissionpolicies",
    ),
    (
        "admissionregistration.k8s.io",
        "validatingadmissionpolicybindings",
    ),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies"),
    (
        "admissionregistration.k8s.io",
        "mutatingadmissionpolicybindings",
    ),
    ("rbac.authorization.k8s.io", "roles"),
    ("rbac.authorization.k8s.io", "rolebindings"),
    ("rbac.authorization.k8s.io", "clusterroles"),
    ("rbac.authorization.k8s.io", "clusterrolebindings"),
];

/// Kinds that run pods: powerful to write where the primary does not live.
const WORKLOADS: [(&str, &str); 8] = [
    ("", "pods"),
    ("", "replicationcontrollers"),
    ("apps", "deployments"),
    ("apps", "daemonsets"),
    ("apps", "replicasets"),
    ("apps", "statefulsets"),
    ("batch", "jobs"),
    ("batch", "cronjobs"),
];

const NEVER_VERBS: [&str; 3] = ["escalate", "bind", "impersonate"];

const NEVER: [(&str, &str); 4] = [
    ("", "nodes/proxy"),
    ("certificates.k8s.io", "certificatesigningrequests/approval"),
    ("windlass.dev", "plugins"),
    ("coordination.k8s.io", "leases"),
];

/// Whether a resource is never given to a plugin, whatever a wildcard says.
pub(super) fn is_never(group: &str, plural: &str, subresource: Option<&str>) -> bool {
    NEVER.iter().any(|(never_group, never)| {
        let (never_plural, never_subresource) = super::split_subresource(never);
        *never_group == group
            && never_plural == plural
            && (never_subresource.is_none() || never_subresource == subresource)
    })
}

pub(super) fn power(grant: &Grant) -> Power {
    if let Some(verb) = grant
        .verbs
        .iter()
        .find(|verb| NEVER_VERBS.contains(&verb.as_str()))
    {
        return Power::Never(format!("the verb {verb}"));
    }
    let pairs = || {
        grant.api_groups.iter().flat_map(|group| {
            grant
                .resources
                .iter()
                .map(move |resource| (group.as_str(), resource.as_str()))
        })
    };
    if let Some((_, resource)) = pairs().find(|pair| NEVER.contains(pair)) {
        return Power::Never(resource.to_owned());
    }
    let lists = [
        ("apiGroups", &grant.api_groups),
        ("resources", &grant.resources),
        ("verbs", &grant.verbs),
    ];
    if let Some((field, _)) = lists
        .iter()
        .find(|(_, list)| list.iter().any(|entry| entry.contains('*')))
    {
        return Power::Powerful(format!("a wildcard in {field}"));
    }
    // A subresource is as powerful as what it belongs to.
    let powerful = |(group, resource): &(&str, &str)| {
        let plural = super::split_subresource(resource).0;
        POWERFUL.contains(&(group, resource)) || POWERFUL.contains(&(group, plural))
    };
    if let Some((_, resource)) = pairs().find(powerful) {
        return Power::Powerful(resource.to_owned());
    }
    if grant.adopt {
        return Power::Powerful("adopt".to_owned());
    }
    let writes = grant
        .verbs
        .iter()
        .any(|verb| matches!(verb.as_str(), "create" | "patch" | "delete"));
    let creates = grant
        .verbs
        .iter()
        .any(|verb| matches!(verb.as_str(), "create" | "patch"));
    if creates && pairs().any(|pair| pair == ("", "pods")) {
        return Power::Powerful("writing pods".to_owned());
    }
    let elsewhere = grant.namespaces != Namespaces::SameAsPrimary;
    match pairs().find(|pair| WORKLOADS.contains(pair)) {
        Some((_, resource)) if writes && elsewhere => Power::Powerful(format!(
            "writing {resource} in namespaces other than the primary's"
        )),
        _ => Power::Plain,
    }
}
