//! What resources may be called, and how much of them there may be.

use super::nodes::is_extended;
use super::spot::Spot;
use crate::builtin::quantity::Amount;
use crate::names;
use crate::status::Cause;

/// What quotas may be about, beside huge pages.
const FOR_QUOTAS: [&str; 19] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "services.nodeports",
    "services.loadbalancers",
];
/// What is counted.
const WHOLE: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];
const FOR_CONTAINERS: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// Whether quotas may be about a resource (`IsStandardQuotaResourceName`).
pub(super) fn is_for_quotas(name: &str) -> bool {
    FOR_QUOTAS.contains(&name)
        || name.starts_with("hugepages-")
        || name.starts_with("requests.hugepages-")
}

/// Whether it is in the group of Kubernetes (`IsNativeResource`).
pub(crate) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// What is wrong with the name of a resource (`validateResourceName`).
pub(super) fn name(name: &str) -> Vec<String> {
    let problems = names::label_key(name);
    let is_known = name.contains('/') || name == "storage" || is_for_quotas(name);
    if problems.is_empty() && !is_known {
        return vec!["must be a standard resource type or fully qualified".to_owned()];
    }
    problems
}

/// What is wrong with the name of a resource of containers (`validateContainerResourceName`).
pub(super) fn of_container(name: &str) -> Vec<String> {
    let mut problems = self::name(name);
    let is_known = FOR_CONTAINERS.contains(&name) || name.starts_with("hugepages-");
    if !name.contains('/') {
        if !is_known {
            problems.push("must be a standard resource for containers".to_owned());
        }
    } else if !is_native(name) && !is_extended(name) {
        problems.push("doesn't follow extended resource name standard".to_owned());
    }
    problems
}

/// What is wrong with the name of a resource that a quota limits (`ValidateResourceQuotaResourceName`).
pub(super) fn of_quota(name: &str) -> Vec<String> {
    let mut problems = self::name(name);
    if !name.contains('/') && !is_for_quotas(name) {
        problems.push("must be a standard resource for quota".to_owned());
    }
    problems
}

/// Judges an amount of a resource, which is told of a place (`ValidateResourceQuantityValue`).
pub(super) fn amount(name: &str, amount: &Spot<'_>, told: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    if let Some(held) = Amount::parse(amount.text()) {
        let mut wrong = |why| causes.push(Cause::invalid(told, amount.value(), why));
        if held.is_negative() {
            wrong("must be greater than or equal to 0");
        }
        if (WHOLE.contains(&name) || is_extended(name)) && !held.is_whole() {
            wrong("must be an integer");
        }
    }
    causes
}
