//! What the embedded server serves of all that the real one does.

/// Resources whose objects do something inside the real server that nobody does here. Those that informers of
/// kube-scheduler and kube-controller-manager wait for are served all the same.
const NO_RESOURCES: [&str; 1] = ["componentstatuses"];

/// Subresources that lead to a node: they are listed, and a caller is told that there is none. What
/// they take and answer is not an object.
const OF_NODES: [&str; 7] = [
    "nodes/proxy",
    "pods/attach",
    "pods/exec",
    "pods/log",
    "pods/portforward",
    "pods/proxy",
    "services/proxy",
];

/// Whether a group is Kubernetes' own, and served.
pub(crate) fn serves_group(group: &str) -> bool {
    !group.contains('.') || group.ends_with(".k8s.io")
}

/// Takes a plural.
pub(crate) fn serves(resource: &str) -> bool {
    !NO_RESOURCES.contains(&resource)
}

/// Takes a plural with a subresource after a slash.
pub(crate) fn leads_to_node(subresource: &str) -> bool {
    OF_NODES.contains(&subresource)
}
