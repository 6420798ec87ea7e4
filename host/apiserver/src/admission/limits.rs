//! LimitRanger: what containers get that do not say what they need, and what pods and claims may need (kubernetes
//! `plugin/pkg/admission/limitranger`).

mod constraints;

use serde_json::{Value, json};

use super::attributes::{Admission, AdmissionOperation};
use crate::json::{entries, get, list, text};
use crate::meta;
use crate::status::Refusal;
use crate::store::GroupResource;

/// The annotation that lists the defaults which a pod has got.
const ANNOTATION: &str = "kubernetes.io/limit-ranger";

/// The kinds that have limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LimitedKind {
    Pod,
    Claim,
}

/// Gives the containers of a new pod, or of one that is resized, what the limits of its namespace say.
pub(super) fn mutate(admission: &Admission<'_>, object: &mut Value) {
    if limited(admission) == Some(LimitedKind::Pod) {
        for limits in ranges(admission) {
            fill(object, &limits);
        }
    }
}

/// Judges what a pod or a claim needs.
///
/// # Errors
/// 403 if that is too much or too little.
pub(super) fn validate(admission: &Admission<'_>) -> Result<(), Refusal> {
    let (Some(kind), Some(object)) = (limited(admission), admission.object) else {
        return Ok(());
    };
    for limits in ranges(admission) {
        let wrong = match kind {
            LimitedKind::Pod => constraints::of_pod(&limits, object),
            LimitedKind::Claim => constraints::of_claim(&limits, object),
        };
        if let Some(why) = constraints::aggregated(wrong) {
            let name = admission.final_name();
            return Err(Refusal::forbidden(admission.call.named(), name, &why));
        }
    }
    Ok(())
}

/// The kind of what is written, if limits count for the request.
fn limited(admission: &Admission<'_>) -> Option<LimitedKind> {
    let resource = admission.call.resource;
    let named = (resource.group.as_str(), resource.plural.as_str());
    let kind = match (named, admission.subresource(), admission.operation) {
        (("", "pods"), "", AdmissionOperation::Create)
        | (("", "pods"), "resize", AdmissionOperation::Update) => LimitedKind::Pod,
        (("", "persistentvolumeclaims"), "", _) => LimitedKind::Claim,
        _ => return None,
    };
    let is_going = admission.old.is_some_and(meta::is_deleting);
    (!is_going).then_some(kind)
}

/// The limits of the namespace, in the order of their names.
fn ranges(admission: &Admission<'_>) -> Vec<Value> {
    let place = GroupResource {
        group: String::new(),
        plural: "limitranges".to_owned(),
    };
    let store = admission.call.state.store();
    let held = store.list(&place, Some(admission.namespace())).entries;
    held.iter().map(|entry| entry.value()).collect()
}

/// The limits of a type in a LimitRange.
fn of_type<'a>(range: &'a Value, name: &'a str) -> impl Iterator<Item = &'a Value> {
    let limits = list(get(range, "spec"), "limits").iter();
    limits.filter(move |limit| text(limit, "type") == name)
}

/// Gives containers the defaults of a LimitRange, and notes it in an annotation.
fn fill(pod: &mut Value, range: &Value) {
    let mut defaults = [("limits", json!({})), ("requests", json!({}))];
    for limit in of_type(range, "Container") {
        for ((_, all), field) in defaults.iter_mut().zip(["default", "defaultRequest"]) {
            for (name, amount) in entries(&limit, field) {
                meta::put(all, name, amount.clone());
            }
        }
    }
    let [limits, requests] = defaults;
    let mut notes = Vec::new();
    for (field, word) in [
        ("containers", "container"),
        ("initContainers", "init container"),
    ] {
        let containers = pod.pointer_mut(&format!("/spec/{field}"));
        let containers = containers.and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let of = format!("for {word} {}", text(container, "name"));
            for ((field, defaults), side) in [(&requests, "request"), (&limits, "limit")] {
                let given = give(container, field, defaults);
                if !given.is_empty() {
                    notes.push(format!("{} {side} {of}", given.join(", ")));
                }
            }
        }
    }
    if !notes.is_empty() {
        let mut annotations = meta::get(pod, "annotations").cloned().unwrap_or(json!({}));
        let note = format!("LimitRanger plugin set: {}", notes.join("; "));
        meta::put(&mut annotations, ANNOTATION, note);
        meta::set(pod, "annotations", Some(annotations));
    }
}

/// Gives a container what one of its lists of resources lacks; says what that is.
fn give(container: &mut Value, field: &str, defaults: &Value) -> Vec<String> {
    let held = get(get(container, "resources"), field).clone();
    let missing = defaults.as_object().into_iter().flatten();
    let missing = missing.filter(|(name, _)| held.get(name).is_none());
    let mut all = if held.is_object() {
        held.clone()
    } else {
        json!({})
    };
    let mut given = Vec::new();
    for (name, amount) in missing {
        meta::put(&mut all, name, amount.clone());
        given.push(name.clone());
    }
    if !given.is_empty() {
        meta::set_in(container, "resources", field, Some(all));
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_get_what_they_do_not_say_and_the_pod_tells() {
        let range = json!({ "spec": { "limits": [
            { "type": "Container", "default": { "cpu": "2", "memory": "2Gi" }, "defaultRequest": { "cpu": "1" } },
            { "type": "Container", "default": { "cpu": "3" } },
            { "type": "Pod", "default": { "x": "1" } },
        ] } });
        let mut pod = json!({ "metadata": { "annotations": { "a": "b" } }, "spec": {
            "containers": [{ "name": "c" }, { "name": "d", "resources": { "limits": { "cpu": "9", "memory": "9Gi" } } }],
            "initContainers": [{ "name": "i", "resources": { "requests": { "cpu": "9" } } }],
        } });
        fill(&mut pod, &range);
        let resources = |pointer: &str| pod.pointer(&format!("/spec/{pointer}/resources")).unwrap();
        let filled =
            json!({ "requests": { "cpu": "1" }, "limits": { "cpu": "3", "memory": "2Gi" } });
        assert_eq!(resources("containers/0"), &filled);
        let asking =
            json!({ "requests": { "cpu": "1" }, "limits": { "cpu": "9", "memory": "9Gi" } });
        assert_eq!(resources("containers/1"), &asking);
        let first =
            json!({ "requests": { "cpu": "9" }, "limits": { "cpu": "3", "memory": "2Gi" } });
        assert_eq!(resources("initContainers/0"), &first);
        let note = "LimitRanger plugin set: cpu request for container c; cpu, memory limit for container c; cpu request \
                    for container d; cpu, memory limit for init container i";
        assert_eq!(
            pod["metadata"]["annotations"],
            json!({ "a": "b", ANNOTATION: note })
        );
        let before = pod.clone();
        fill(&mut pod, &range);
        assert_eq!(pod, before);
    }
}
