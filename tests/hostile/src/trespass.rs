//! Attacks that write what a grant must not cover.
//!
//! Each ends with a terminal failure that names the host's answer: `answer: denied`, or
//! `answer: accepted` if it was let through.

use serde_json::{Value, json};

use crate::{API_VERSION, Action, Failure, KIND, Outcome, Primary};
use windlass_sdk::bindings::windlass::plugin::cluster::{self, PatchType};

/// Applies a Secret in its own namespace.
pub(crate) fn write_secret(primary: &Primary) -> Outcome {
    attempt(&json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": format!("{}-stolen", primary.name), "namespace": primary.namespace },
        "stringData": { "key": "value" },
    }))
}

/// Applies a ConfigMap that belongs to a made-up object.
pub(crate) fn foreign_owner(primary: &Primary) -> Outcome {
    let mut map = config_map(primary, "foreign-owner");
    let owner = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": "somebody-else",
        "uid": "deadbeef-dead-4bad-8bad-deadbeefdead",
    });
    set(&mut map, "ownerReferences", json!([owner]));
    attempt(&map)
}

/// Applies a ConfigMap that somebody else must clear before it can go.
pub(crate) fn foreign_finalizer(primary: &Primary) -> Outcome {
    let mut map = config_map(primary, "foreign-finalizer");
    set(&mut map, "finalizers", json!(["somebody.else/finalizer"]));
    attempt(&map)
}

/// Applies a ConfigMap in a namespace that nobody granted.
pub(crate) fn other_namespace(primary: &Primary) -> Outcome {
    let mut map = config_map(primary, "other-namespace");
    set(&mut map, "namespace", json!("kube-system"));
    attempt(&map)
}

/// Creates a ConfigMap that belongs to a made-up object.
pub(crate) fn create_foreign_owner(primary: &Primary) -> Outcome {
    let mut map = config_map(primary, "create-foreign-owner");
    let owner =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "else", "uid": "deadbeef" });
    set(&mut map, "ownerReferences", json!([owner]));
    answered(cluster::create(&map.to_string()))
}

/// Takes all finalizers off a ConfigMap, by moving its metadata away.
pub(crate) fn patch_finalizers(primary: &Primary) -> Outcome {
    let patch =
        json!([{ "op": "move", "from": "/metadata", "path": "/data/metadata" }]).to_string();
    let target = primary.config_map("patch-finalizers");
    answered(cluster::patch(&target, None, PatchType::Json, &patch))
}

/// Takes all owners off a ConfigMap.
pub(crate) fn patch_owners(primary: &Primary) -> Outcome {
    let patch = json!({ "metadata": { "ownerReferences": null } }).to_string();
    let target = primary.config_map("patch-owners");
    answered(cluster::patch(&target, None, PatchType::Merge, &patch))
}

/// Evicts a pod, which nobody granted.
pub(crate) fn post_eviction(primary: &Primary) -> Outcome {
    let mut pod = primary.config_map("post-eviction");
    pod.kind = "Secret".to_owned();
    answered(cluster::create_subresource(&pod, "eviction", "{}"))
}

/// Applies a set whose one child is in a namespace that nobody granted.
pub(crate) fn set_elsewhere(primary: &Primary) -> Outcome {
    let mut map = config_map(primary, "set-elsewhere");
    set(&mut map, "namespace", json!("kube-system"));
    let answer = cluster::apply_set(&[map.to_string()]);
    let first = |mut errors: Vec<cluster::SetError>| match errors.len() {
        1 => errors.remove(0).error,
        count => other(&format!("{count} errors")),
    };
    answered(answer.map(|_| String::new()).map_err(first))
}

/// Applies a ConfigMap with the mark of another plugin's set.
pub(crate) fn write_label(primary: &Primary) -> Outcome {
    let mut map = config_map(primary, "write-label");
    set(&mut map, "labels", json!({ "windlass.dev/set": "healthy" }));
    attempt(&map)
}

/// Applies a set whose child has an annotation of the host.
pub(crate) fn set_label(primary: &Primary) -> Outcome {
    let mut map = config_map(primary, "set-label");
    set(&mut map, "annotations", json!({ "windlass.dev/x": "y" }));
    let answer = cluster::apply_set(&[map.to_string()]);
    let first = |mut errors: Vec<cluster::SetError>| match errors.len() {
        1 => errors.remove(0).error,
        count => other(&format!("{count} errors")),
    };
    answered(answer.map(|_| String::new()).map_err(first))
}

