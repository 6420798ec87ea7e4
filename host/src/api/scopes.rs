//! Which kinds of Kubernetes are cluster-scoped, for whoever asks without a cluster.

/// Groups and their cluster-scoped resources.
const CLUSTER_SCOPED: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "componentstatuses",
            "namespaces",
            "nodes",
            "persistentvolumes",
        ],
    ),
    (
        "admissionregistration.k8s.io",
        &[
            "mutatingadmissionpolicies",
            "mutatingadmissionpolicybindings",
            "mutatingwebhookconfigurations",
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
            "validatingwebhookconfigurations",
        ],
    ),
    ("apiextensions.k8s.io", &["customresourcedefinitions"]),
    ("apiregistration.k8s.io", &["apiservices"]),
    (
        "authentication.k8s.io",
        &["selfsubjectreviews", "tokenreviews"],
    ),
    (
        "authorization.k8s.io",
        &[
            "selfsubjectaccessreviews",
            "selfsubjectrulesreviews",
            "subjectaccessreviews",
        ],
    ),
    (
        "certificates.k8s.io",
        &["certificatesigningrequests", "clustertrustbundles"],
    ),
    (
        "flowcontrol.apiserver.k8s.io",
        &["flowschemas", "prioritylevelconfigurations"],
    ),
    (
        "networking.k8s.io",
        &["ingressclasses", "ipaddresses", "servicecidrs"],
    ),
    ("node.k8s.io", &["runtimeclasses"]),
    (
        "rbac.authorization.k8s.io",
        &["clusterrolebindings", "clusterroles"],
    ),
    ("resource.k8s.io", &["deviceclasses", "resourceslices"]),
    ("scheduling.k8s.io", &["priorityclasses"]),
    (
        "storage.k8s.io",
        &[
            "csidrivers",
            "csinodes",
            "storageclasses",
            "volumeattachments",
            "volumeattributesclasses",
        ],
    ),
];

/// Whether a resource of Kubernetes itself is cluster-scoped; `false` also if it is of another group.
pub fn is_cluster_scoped(group: &str, plural: &str) -> bool {
    CLUSTER_SCOPED
        .iter()
        .any(|(held, plurals)| *held == group && plurals.contains(&plural))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_that_of_kubernetes() {
        for resource in windlass_apiserver::builtin::resources() {
            let (group, plural) = (&*resource.group, &*resource.plural);
            assert_eq!(
                is_cluster_scoped(group, plural),
                !resource.namespaced,
                "{plural} of {group}"
            );
        }
        assert!(is_cluster_scoped("", "nodes") && !is_cluster_scoped("", "pods"));
        assert!(!is_cluster_scoped("x.dev", "nodes"));
    }
}
