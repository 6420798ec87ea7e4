//! What the runtime class of a pod asks for.

use serde_json::{Value, json};

use super::{BuiltInWrite, Fields, fault, is_empty, object, put, tolerations};
use crate::status::{Named, Refusal};

const CLASSES: Named<'static> = Named {
    group: "node.k8s.io",
    resource: "runtimeclasses",
};
const OTHER: &str = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
const ALONE: &str =
    "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";

/// What the admission plugin for runtime classes adds, and refuses.
pub(super) fn admit(pod: &mut Fields, write: BuiltInWrite<'_>) -> Result<(), Refusal> {
    let spec = pod.get("spec").and_then(Value::as_object);
    let name = spec.and_then(|spec| spec.get("runtimeClassName")?.as_str());
    let class = match name {
        None => None,
        Some("") => return Err(fault("resource name may not be empty")),
        Some(name) => {
            let class = write.cluster.get(CLASSES, "", name);
            let why = || format!("pod rejected: RuntimeClass {name:?} not found");
            Some(class.ok_or_else(|| write.forbidden(pod, &why()))?)
        }
    };
    let held = spec.and_then(|spec| spec.get("overhead"));
    let wanted = class
        .as_ref()
        .and_then(|class| class.get("overhead"))
        .map(|overhead| overhead.get("podFixed").cloned().unwrap_or(json!({})));
    match (&wanted, held) {
        (None, Some(held)) if !held.is_null() => return Err(write.forbidden(pod, ALONE)),
        (Some(wanted), Some(held)) if !is_empty(held) && wanted != held => {
            return Err(write.forbidden(pod, OTHER));
        }
        _ => {}
    }
    if let (Some(wanted), Some(spec)) = (wanted, object(pod, "spec")) {
        spec.insert("overhead".to_owned(), wanted);
    }
    match class.as_ref().and_then(|class| class.get("scheduling")) {
        Some(scheduling) => schedule(pod, scheduling, write),
        None => Ok(()),
    }
}

/// The pod goes to the nodes that have the class.
fn schedule(pod: &mut Fields, scheduling: &Value, write: BuiltInWrite<'_>) -> Result<(), Refusal> {
    let selector = scheduling.get("nodeSelector").and_then(Value::as_object);
    let spec = pod.get("spec").and_then(Value::as_object);
    let own = spec.and_then(|spec| spec.get("nodeSelector")?.as_object());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for (key, value) in selector.into_iter().flatten() {
        if let Some(held) = own
            .and_then(|own| own.get(key))
            .filter(|held| *held != value)
        {
            let (value, held) = (text(value), text(held));
            let why = format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; \
                 pod.spec.nodeSelector[{key}] = {held}"
            );
            return Err(write.forbidden(pod, &why));
        }
    }
    let Some(spec) = object(pod, "spec") else {
        return Ok(());
    };
    if let Some(selector) = selector {
        put(spec, "nodeSelector", json!({}));
        if let Some(own) = object(spec, "nodeSelector") {
            own.extend(selector.clone());
        }
    }
    let more = scheduling.get("tolerations").and_then(Value::as_array);
    let own = spec.get("tolerations").and_then(Value::as_array);
    let all: Vec<&Value> = [own, more].into_iter().flatten().flatten().collect();
    let merged = tolerations::merged(&all);
    if !merged.is_empty() {
        spec.insert("tolerations".to_owned(), merged.into());
    }
    Ok(())
}
