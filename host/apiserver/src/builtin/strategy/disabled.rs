//! Fields that need a feature which is off: they are dropped, unless the old object has them.

use serde_json::Value;

use super::{BuiltInWrite, Fields, object};

const CONTAINERS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// Drops what the real server drops (`DropDisabledFields` and the like).
pub(super) fn drop(fields: &mut Fields, old: Option<&Fields>, write: BuiltInWrite<'_>) {
    let resource = write.resource;
    let at: &[&str] = match (resource.group.as_str(), resource.plural.as_str()) {
        ("coordination.k8s.io", "leases") => return lease(fields, old),
        ("apps", "statefulsets") => {
            stateful(fields, old);
            &["spec", "template", "spec"]
        }
        ("apps", "deployments" | "replicasets" | "daemonsets")
        | ("batch", "jobs")
        | ("", "replicationcontrollers") => &["spec", "template", "spec"],
        ("batch", "cronjobs") => &["spec", "jobTemplate", "spec", "template", "spec"],
        ("", "podtemplates") => &["template", "spec"],
        ("", "pods") => &["spec"],
        _ => return,
    };
    let held = old.and_then(|old| below(old, at));
    if let Some(spec) = below_mut(fields, at) {
        of_pod(spec, held);
    }
}

fn below<'a>(fields: &'a Fields, at: &[&str]) -> Option<&'a Fields> {
    at.iter()
        .try_fold(fields, |fields, name| fields.get(*name)?.as_object())
}

fn below_mut<'a>(fields: &'a mut Fields, at: &[&str]) -> Option<&'a mut Fields> {
    at.iter().try_fold(fields, |fields, name| {
        fields.get_mut(*name)?.as_object_mut()
    })
}

/// Leases whose holders are chosen by the server (`CoordinatedLeaderElection`).
fn lease(lease: &mut Fields, old: Option<&Fields>) {
    let held = old.and_then(|old| below(old, &["spec"]));
    if let Some(spec) = object(lease, "spec") {
        for field in ["strategy", "preferredHolder"] {
            if !held.is_some_and(|held| held.contains_key(field)) {
                spec.remove(field);
            }
        }
    }
}

/// Several pods that are away at once (`MaxUnavailableStatefulSet`); and the type of a claim is known.
fn stateful(set: &mut Fields, old: Option<&Fields>) {
    let at = ["spec", "updateStrategy", "rollingUpdate"];
    let held = old.and_then(|old| below(old, &at));
    if !held.is_some_and(|held| held.contains_key("maxUnavailable"))
        && let Some(rolling) = below_mut(set, &at)
    {
        rolling.remove("maxUnavailable");
    }
    let claims = object(set, "spec")
        .and_then(|spec| spec.get_mut("volumeClaimTemplates"))
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten();
    for claim in claims.filter_map(Value::as_object_mut) {
        // The defaults put them back.
        claim.remove("apiVersion");
        claim.remove("kind");
    }
}

/// Signals that end a container (`ContainerStopSignals`), and groups of pods (`GenericWorkload`).
fn of_pod(spec: &mut Fields, old: Option<&Fields>) {
    if !old.is_some_and(|old| old.contains_key("schedulingGroup")) {
        spec.remove("schedulingGroup");
    }
    if old.is_some_and(has_signal) {
        return;
    }
    for list in CONTAINERS {
        let all = spec.get_mut(list).and_then(Value::as_array_mut);
        for container in all.into_iter().flatten().filter_map(Value::as_object_mut) {
            let Some(Value::Object(lifecycle)) = container.get_mut("lifecycle") else {
                continue;
            };
            let had = lifecycle.remove("stopSignal").is_some();
            if had && lifecycle.is_empty() {
                container.remove("lifecycle");
            }
        }
    }
}

fn has_signal(spec: &Fields) -> bool {
    let lists = CONTAINERS
        .iter()
        .filter_map(|list| spec.get(*list)?.as_array());
    lists
        .flatten()
        .any(|container| container.pointer("/lifecycle/stopSignal").is_some())
}
