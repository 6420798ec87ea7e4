//! Volumes, claims and their classes.

use serde_json::Value;

use super::part::{NONE, TimedValue, UNSET};

const OLD_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// `RWO,ROX`, in an order of its own.
fn modes(object: TimedValue<'_>, pointer: &str) -> String {
    let has = object.texts(pointer);
    let known = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let shown = known.iter().filter(|(mode, _)| has.contains(mode));
    shown.map(|(_, short)| *short).collect::<Vec<_>>().join(",")
}

fn class_of(object: TimedValue<'_>) -> String {
    let annotations = object.map("/metadata/annotations");
    let old = annotations.get(OLD_CLASS).copied();
    old.unwrap_or_else(|| object.text("/spec/storageClassName"))
        .to_owned()
}

fn phase(object: TimedValue<'_>) -> Value {
    if object.is_terminating() {
        "Terminating".into()
    } else {
        object.text("/status/phase").into()
    }
}

fn quantity(object: TimedValue<'_>, pointer: &str) -> Value {
    object.text_or(pointer, "0").into()
}

pub(super) fn volume(object: TimedValue<'_>) -> Vec<Value> {
    let claim = object
        .part("/spec/claimRef")
        .map(|to| format!("{}/{}", to.text("/namespace"), to.text("/name")));
    vec![
        object.name(),
        quantity(object, "/spec/capacity/storage"),
        modes(object, "/spec/accessModes").into(),
        object.text("/spec/persistentVolumeReclaimPolicy").into(),
        phase(object),
        claim.unwrap_or_default().into(),
        class_of(object).into(),
        object
            .maybe_text("/spec/volumeAttributesClassName")
            .unwrap_or(UNSET)
            .into(),
        object.text("/status/reason").into(),
        object.age(),
        object
            .maybe_text("/spec/volumeMode")
            .unwrap_or(UNSET)
            .into(),
    ]
}

pub(super) fn claim(object: TimedValue<'_>) -> Vec<Value> {
    let volume = object.text("/spec/volumeName");
    let (capacity, access) = match volume {
        "" => ("".into(), String::new()),
        _ => (
            quantity(object, "/status/capacity/storage"),
            modes(object, "/status/accessModes"),
        ),
    };
    vec![
        object.name(),
        phase(object),
        volume.into(),
        capacity,
        access.into(),
        class_of(object).into(),
        object
            .maybe_text("/spec/volumeAttributesClassName")
            .unwrap_or(UNSET)
            .into(),
        object.age(),
        object
            .maybe_text("/spec/volumeMode")
            .unwrap_or(UNSET)
            .into(),
    ]
}

pub(super) fn class(object: TimedValue<'_>) -> Vec<Value> {
    let annotations = object.map("/metadata/annotations");
    let words = [
        "storageclass.kubernetes.io",
        "storageclass.beta.kubernetes.io",
    ];
    let mut words = words.iter().map(|word| format!("{word}/is-default-class"));
    let is_default = words.any(|word| annotations.get(word.as_str()) == Some(&"true"));
    let suffix = if is_default { " (default)" } else { "" };
    vec![
        format!("{}{suffix}", object.text("/metadata/name")).into(),
        object.text("/provisioner").into(),
        object
            .maybe_text("/reclaimPolicy")
            .unwrap_or("Delete")
            .into(),
        object
            .maybe_text("/volumeBindingMode")
            .unwrap_or("Immediate")
            .into(),
        object.is_true("/allowVolumeExpansion").into(),
        object.age(),
    ]
}

pub(super) fn attributes_class(object: TimedValue<'_>) -> Vec<Value> {
    vec![
        object.name(),
        object.text("/driverName").into(),
        object.age(),
    ]
}

pub(super) fn driver(object: TimedValue<'_>) -> Vec<Value> {
    let attach = object.get("/spec/attachRequired").and_then(Value::as_bool);
    let modes = object.texts("/spec/volumeLifecycleModes").join(",");
    let tokens = object.has("/spec/tokenRequests").then(|| {
        let requests = object.list("/spec/tokenRequests");
        let audiences: Vec<&str> = requests
            .iter()
            .map(|request| request.text("/audience"))
            .collect();
        audiences.join(",")
    });
    vec![
        object.name(),
        attach.unwrap_or(true).into(),
        object.is_true("/spec/podInfoOnMount").into(),
        object.is_true("/spec/storageCapacity").into(),
        tokens.unwrap_or_else(|| UNSET.to_owned()).into(),
        object.is_true("/spec/requiresRepublish").into(),
        if modes.is_empty() {
            NONE.into()
        } else {
            modes.into()
        },
        object.age(),
    ]
}

pub(super) fn node(object: TimedValue<'_>) -> Vec<Value> {
    vec![
        object.name(),
        object.count("/spec/drivers").into(),
        object.age(),
    ]
}

pub(super) fn attachment(object: TimedValue<'_>) -> Vec<Value> {
    vec![
        object.name(),
        object.text("/spec/attacher").into(),
        object.text("/spec/source/persistentVolumeName").into(),
        object.text("/spec/nodeName").into(),
        object.is_true("/status/attached").into(),
        object.age(),
    ]
}