/// Takes a ConfigMap out of its set, with the label's name in escapes.
pub(crate) fn patch_label(primary: &Primary) -> Outcome {
    let path = "/metadata/labels/windlass.dev~1set";
    let patch = json!([{ "op": "remove", "path": path }]).to_string();
    let target = primary.config_map("patch-label");
    answered(cluster::patch(&target, None, PatchType::Json, &patch))
}

/// Takes all labels off a ConfigMap.
pub(crate) fn patch_labels(primary: &Primary) -> Outcome {
    let patch = json!({ "metadata": { "labels": null } }).to_string();
    let target = primary.config_map("patch-labels");
    answered(cluster::patch(&target, None, PatchType::Merge, &patch))
}

/// Creates, patches both ways, and applies a set, as a good plugin does.
pub(crate) fn healthy_writes(primary: &Primary) -> Outcome {
    let write = || -> Result<(), cluster::Error> {
        cluster::create(&config_map(primary, "made").to_string())?;
        let made = primary.config_map("made");
        let merge = json!({ "data": { "by": null, "merged": "1" } }).to_string();
        cluster::patch(&made, None, PatchType::Merge, &merge)?;
        let add = json!([{ "op": "add", "path": "/data/added", "value": "2" }]).to_string();
        let kept = cluster::patch(&made, None, PatchType::Json, &add)?;
        let kept: Value = serde_json::from_str(&kept).unwrap_or_default();
        if kept.get("data") != Some(&json!({ "merged": "1", "added": "2" })) {
            return Err(other(&kept.to_string()));
        }
        let children = ["b", "a"].map(|name| config_map(primary, name).to_string());
        let kept = cluster::apply_set(&children).map_err(|errors| other(&format!("{errors:?}")))?;
        let names: Vec<_> = kept
            .iter()
            .map(|child| child.contains(&format!("{}-b", primary.name)))
            .collect();
        match names[..] {
            [true, false] => Ok(()),
            _ => Err(other(&format!("{kept:?}"))),
        }
    };
    match write() {
        Ok(()) => Ok(Action::AwaitChange),
        Err(error) => Err(Failure::Transient(format!("cannot write: {error:?}"))),
    }
}

/// Applies a ConfigMap that the primary owns, as a good plugin does.
pub(crate) fn healthy_write(primary: &Primary) -> Outcome {
    let mut map = config_map(primary, "ok");
    let owner = json!({
        "apiVersion": API_VERSION, "kind": KIND, "name": primary.name, "uid": primary.uid,
        "controller": true, "blockOwnerDeletion": true,
    });
    set(&mut map, "ownerReferences", json!([owner]));
    match cluster::apply(&map.to_string()) {
        Ok(_) => Ok(Action::AwaitChange),
        Err(error) => Err(Failure::Transient(format!("cannot apply: {error:?}"))),
    }
}

/// Applies a ConfigMap of 1 MiB. What is answered is not read.
pub(crate) fn large_write(primary: &Primary) -> Outcome {
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": format!("{}-large", primary.name), "namespace": primary.namespace },
        "data": { "fill": "x".repeat(1 << 20) },
    });
    match cluster::apply(&map.to_string()) {
        Ok(_) => Ok(Action::AwaitChange),
        Err(error) => Err(Failure::Terminal(format!("{error:?}"))),
    }
}

/// A ConfigMap `<primary>-<suffix>` beside the primary.
pub(crate) fn config_map(primary: &Primary, suffix: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": format!("{}-{suffix}", primary.name), "namespace": primary.namespace },
        "data": { "by": "hostile" },
    })
}

/// Sets a field of the metadata.
fn set(object: &mut Value, field: &str, value: Value) {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.insert(field.to_owned(), value);
    }
}

/// Applies `object` and reports the answer.
fn attempt(object: &Value) -> Outcome {
    answered(cluster::apply(&object.to_string()))
}

/// An answer that is none of the host's.
fn other(message: &str) -> cluster::Error {
    cluster::Error::Other(cluster::Refusal {
        code: 0,
        reason: String::new(),
        message: message.to_owned(),
        causes: Vec::new(),
    })
}

/// Reports an answer.
fn answered(answer: Result<String, cluster::Error>) -> Outcome {
    let answer = match answer {
        Ok(_) => "accepted".to_owned(),
        Err(cluster::Error::Denied(_)) => "denied".to_owned(),
        Err(error) => format!("{error:?}"),
    };
    Err(Failure::Terminal(format!("answer: {answer}")))
}
