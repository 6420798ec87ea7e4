//! Attacks that write what a grant must not cover.
//!
//! Each ends with a terminal failure that names the host's answer: `answer: Error::Denied`, or
//! `answer: accepted` if it was let through.

use serde_json::{Value, json};

use crate::{API_VERSION, Action, Failure, KIND, Outcome, Primary};
use windlass_sdk::bindings::windlass::plugin::cluster;

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

/// A ConfigMap `<primary>-<suffix>` beside the primary.
fn config_map(primary: &Primary, suffix: &str) -> Value {
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
    let answer = match cluster::apply(&object.to_string()) {
        Ok(_) => "accepted".to_owned(),
        Err(error) => format!("{error:?}"),
    };
    Err(Failure::Terminal(format!("answer: {answer}")))
}
