//! How important a pod is, by its class.

use serde_json::{Value, json};

use super::{BuiltInWrite, Fields, object};
use crate::json::text;
use crate::status::{Named, Refusal};

const CLASSES: Named<'_> = Named {
    group: "scheduling.k8s.io",
    resource: "priorityclasses",
};
/// Fills in what the class of a pod says.
pub(super) fn admit(pod: &mut Fields, write: BuiltInWrite<'_>) -> Result<(), Refusal> {
    let spec = pod.get("spec").and_then(Value::as_object);
    let name = spec
        .map(|spec| text(spec, "priorityClassName").to_owned())
        .unwrap_or_default();
    let class = if name.is_empty() {
        default_class(write)
    } else {
        let found = write.cluster.get(CLASSES, "", &name);
        let why = format!("no PriorityClass with name {name} was found");
        Some(found.ok_or_else(|| write.forbidden(pod, &why))?)
    };
    let of_class = |field: &str| class.as_ref().and_then(|class| class.get(field)).cloned();
    let priority = of_class("value").unwrap_or_else(|| json!(0));
    let policy = of_class("preemptionPolicy").unwrap_or_else(|| json!("PreemptLowerPriority"));
    let name = class
        .as_ref()
        .and_then(|class| class.pointer("/metadata/name"))
        .cloned();
    let given = |field: &str| spec.and_then(|spec| spec.get(field)).cloned();
    if let Some(given) = given("priority").filter(|given| *given != priority) {
        let why = format!(
            "the integer value of priority ({given}) must not be provided in pod spec; priority \
             admission controller computed {priority} from the given PriorityClass name"
        );
        return Err(write.forbidden(pod, &why));
    }
    if let Some(given) = given("preemptionPolicy").filter(|given| *given != policy) {
        let (given, policy) = (given.as_str().unwrap_or_default(), policy.as_str());
        let why = format!(
            "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; \
             priority admission controller computed {} from the given PriorityClass name",
            policy.unwrap_or_default()
        );
        return Err(write.forbidden(pod, &why));
    }
    if let Some(spec) = object(pod, "spec") {
        spec.insert("priority".to_owned(), priority);
        spec.insert("preemptionPolicy".to_owned(), policy);
        if let Some(name) = name {
            spec.insert("priorityClassName".to_owned(), name);
        }
    }
    Ok(())
}

/// The class for all pods that name none; the lowest of several.
fn default_class(write: BuiltInWrite<'_>) -> Option<Value> {
    let classes = write.cluster.list(CLASSES).into_iter();
    let defaults = classes.filter(|class| class.get("globalDefault") == Some(&json!(true)));
    defaults.min_by_key(|class| class.get("value").and_then(Value::as_i64))
}

/// There is one default at most: no other one than the class that is changed.
pub(super) fn check(
    class: &Fields,
    old: Option<&Fields>,
    write: BuiltInWrite<'_>,
) -> Result<(), Refusal> {
    if class.get("globalDefault") != Some(&json!(true)) {
        return Ok(());
    }
    let own = old.and_then(|old| old.get("metadata")?.get("name"));
    match default_class(write) {
        Some(other) if other.pointer("/metadata/name") != own => {
            let name = other.pointer("/metadata/name").and_then(Value::as_str);
            let why = format!(
                "PriorityClass {} is already marked as default. Only one default can exist",
                name.unwrap_or_default()
            );
            Err(write.forbidden(class, &why))
        }
        _ => Ok(()),
    }
}
