//! What a cluster in memory records.

use serde_json::Value;

use crate::query::ObjectRef;

/// A change that was made through the verbs.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// How.
    pub verb: Verb,
    /// Of what.
    pub target: ObjectRef,
    /// What was applied, created or patched with, as it was sent; null for a delete.
    pub object: Value,
}

impl Write {
    /// The object as the plugin gave it: without the UID and the label of a set that the host may add.
    pub fn as_given(&self) -> Value {
        let mut object = self.object.clone();
        if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
            metadata.remove("uid");
            let labels = metadata.get_mut("labels").and_then(Value::as_object_mut);
            let alone = labels.is_some_and(|labels| {
                labels.remove("windlass.dev/set").is_some() && labels.is_empty()
            });
            if alone {
                metadata.remove("labels");
            }
        }
        object
    }
}

/// The ways to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// Server-side apply.
    Apply,
    /// Server-side apply of the status.
    ApplyStatus,
    /// Creation.
    Create,
    /// A patch of either form.
    Patch,
    /// Delete.
    Delete,
}
