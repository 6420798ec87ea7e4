//! One object in memory, and server-side apply to it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::fields::{self, Path};
use super::write::Verb;

/// An object, and who has applied what of it.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) object: Value,
    /// What each manager has applied, the status apart from the rest.
    pub(super) fields: BTreeMap<(String, Verb), BTreeSet<Path>>,
}

impl Stored {
    /// Merges what `manager` names now, and takes out what it named before and nobody else does.
    pub(super) fn apply(&mut self, manager: &str, verb: Verb, body: &Value) {
        let manager = (manager.to_owned(), verb);
        let named = fields::leaves(body);
        let before = self
            .fields
            .insert(manager.clone(), named.clone())
            .unwrap_or_default();
        let others = || self.fields.iter().filter(|(name, _)| **name != manager);
        for path in before.difference(&named) {
            let below = |other: &Path| other.starts_with(path);
            if !others().any(|(_, fields)| fields.iter().any(below)) {
                fields::remove(&mut self.object, "", path);
            }
        }
        fields::merge(&mut self.object, body, "");
    }

    /// Sets a field of the metadata from what it is.
    pub(super) fn set_metadata(&mut self, field: &str, value: impl FnOnce(Option<Value>) -> Value) {
        if let Some(Value::Object(metadata)) = self.object.get_mut("metadata") {
            let given = metadata.remove(field);
            metadata.insert(field.to_owned(), value(given));
        }
    }
}
