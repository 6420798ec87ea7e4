//! PodResizeValidator: a pod is resized where its node has the room for it (kubernetes
//! `plugin/pkg/admission/podresize`).

use serde_json::Value;

use super::amounts::{self, Amounts};
use super::attributes::{Admission, AdmissionOperation};
use super::needs::{self, Basis, ResourceSide};
use crate::builtin::quantity::Amount;
use crate::json::{get, text};
use crate::meta;
use crate::status::{Cause, Refusal};
use crate::store::{GroupResource, NamespacedName};

const SYSTEM: &str = "kubernetes.io/os";

/// Judges whether a pod that is resized fits its node.
///
/// # Errors
/// 403 if the node is gone, cannot resize or is too small.
pub(super) fn validate(admission: &Admission<'_>) -> Result<(), Refusal> {
    let resource = admission.call.resource;
    let is_pod = resource.group.is_empty() && resource.plural == "pods";
    let is_update = admission.operation == AdmissionOperation::Update;
    let (Some(pod), Some(old)) = (admission.object, admission.old) else {
        return Ok(());
    };
    let node = text(get(pod, "spec"), "nodeName");
    let generation = |pod: &Value| meta::get(pod, "generation").and_then(Value::as_i64);
    let is_resize = is_pod && is_update && admission.subresource() == "resize";
    if !is_resize || node.is_empty() || generation(pod) == generation(old) {
        return Ok(());
    }
    let refusal =
        |why: &str| Refusal::forbidden(admission.call.named(), admission.final_name(), why);
    let place = GroupResource {
        group: String::new(),
        plural: "nodes".to_owned(),
    };
    let store = admission.call.state.store();
    let Some(held) = store.get(&place, &NamespacedName::new("", node)) else {
        return Err(refusal(&format!("node {node:?} not found")));
    };
    if let Some((why, reason)) = misfit(pod, &held.value(), node) {
        let mut refusal = refusal(&why);
        refusal.details.causes.push(Cause {
            reason,
            message: String::new(),
            field: String::new(),
        });
        return Err(refusal);
    }
    Ok(())
}

/// Why a node cannot take a pod, and in a word.
fn misfit(pod: &Value, node: &Value, name: &str) -> Option<(String, &'static str)> {
    let labels = meta::get(node, "labels").unwrap_or(&Value::Null);
    let system = labels.get(SYSTEM).and_then(Value::as_str);
    if let Some(system) = system.filter(|system| *system != "linux") {
        let why =
            format!("pod resize is only supported on linux nodes, node {name:?} is {system:?}");
        return Some((why, "UnsupportedPlatform"));
    }
    let mut requests = needs::of_pod(pod, ResourceSide::Requests, Basis::Spec);
    amounts::add(
        &mut requests,
        &amounts::read(get(get(pod, "spec"), "overhead")),
    );
    let room = amounts::read(get(get(node, "status"), "allocatable"));
    let of = |list: &Amounts, name: &str| list.get(name).copied().unwrap_or(Amount::whole(0));
    let mut lacking = Vec::new();
    let milli: fn(Amount) -> i128 = Amount::milli;
    for (resource, shown) in [("cpu", milli), ("memory", Amount::rounded)] {
        let (asked, most) = (of(&requests, resource), of(&room, resource));
        if asked.is_above(most) {
            lacking.push(format!(
                "{resource}, requested: {}, allocatable: {}",
                shown(asked),
                shown(most)
            ));
        }
    }
    let why = format!(
        "node didn't have enough allocatable resources: {}",
        lacking.join("; ")
    );
    (!lacking.is_empty()).then_some((why, "NodeCapacity"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_must_fit_its_node() {
        let pod = json!({ "spec": { "overhead": { "cpu": "100m" }, "containers": [
            { "name": "c", "resources": { "requests": { "cpu": "2", "memory": "1Gi" } } },
        ] } });
        let node = |cpu: &str, system: &str| {
            json!({
                "metadata": { "labels": { SYSTEM: system } },
                "status": { "allocatable": { "cpu": cpu, "memory": "1Gi" } },
            })
        };
        assert_eq!(misfit(&pod, &node("2100m", "linux"), "n"), None);
        let (why, reason) = misfit(&pod, &node("2", "linux"), "n").unwrap();
        assert!(
            why.ends_with(": cpu, requested: 2100, allocatable: 2000"),
            "{why}"
        );
        assert_eq!(reason, "NodeCapacity");
        let (why, reason) = misfit(&pod, &node("9", "windows"), "n").unwrap();
        assert!(why.ends_with("node \"n\" is \"windows\""), "{why}");
        assert_eq!(reason, "UnsupportedPlatform");
    }
}
