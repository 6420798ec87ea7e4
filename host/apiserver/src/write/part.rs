//! The parts of an object that have an endpoint of their own.

use serde_json::Value;

use crate::json::{get, list};
use crate::meta;
use crate::metadata::STATUS_KEEPS;

/// Which part of an object an endpoint writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectPart {
    /// All but the status, where that has an endpoint of its own.
    Main,
    /// The status alone.
    Status,
    /// The number of replicas, by the Scale.
    Scale,
    /// All but the status, and what holds a namespace too.
    Finalize,
    /// Whether a certificate is approved: the conditions of its status.
    Approval,
    /// The containers that are added to a pod that runs.
    EphemeralContainers,
    /// The resources of a pod and its containers.
    Resize,
}

impl ObjectPart {
    /// The subresource, as managedFields have it.
    pub fn subresource(self) -> &'static str {
        match self {
            Self::Main => "",
            Self::Status => "status",
            Self::Scale => "scale",
            Self::Finalize => "finalize",
            Self::Approval => "approval",
            Self::EphemeralContainers => "ephemeralcontainers",
            Self::Resize => "resize",
        }
    }

    /// What a write to a part that is only a few fields of `old` makes of `new`: these fields of the new object, its
    /// metadata as far as the part may change it, and all others of the old one. What is written to other parts
    /// stays as it is.
    #[must_use]
    pub fn narrowed(self, new: Value, old: &Value) -> Value {
        let (parent, field, kept) = match self {
            Self::Approval => ("status", "conditions", &[][..]),
            Self::EphemeralContainers => ("spec", "ephemeralContainers", &STATUS_KEEPS[..]),
            Self::Resize => ("spec", "resources", &STATUS_KEEPS[..]),
            Self::Main | Self::Status | Self::Scale | Self::Finalize => return new,
        };
        let wanted = new.get(parent).and_then(|held| held.get(field)).cloned();
        let mut object = old.clone();
        if self == Self::Resize {
            for list in ["containers", "initContainers"] {
                match resized(items(&new, list), items(old, list)) {
                    Some(Value::Array(none)) if none.is_empty() => {}
                    Some(containers) => meta::set_in(&mut object, "spec", list, Some(containers)),
                    // Validation refuses that.
                    None => return new,
                }
            }
        }
        meta::set_in(&mut object, parent, field, wanted);
        let mut metadata = new.get("metadata").cloned().unwrap_or_default();
        if let Value::Object(fields) = &mut metadata {
            for &name in kept {
                fields.remove(name);
                if let Some(held) = meta::get(old, name) {
                    fields.insert(name.to_owned(), held.clone());
                }
            }
        }
        meta::put(&mut object, "metadata", metadata);
        object
    }
}

fn items<'a>(pod: &'a Value, name: &str) -> &'a [Value] {
    list(get(pod, "spec"), name)
}

/// The old containers with the new resources; as they are sent if one of them has another name. Nothing if some
/// are missing.
fn resized(new: &[Value], old: &[Value]) -> Option<Value> {
    if new.len() != old.len() {
        return None;
    }
    let mut all = old.to_vec();
    for (container, wanted) in all.iter_mut().zip(new) {
        if get(&*container, "name") != get(wanted, "name") {
            return Some(new.to_vec().into());
        }
        for field in ["resources", "resizePolicy"] {
            match (wanted.get(field), container.as_object_mut()) {
                (Some(value), _) => meta::put(container, field, value.clone()),
                (None, Some(fields)) => {
                    fields.remove(field);
                }
                (None, None) => {}
            }
        }
    }
    Some(all.into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_narrow_part_is_one_field_and_the_rest_is_as_it_was() {
        let old = json!({
            "metadata": { "name": "a", "labels": { "x": "y" } },
            "spec": { "containers": [{ "name": "c" }] },
            "status": { "conditions": [], "certificate": "old" },
        });
        let new = json!({
            "metadata": { "name": "a", "labels": {}, "finalizers": ["f"], "resourceVersion": "7" },
            "spec": { "ephemeralContainers": [{ "name": "e" }] },
            "status": { "conditions": [{ "type": "Approved" }], "certificate": "new" },
        });
        let pod = json!({
            "metadata": { "name": "a", "labels": { "x": "y" }, "resourceVersion": "7" },
            "spec": { "containers": [{ "name": "c" }], "ephemeralContainers": [{ "name": "e" }] },
            "status": { "conditions": [], "certificate": "old" },
        });
        let request = json!({
            "metadata": { "name": "a", "labels": {}, "finalizers": ["f"], "resourceVersion": "7" },
            "spec": { "containers": [{ "name": "c" }] },
            "status": { "conditions": [{ "type": "Approved" }], "certificate": "old" },
        });
        let cases = [
            (ObjectPart::EphemeralContainers, pod),
            (ObjectPart::Approval, request),
            (ObjectPart::Main, new.clone()),
        ];
        for (part, want) in cases {
            assert_eq!(part.narrowed(new.clone(), &old), want, "{part:?}");
        }
    }
}
