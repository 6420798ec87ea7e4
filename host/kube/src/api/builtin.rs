//! The resources of Kubernetes itself, for what is asked without a cluster.

use ResourceScope::{Cluster, Namespaced};

/// Where the objects of a resource live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResourceScope {
    /// In the cluster.
    Cluster,
    /// In namespaces.
    Namespaced,
}

/// Group, plural, scope and subresources of each.
#[rustfmt::skip]
const RESOURCES: &[(&str, &str, ResourceScope, &[&str])] = &[
    ("", "bindings", Namespaced, &[]),
    ("", "configmaps", Namespaced, &[]),
    ("", "endpoints", Namespaced, &[]),
    ("", "events", Namespaced, &[]),
    ("", "limitranges", Namespaced, &[]),
    ("", "namespaces", Cluster, &["finalize", "status"]),
    ("", "nodes", Cluster, &["proxy", "status"]),
    ("", "persistentvolumeclaims", Namespaced, &["status"]),
    ("", "persistentvolumes", Cluster, &["status"]),
    ("", "pods", Namespaced, &["attach", "binding", "ephemeralcontainers", "eviction", "exec", "log", "portforward", "proxy", "resize", "status"]),
    ("", "podtemplates", Namespaced, &[]),
    ("", "replicationcontrollers", Namespaced, &["scale", "status"]),
    ("", "resourcequotas", Namespaced, &["status"]),
    ("", "secrets", Namespaced, &[]),
    ("", "serviceaccounts", Namespaced, &["token"]),
    ("", "services", Namespaced, &["proxy", "status"]),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies", Cluster, &[]),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings", Cluster, &[]),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", Cluster, &[]),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies", Cluster, &["status"]),
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings", Cluster, &[]),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations", Cluster, &[]),
    ("apiextensions.k8s.io", "customresourcedefinitions", Cluster, &["status"]),
    ("apiregistration.k8s.io", "apiservices", Cluster, &["status"]),
    ("apps", "controllerrevisions", Namespaced, &[]),
    ("apps", "daemonsets", Namespaced, &["status"]),
    ("apps", "deployments", Namespaced, &["scale", "status"]),
    ("apps", "replicasets", Namespaced, &["scale", "status"]),
    ("apps", "statefulsets", Namespaced, &["scale", "status"]),
    ("authentication.k8s.io", "selfsubjectreviews", Cluster, &[]),
    ("authentication.k8s.io", "tokenreviews", Cluster, &[]),
    ("authorization.k8s.io", "localsubjectaccessreviews", Namespaced, &[]),
    ("authorization.k8s.io", "selfsubjectaccessreviews", Cluster, &[]),
    ("authorization.k8s.io", "selfsubjectrulesreviews", Cluster, &[]),
    ("authorization.k8s.io", "subjectaccessreviews", Cluster, &[]),
    ("autoscaling", "horizontalpodautoscalers", Namespaced, &["status"]),
    ("batch", "cronjobs", Namespaced, &["status"]),
    ("batch", "jobs", Namespaced, &["status"]),
    ("certificates.k8s.io", "certificatesigningrequests", Cluster, &["approval", "status"]),
    ("coordination.k8s.io", "leases", Namespaced, &[]),
    ("discovery.k8s.io", "endpointslices", Namespaced, &[]),
    ("events.k8s.io", "events", Namespaced, &[]),
    ("flowcontrol.apiserver.k8s.io", "flowschemas", Cluster, &["status"]),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", Cluster, &["status"]),
    ("networking.k8s.io", "ingressclasses", Cluster, &[]),
    ("networking.k8s.io", "ingresses", Namespaced, &["status"]),
    ("networking.k8s.io", "ipaddresses", Cluster, &[]),
    ("networking.k8s.io", "networkpolicies", Namespaced, &[]),
    ("networking.k8s.io", "servicecidrs", Cluster, &["status"]),
    ("node.k8s.io", "runtimeclasses", Cluster, &[]),
    ("policy", "poddisruptionbudgets", Namespaced, &["status"]),
    ("rbac.authorization.k8s.io", "clusterrolebindings", Cluster, &[]),
    ("rbac.authorization.k8s.io", "clusterroles", Cluster, &[]),
    ("rbac.authorization.k8s.io", "rolebindings", Namespaced, &[]),
    ("rbac.authorization.k8s.io", "roles", Namespaced, &[]),
    ("resource.k8s.io", "deviceclasses", Cluster, &[]),
    ("resource.k8s.io", "resourceclaims", Namespaced, &["status"]),
    ("resource.k8s.io", "resourceclaimtemplates", Namespaced, &[]),
    ("resource.k8s.io", "resourceslices", Cluster, &[]),
    ("scheduling.k8s.io", "priorityclasses", Cluster, &[]),
    ("storage.k8s.io", "csidrivers", Cluster, &[]),
    ("storage.k8s.io", "csinodes", Cluster, &[]),
    ("storage.k8s.io", "csistoragecapacities", Namespaced, &[]),
    ("storage.k8s.io", "storageclasses", Cluster, &[]),
    ("storage.k8s.io", "volumeattachments", Cluster, &["status"]),
    ("storage.k8s.io", "volumeattributesclasses", Cluster, &[]),
];

/// Whether a resource of Kubernetes itself is cluster-scoped; `false` also if it is of another group.
pub fn is_cluster_scoped(group: &str, plural: &str) -> bool {
    let mut rows = RESOURCES.iter();
    rows.any(|(held, name, scope, _)| (*held, *name, *scope) == (group, plural, Cluster))
}

/// The groups of Kubernetes itself.
pub fn groups() -> impl Iterator<Item = &'static str> {
    RESOURCES.iter().map(|(group, ..)| *group)
}

/// The resources of a group of Kubernetes itself, each with its subresources after it, as `pods` and `pods/log`.
pub fn resources_of(group: &str) -> impl Iterator<Item = String> {
    let rows = RESOURCES.iter().filter(move |(held, ..)| *held == group);
    rows.flat_map(|(_, plural, _, parts)| {
        let parts = parts.iter().map(move |part| format!("{plural}/{part}"));
        std::iter::once((*plural).to_owned()).chain(parts)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_list_is_that_of_kubernetes() {
        let served = windlass_apiserver::builtin::resources();
        let mut names = BTreeSet::new();
        for resource in &served {
            let (group, plural) = (&*resource.group, &*resource.plural);
            assert_eq!(
                is_cluster_scoped(group, plural),
                !resource.namespaced,
                "{plural} of {group}"
            );
            names.insert((group, plural.to_owned()));
            let parts = resource.subresources.iter();
            names.extend(parts.map(|part| (group, format!("{plural}/{}", part.name))));
        }
        let of = |group| resources_of(group).map(move |name| (group, name));
        let listed: BTreeSet<_> = groups().flat_map(of).collect();
        assert_eq!(listed, names);
        assert!(is_cluster_scoped("", "nodes") && !is_cluster_scoped("", "pods"));
        assert!(!is_cluster_scoped("x.dev", "nodes"));
    }
}
