//! What of a pod can change while it runs: how much cpu and memory its containers get (`ValidatePodResize`).

use serde_json::{Map, Value, json};

use super::{annotations, of_pod};
use crate::builtin::strategy::qos_class;
use crate::builtin::validate::spot::{Causes, Spot};
use crate::json::{get, list, text};
use crate::status::Cause;

const SIDES: [&str; 2] = ["requests", "limits"];
const MIRROR: &str = "kubernetes.io/config.mirror";
const RESIZED: [&str; 2] = ["cpu", "memory"];

/// Judges a pod that is resized.
pub(in super::super) fn validate_resize(new: &Spot<'_>, old: &Spot<'_>, causes: &mut Causes) {
    let (spec, held) = (new.of("spec"), old.of("spec"));
    let annotations = new.of("metadata.annotations");
    annotations::specific(&annotations, &spec, &annotations, causes);
    of_pod(&spec, causes);
    let is_mirror = get(get(old.value(), "metadata"), "annotations").get(MIRROR);
    let why = match held.of("os.name").text() {
        _ if is_mirror.is_some() => "static pods cannot be resized",
        "windows" => "windows pods cannot be resized",
        _ => "",
    };
    if !why.is_empty() {
        *causes = vec![Cause::forbidden("[]", why)];
        return;
    }
    judge(new, old, causes);
}

fn judge(new: &Spot<'_>, old: &Spot<'_>, causes: &mut Causes) {
    let (spec, held) = (new.of("spec"), old.of("spec"));
    let class = spec.value().as_object().map_or("", qos_class);
    let before = old.of("status.qosClass");
    if before.text() != class {
        let why = "Pod QOS Class may not change as a result of resizing";
        causes.push(Cause::invalid(
            "spec",
            new.of("status.qosClass").value(),
            why,
        ));
    }
    if !is_supported(old.value()) {
        spec.forbidden("Pod running on node without support for resize", causes);
    }
    let mut munged = spec.value().clone();
    if is_said(spec.value()) || is_said(held.value()) {
        whole(&spec, &held, &mut munged, causes);
    }
    let before = causes.len();
    for name in ["containers", "initContainers"] {
        order(name, &spec.of(name), &held.of(name), causes);
    }
    if causes.len() > before {
        return;
    }
    for name in ["initContainers", "containers"] {
        for (new, old) in spec.of(name).items().zip(held.of(name).items()) {
            removed(
                &new.of("resources"),
                old.of("resources").value(),
                "resource",
                causes,
            );
        }
    }
    regular(&spec, &held, &mut munged, causes);
    first(&spec, &held, &mut munged, causes);
    if causes.is_empty() && !same(&munged, held.value()) {
        spec.forbidden("only cpu and memory resources are mutable", causes);
    }
}

/// Whether the node of a pod can resize: then it says what the containers have.
fn is_supported(pod: &Value) -> bool {
    let statuses = list(get(pod, "status"), "containerStatuses").iter();
    let is_running = |status: &&Value| !get(get(status, "state"), "running").is_null();
    let running = { statuses }.find(is_running);
    running.is_none_or(|status| !get(status, "resources").is_null())
}

/// Whether a pod says what it needs as a whole.
fn is_said(spec: &Value) -> bool {
    let resources = get(spec, "resources");
    { SIDES.iter() }.any(|side| !amounts(resources, side).is_empty())
}

fn whole(new: &Spot<'_>, old: &Spot<'_>, munged: &mut Value, causes: &mut Causes) {
    let (resources, held) = (new.of("resources"), old.of("resources"));
    if held.is_set() && !resources.is_set() {
        return resources.forbidden("pod-level resources cannot be removed", causes);
    }
    if held.is_set() {
        removed(&resources, held.value(), "pod-level resource", causes);
    }
    let mut kept = resources.value().clone();
    for side in SIDES {
        put_back(&mut kept, side, held.value());
    }
    if !held.is_set() && same(&kept, &json!({})) {
        kept = Value::Null;
    }
    if !same(&kept, held.value()) {
        let why = "only cpu and memory resources are mutable at pod-level";
        new.forbidden(why, causes);
    }
    if let Some(fields) = munged.as_object_mut() {
        fields.insert("resources".to_owned(), kept);
    }
}

/// No container comes or goes, and each stays in its place.
fn order(name: &str, new: &Spot<'_>, old: &Spot<'_>, causes: &mut Causes) {
    if new.len() != old.len() {
        let why = format!("{name} may not be added or removed on resize");
        return new.forbidden(&why, causes);
    }
    for (new, old) in new.items().zip(old.items()) {
        if new.of("name").text() != old.of("name").text() {
            let why = format!("{name} may not be renamed or reordered on resize");
            new.of("name").forbidden(&why, causes);
        }
    }
}

/// A resource that was asked for once stays.
fn removed(new: &Spot<'_>, old: &Value, of: &str, causes: &mut Causes) {
    for side in SIDES {
        let (wanted, held) = (amounts(new.value(), side), amounts(old, side));
        if held.keys().any(|name| !wanted.contains_key(name)) {
            let why = format!("{of} {side} cannot be removed");
            new.of(side).forbidden(&why, causes);
        }
    }
}

fn regular(new: &Spot<'_>, old: &Spot<'_>, munged: &mut Value, causes: &mut Causes) {
    for (container, held) in pairs(munged, "containers", old.value()) {
        without_changes(container, held);
        if !same(container, held) {
            new.forbidden("only cpu and memory resources are mutable", causes);
        }
    }
}

