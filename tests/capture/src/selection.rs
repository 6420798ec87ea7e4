//! What the embedded server serves of all that the real one does.

/// Groups whose objects do something inside the real server, or on nodes, that nobody does here.
const NO_GROUPS: [&str; 4] = [
    "apiregistration.k8s.io",
    "certificates.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "resource.k8s.io",
];

/// The same for single resources and subresources; the latter all lead to a node.
const NO_RESOURCES: [&str; 14] = [
    "componentstatuses",
    "ipaddresses",
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    "nodes/proxy",
    "pods/attach",
    "pods/exec",
    "pods/log",
    "pods/portforward",
    "pods/proxy",
    "servicecidrs",
    "services/proxy",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
];

/// Whether a group is Kubernetes' own, and served.
pub(crate) fn serves_group(group: &str) -> bool {
    let own = !group.contains('.') || group.ends_with(".k8s.io");
    own && !NO_GROUPS.contains(&group)
}

/// Takes a plural, or a plural with a subresource after a slash.
pub(crate) fn serves(resource: &str) -> bool {
    !NO_RESOURCES.contains(&resource)
}
