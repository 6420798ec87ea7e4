//! What of a pod can change.

use serde_json::{Value, json};

use super::{containers, of_pod};
use crate::builtin::validate::spot::{Causes, Spot};

const ONLY: &str = "pod updates may not change fields other than `spec.containers[*].image`,\
     `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to \
     existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was \
     previously negative)";
const CONTAINERS: [&str; 2] = ["containers", "initContainers"];

/// Judges a changed pod.
pub(in super::super) fn validate_update(new: &Spot<'_>, old: &Spot<'_>, causes: &mut Causes) {
    let (new, old) = (new.of("spec"), old.of("spec"));
    of_pod(&new, causes);
    for list in CONTAINERS {
        let (new, old) = (new.of(list), old.of(list));
        if new.len() != old.len() {
            return new.forbidden("pod updates may not add or remove containers", causes);
        }
        for container in new.items() {
            let image = container.of("image");
            image.named(|_| Vec::new(), causes);
            containers::image_of_pod(&image, causes);
        }
    }
    if !deadline(
        &new.of("activeDeadlineSeconds"),
        &old.of("activeDeadlineSeconds"),
        causes,
    ) {
        return;
    }
    tolerations(&new.of("tolerations"), &old.of("tolerations"), causes);
    gates(
        &new.of("schedulingGates"),
        &old.of("schedulingGates"),
        causes,
    );
    if munged(new.value(), old.value()) != munged(old.value(), old.value()) {
        new.forbidden(ONLY, causes);
    }
}

/// A deadline may come, and come nearer; says whether to go on.
fn deadline(new: &Spot<'_>, old: &Spot<'_>, causes: &mut Causes) -> bool {
    let most = i64::from(i32::MAX);
    match (new.number(), old.number()) {
        (Some(wanted), _) if !(0..=most).contains(&wanted) => {
            new.invalid(&format!("must be between 0 and {most}, inclusive"), causes);
            false
        }
        (Some(wanted), Some(held)) if held < wanted => {
            new.invalid("must be less than or equal to previous value", causes);
            false
        }
        (None, Some(_)) => {
            new.invalid(
                "must not update from a positive integer to nil value",
                causes,
            );
            true
        }
        _ => true,
    }
}

fn tolerations(new: &Spot<'_>, old: &Spot<'_>, causes: &mut Causes) {
    let timeless = |toleration: &Value| {
        let mut toleration = toleration.clone();
        if let Some(fields) = toleration.as_object_mut() {
            fields.remove("tolerationSeconds");
        }
        toleration
    };
    let kept: Vec<Value> = new.items().map(|found| timeless(found.value())).collect();
    if !old
        .items()
        .all(|held| kept.contains(&timeless(held.value())))
    {
        let why = "existing toleration can not be modified except its tolerationSeconds";
        new.forbidden(why, causes);
    }
}

fn gates(new: &Spot<'_>, old: &Spot<'_>, causes: &mut Causes) {
    for gate in new.items() {
        let name = gate.of("name");
        if !old
            .items()
            .any(|held| held.of("name").text() == name.text())
        {
            let why = format!(
                "only deletion is allowed, but found new scheduling gate '{}'",
                name.text()
            );
            name.forbidden(&why, causes);
        }
    }
}

/// A spec without what may change: the images, and what has rules of its own.
fn munged(spec: &Value, old: &Value) -> Value {
    let mut spec = spec.clone();
    let seconds = |spec: &Value| {
        spec.get("terminationGracePeriodSeconds")
            .and_then(Value::as_i64)
    };
    let mended = seconds(old).is_some_and(|held| held < 0) && seconds(&spec) == Some(1);
    if let Some(fields) = spec.as_object_mut() {
        if mended {
            fields.insert(
                "terminationGracePeriodSeconds".to_owned(),
                json!(seconds(old)),
            );
        }
        for field in ["activeDeadlineSeconds", "tolerations", "schedulingGates"] {
            fields.remove(field);
        }
        if !old.get("schedulingGates").is_none_or(Value::is_null) {
            fields.remove("nodeSelector");
        }
        for list in CONTAINERS {
            let containers = fields.get_mut(list).and_then(Value::as_array_mut);
            for container in containers.into_iter().flatten() {
                if let Some(container) = container.as_object_mut() {
                    container.remove("image");
                }
            }
        }
    }
    spec
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_of_a_pod_can_change() {
        let container = |image: &str| {
            json!({
                "name": "c", "image": image, "imagePullPolicy": "Always",
                "terminationMessagePolicy": "File",
            })
        };
        let pod = |change: &Value| {
            let mut spec = json!({
                "containers": [container("i")], "restartPolicy": "Always",
                "dnsPolicy": "ClusterFirst", "tolerations": [{ "key": "a", "operator": "Exists" }],
                "schedulingGates": [{ "name": "g" }], "activeDeadlineSeconds": 5,
            });
            for (field, value) in change.as_object().unwrap() {
                spec[field] = value.clone();
            }
            json!({ "spec": spec })
        };
        let old = pod(&json!({}));
        for (change, wrong) in [
            (json!({}), &[][..]),
            (json!({ "containers": [container("j")] }), &[]),
            (
                json!({ "activeDeadlineSeconds": 4, "schedulingGates": [] }),
                &[],
            ),
            (
                json!({ "activeDeadlineSeconds": 6 }),
                &["spec.activeDeadlineSeconds"],
            ),
            (json!({ "restartPolicy": "Never" }), &["spec"]),
            (json!({ "nodeName": "n" }), &["spec"]),
            (
                json!({ "containers": [container("i"), container("i")] }),
                &["spec.containers[1].name", "spec.containers"],
            ),
            (json!({ "tolerations": [] }), &["spec.tolerations"]),
            (
                json!({ "schedulingGates": [{ "name": "h" }] }),
                &["spec.schedulingGates[0].name"],
            ),
        ] {
            let mut causes = Causes::new();
            let new = pod(&change);
            validate_update(&Spot::root(&new), &Spot::root(&old), &mut causes);
            let fields: Vec<&str> = causes.iter().map(|cause| cause.field.as_str()).collect();
            assert_eq!(fields, wrong, "{change}");
        }
    }
}