fn first(new: &Spot<'_>, old: &Spot<'_>, munged: &mut Value, causes: &mut Causes) {
    let place = new.of("initContainers");
    for ((container, held), spot) in pairs(munged, "initContainers", old.value()).zip(place.items())
    {
        let is_changed = !same(container, held);
        without_changes(container, held);
        if !same(container, held) {
            let why = "only cpu and memory resources for init or sidecar containers are mutable";
            spot.forbidden(why, causes);
        }
        let mut policies = list(&*container, "resizePolicy").iter();
        let restarts = policies
            .by_ref()
            .filter(|policy| text(*policy, "restartPolicy") == "RestartContainer");
        let restarts = restarts.count();
        if is_changed && text(&*container, "restartPolicy") != "Always" {
            for _ in 0..restarts {
                let why = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized";
                spot.forbidden(why, causes);
            }
        }
    }
}

/// The containers of a changed spec, each with the one that was there.
fn pairs<'a>(
    spec: &'a mut Value,
    name: &str,
    old: &'a Value,
) -> impl Iterator<Item = (&'a mut Value, &'a Value)> {
    let all = spec.get_mut(name).and_then(Value::as_array_mut);
    let held = old.get(name).and_then(Value::as_array);
    all.into_iter().flatten().zip(held.into_iter().flatten())
}

/// Gives a container the cpu and the memory that it had. Claims have no part in that.
fn without_changes(container: &mut Value, old: &Value) {
    let held = get(old, "resources");
    let wanted = get(&*container, "resources");
    let mut resources =
        json!({ "requests": get(wanted, "requests"), "limits": get(wanted, "limits") });
    for side in SIDES {
        put_back(&mut resources, side, held);
    }
    if let Some(fields) = container.as_object_mut() {
        fields.insert("resources".to_owned(), resources);
    }
}

/// Puts the cpu and the memory of a side back to what they were.
fn put_back(resources: &mut Value, side: &str, old: &Value) {
    let mut all = amounts(resources, side);
    let held = amounts(old, side);
    for name in RESIZED {
        all.remove(name);
        if let Some(amount) = held.get(name) {
            all.insert(name.to_owned(), amount.clone());
        }
    }
    if let Some(fields) = resources.as_object_mut() {
        fields.insert(side.to_owned(), Value::Object(all));
    }
}

fn amounts(resources: &Value, side: &str) -> Map<String, Value> {
    get(resources, side)
        .as_object()
        .cloned()
        .unwrap_or_default()
}

/// Whether two values are equal, where nothing and empty are the same (`equality.Semantic`).
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let mut names = one.keys().chain(other.keys());
            names.all(|name| same(get(one, name), get(other, name)))
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(all), Value::Null) | (Value::Null, Value::Object(all)) => {
            all.values().all(|value| same(value, &Value::Null))
        }
        (Value::Array(all), Value::Null) | (Value::Null, Value::Array(all)) => all.is_empty(),
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(resources: &Value, more: &Value) -> Value {
        let mut pod = json!({
            "metadata": { "name": "a" },
            "spec": {
                "containers": [{
                    "name": "c", "image": "i", "imagePullPolicy": "Always",
                    "terminationMessagePolicy": "File", "resources": resources,
                }],
                "restartPolicy": "Always", "dnsPolicy": "ClusterFirst",
            },
            "status": { "qosClass": "Burstable" },
        });
        for (pointer, value) in more.as_object().into_iter().flatten() {
            if let Some(place) = pod.pointer_mut(pointer) {
                *place = value.clone();
            }
        }
        pod
    }

    #[test]
    fn cpu_and_memory_change_and_nothing_else() {
        let asks = |cpu: &str| json!({ "requests": { "cpu": cpu } });
        let old = pod(&asks("1"), &json!({}));
        for (new, wrong) in [
            (pod(&asks("2"), &json!({})), &[][..]),
            (
                pod(
                    &json!({ "requests": { "cpu": "2", "memory": "1Gi" } }),
                    &json!({}),
                ),
                &[],
            ),
            (
                pod(&json!({}), &json!({})),
                &["spec", "spec.containers[0].resources.requests"],
            ),
            (
                pod(
                    &json!({ "requests": { "cpu": "2", "ephemeral-storage": "1Gi" } }),
                    &json!({}),
                ),
                &["spec"],
            ),
            (
                pod(&asks("2"), &json!({ "/spec/containers/0/name": "d" })),
                &["spec.containers[0].name"],
            ),
            (
                pod(&asks("2"), &json!({ "/spec/containers/0/image": "j" })),
                &["spec"],
            ),
            (
                pod(&asks("2"), &json!({ "/spec/dnsPolicy": "Default" })),
                &["spec"],
            ),
        ] {
            let mut causes = Causes::new();
            validate_resize(&Spot::root(&new), &Spot::root(&old), &mut causes);
            let fields: Vec<&str> = causes.iter().map(|cause| cause.field.as_str()).collect();
            assert_eq!(fields, wrong, "{new}");
        }
    }

    #[test]
    fn static_pods_stay_as_they_are() {
        let mut old = pod(&json!({}), &json!({}));
        old["metadata"]["annotations"] = json!({ MIRROR: "x" });
        let mut causes = Causes::new();
        validate_resize(&Spot::root(&old), &Spot::root(&old), &mut causes);
        assert_eq!(
            causes,
            [Cause::forbidden("[]", "static pods cannot be resized")]
        );
    }

    #[test]
    fn nothing_and_empty_are_the_same() {
        for (one, other, want) in [
            (json!({ "a": {} }), json!({}), true),
            (json!({ "a": [] }), json!({ "a": null }), true),
            (json!({ "a": [1] }), json!({}), false),
            (json!({ "a": { "b": 1 } }), json!(null), false),
        ] {
            assert_eq!(same(&one, &other), want, "{one} {other}");
        }
    }
}
