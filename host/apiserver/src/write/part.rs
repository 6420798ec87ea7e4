//! The parts of an object that have an endpoint of their own.

use serde_json::Value;

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
        }
    }

    /// What a client means that sent `new` to a part that is only one field of `old`: that field of the new
    /// object, its metadata as far as the part may change it, and all others of the old one. Other parts stay as
    /// they are sent.
    #[must_use]
    pub fn narrowed(self, new: Value, old: Option<&Value>) -> Value {
        let (parent, field, kept) = match self {
            Self::Approval => ("status", "conditions", &[][..]),
            Self::EphemeralContainers => ("spec", "ephemeralContainers", &STATUS_KEEPS[..]),
            Self::Main | Self::Status | Self::Scale | Self::Finalize => return new,
        };
        let Some(old) = old else {
            return new;
        };
        let mut object = old.clone();
        let wanted = new.get(parent).and_then(|held| held.get(field)).cloned();
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
            assert_eq!(part.narrowed(new.clone(), Some(&old)), want, "{part:?}");
        }
    }
}
