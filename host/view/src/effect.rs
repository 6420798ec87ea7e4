//! What a write did: the fields that were applied, and what else changed because of it.
//!
//! - What was sent tells both apart: a default of the API server is not a write of the plugin.
//! - What another field manager owns has changed because of that one, and is left out.
//! - Of fields that the plugin does not read, nobody knows what was there, or whether they have changed.

use serde_json::Value;
use serde_json::value::RawValue;

use super::difference::{Difference, Effect, Hide, compared, created};
use windlass_base::memory::tree_of;
use windlass_kube::object::{Fields, Object, RawFields};

/// A write as it was sent, and its answer.
#[derive(Clone, Copy, Debug)]
pub struct SentWrite<'a> {
    /// The object, a merge patch, or what a JSON patch is about, marked.
    pub object: &'a Value,
    /// The answer as it is written, with its managedFields.
    pub answer: &'a str,
    /// The field manager.
    pub manager: &'a str,
}

impl SentWrite<'_> {
    /// Whether it was about one version of the object: if it is done, nobody else was there in between.
    pub(super) fn names_version(&self) -> bool {
        let version = self.object.pointer("/metadata/resourceVersion");
        version.is_some_and(Value::is_string)
    }

    /// Whether the API server has deleted `object` with this write, which is its answer: the write took off the last
    /// finalizer of an object that nothing else keeps. A pod that ends, or a namespace that is emptied, stays.
    pub(super) fn has_deleted(&self, object: &Object) -> bool {
        let metadata = &object.metadata;
        if !metadata.deleting || !metadata.finalizers.is_empty() {
            return false;
        }
        let number = |field: Option<&RawValue>| field?.get().parse::<i64>().ok();
        let is_empty = |list: &RawValue| matches!(list.get().trim(), "[]" | "null");
        let has_ended = || {
            let parts = RawFields::of(self.answer)?;
            let metadata = RawFields::within(parts.get("metadata")?)?;
            let grace = number(metadata.get("deletionGracePeriodSeconds"));
            let spec = parts.get("spec").and_then(RawFields::within);
            let more = spec.and_then(|spec| spec.get("finalizers"));
            Some(grace == Some(0) && more.is_none_or(is_empty))
        };
        has_ended().unwrap_or(false)
    }
}

#[cfg(any(test, feature = "testing"))]
impl SentWrite<'_> {
    /// Nothing, as nobody.
    pub const NOTHING: Self = Self {
        object: &Value::Null,
        answer: "",
        manager: "",
    };
}

/// What the write that made `object` did.
pub(super) fn of_creation(object: &Object, sent: &SentWrite<'_>, hide: Option<&Hide>) -> Effect {
    created(&object.but_metadata(), sent.object, hide)
}

/// What the write did that changed `before` to `after`, of which the plugin reads `fields`.
pub(super) fn of_change(
    before: &Object,
    after: &Object,
    fields: Option<&Fields>,
    sent: &SentWrite<'_>,
    hide: Option<&Hide>,
) -> Effect {
    let (old, whole) = before.unlike(after);
    let cut = fields.map(|fields| (fields.cut(&old), fields.cut(&whole)));
    let (old, new) = cut.as_ref().map_or((&old, &whole), |(old, new)| (old, new));
    let others = others(sent);
    let others = others.iter().filter_map(Value::as_object).collect();
    let mut effect = compared([old, new], new, sent.object, others, hide);
    let same_version = before.metadata.resource_version == after.metadata.resource_version;
    if let Some(fields) = fields.filter(|_| !same_version) {
        let there = there(sent.object, Some(&whole));
        let read = fields.cut(&there);
        let unread = compared([&read, &there], new, &there, Vec::new(), hide);
        let gone = |after: &String| after == "null";
        effect.unread = unread
            .applied
            .into_iter()
            .map(|field| Difference {
                before: None,
                after: field.after.filter(|after| !gone(after)),
                ..field
            })
            .collect();
    }
    effect
}

/// What is there now of the fields that were sent: null if nothing is. Items of a list are as they were sent, since they
/// may be elsewhere now.
fn there(sent: &Value, now: Option<&Value>) -> Value {
    match (sent, now) {
        (Value::Object(sent), None | Some(Value::Object(_))) => {
            let field = |(name, sent): (&String, &Value)| {
                let now = now.and_then(|now| now.get(name));
                (name.clone(), there(sent, now))
            };
            Value::Object(sent.iter().map(field).collect())
        }
        (Value::Array(_), Some(Value::Array(_))) => sent.clone(),
        (_, Some(now)) => now.clone(),
        (_, None) => Value::Null,
    }
}

/// So many other field managers are looked at.
const MANAGERS: usize = 50;

/// What other field managers own, as the answer says: sets of fields (structured-merge-diff's `fieldpath`).
fn others(sent: &SentWrite<'_>) -> Vec<Value> {
    let entries = || -> Option<Vec<Value>> {
        let parts = RawFields::of(sent.answer)?;
        let metadata = RawFields::within(parts.get("metadata")?)?;
        tree_of(metadata.get("managedFields")?.get())
    };
    let entries = entries().unwrap_or_default().into_iter();
    let theirs = entries
        .filter(|entry| entry.get("manager").and_then(Value::as_str) != Some(sent.manager))
        .filter_map(|mut entry| Some(entry.get_mut("fieldsV1")?.take()));
    theirs.take(MANAGERS).collect()
}

#[cfg(test)]
mod tests;
