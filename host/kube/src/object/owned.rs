//! What each of our field managers owns of an object: a digest of its field set and of the live values there.
//!
//! - Taken while an object is parsed, since managedFields are not kept.
//! - Two digests are the same only if the manager owns the same fields and all of them hold what they held:
//!   whatever else changes in the object does not show.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::apply_scope::ApplyScope;
use super::parts::RawFields;
use windlass_base::memory::tree_of;

/// What all of our field managers begin with; the host's own, `windlass`, applies nothing.
const OURS: &str = "windlass/";

/// The label of the members of a set, with the plugin's name.
pub const SET_LABEL: &str = "windlass.dev/set";

/// The label of a member that somebody made before the host took it over.
pub const ADOPTED_LABEL: &str = "windlass.dev/adopted";

/// The part of one field manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owned {
    manager: Tag,
    /// Whether it is a part of the status.
    status: bool,
    /// Whether it was applied; otherwise it was created or patched.
    applied: bool,
    /// None if it was applied in another version of the kind: its fields cannot be found then.
    digest: Option<[u8; 16]>,
    /// Whether it owns the label of a set.
    owns_set_label: bool,
}

/// Stands for a field manager, alone or with the extent of what it applied. Most objects have one of ours, so its name
/// is not held with each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag([u8; 8]);

impl Tag {
    /// The tag of a field manager for the status, or for the rest.
    pub fn of(manager: &str, apply_scope: ApplyScope) -> Self {
        let apply_scope = match apply_scope {
            ApplyScope::Status => 0,
            ApplyScope::Rest => 1,
            ApplyScope::Whole => 2,
        };
        Self::digest(
            Sha256::new()
                .chain_update([apply_scope])
                .chain_update(manager),
        )
    }

    /// Of a field manager, whatever it writes.
    pub fn of_manager(manager: &str) -> Self {
        Self::digest(Sha256::new().chain_update(manager))
    }

    fn digest(hash: Sha256) -> Self {
        let digest: [u8; 32] = hash.finalize().into();
        Self(digest.first_chunk().copied().unwrap_or_default())
    }
}

/// An entry of managedFields.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ManagedFieldsEntry<'a> {
    #[serde(borrow)]
    manager: Cow<'a, str>,
    #[serde(borrow)]
    operation: Cow<'a, str>,
    #[serde(default, borrow)]
    subresource: Cow<'a, str>,
    #[serde(borrow)]
    api_version: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "fieldsV1")]
    fields: &'a RawValue,
}

/// What our managers wrote to an object of `version`, with its metadata; none costs next to nothing. Of an object
/// that would make a large tree there are no digests: what is not known may have changed.
pub(crate) fn owned(
    object: &RawFields<'_>,
    metadata: &RawFields<'_>,
    version: Option<&str>,
) -> Option<Arc<[Owned]>> {
    let entries = metadata.get("managedFields")?.get();
    // Others' field sets may be long.
    if !entries.contains(OURS) {
        return None;
    }
    let entries: Vec<ManagedFieldsEntry<'_>> = serde_json::from_str(entries).ok()?;
    let parts = entries.iter().filter_map(|entry| {
        let (status, applied) = is_ours(entry)?;
        // In another version the same field may have another name, so its value cannot be found.
        let same_version = version == entry.api_version.as_deref();
        let digest = || {
            let fields = tree_of(entry.fields.get())?;
            digest_of(&fields, &live(&fields, object, metadata)?)
        };
        Some(Owned {
            manager: Tag::of_manager(&entry.manager),
            status,
            applied,
            digest: same_version.then(digest).flatten(),
            owns_set_label: applied && !status && has_set_label(entry.fields),
        })
    });
    let owned: Vec<Owned> = parts.collect();
    (!owned.is_empty()).then(|| owned.into())
}

/// Whether an entry is about the status, and whether it is an apply; `None` if it is not one of ours.
fn is_ours(entry: &ManagedFieldsEntry<'_>) -> Option<(bool, bool)> {
    let status = match &*entry.subresource {
        "" => false,
        "status" => true,
        _ => return None,
    };
    let ours = entry.manager.starts_with(OURS);
    ours.then_some((status, entry.operation == "Apply"))
}

/// The part of a field set that leads to the label of a set.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Marked {
    #[serde(rename = "f:metadata")]
    metadata: MarkedMetadata,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct MarkedMetadata {
    #[serde(rename = "f:labels")]
    labels: MarkedLabels,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct MarkedLabels {
    // `SET_LABEL`
    #[serde(rename = "f:windlass.dev/set")]
    set: Option<IgnoredAny>,
}

/// Whether a field set has the label of a set. No tree is made of it: it may be large.
fn has_set_label(fields: &RawValue) -> bool {
    let marked = serde_json::from_str(fields.get());
    marked.is_ok_and(|marked: Marked| marked.metadata.labels.set.is_some())
}

/// A tree of what a field set leads into; `None` if that is nested too deep for one.
fn live(
    fields: &Map<String, Value>,
    object: &RawFields<'_>,
    metadata: &RawFields<'_>,
) -> Option<Value> {
    let named = |fields: &Map<String, Value>, name: &str| fields.contains_key(&format!("f:{name}"));
    let mut live = object.tree(|name| name != "metadata" && named(fields, name))?;
    if let Some(inner) = fields.get("f:metadata").and_then(Value::as_object) {
        let inner = metadata.tree(|name| inner.is_empty() || named(inner, name))?;
        live.insert("metadata".into(), Value::Object(inner));
    }
    Some(Value::Object(live))
}

/// What `manager` has applied, if it is known.
pub(crate) fn digest(owned: Option<&[Owned]>, manager: &str, status: bool) -> Option<[u8; 16]> {
    let owned = owned.filter(|owned| !owned.is_empty())?;
    let manager = Tag::of_manager(manager);
    let mut applied = owned.iter().filter(|part| part.applied);
    applied
        .find(|part| part.manager == manager && part.status == status)?
        .digest
}

/// The managers whose parts differ: they own other fields, or these hold other values. A part whose values are not
/// known may have changed.
pub fn changed(old: &[Owned], new: &[Owned]) -> BTreeSet<Tag> {
    let differs = |part: &Owned, others: &[Owned]| part.digest.is_none() || !others.contains(part);
    let lost = old.iter().filter(|part| differs(part, new));
    let won = new.iter().filter(|part| differs(part, old));
    lost.chain(won).map(|part| part.manager).collect()
}

/// The managers of all parts.
pub fn managers(owned: &[Owned]) -> impl Iterator<Item = Tag> {
    owned.iter().map(|part| part.manager)
}

/// Whether `manager` has applied the label of a set.
pub(crate) fn owns_set_label(owned: Option<&[Owned]>, manager: &str) -> bool {
    let manager = Tag::of_manager(manager);
    let mut parts = owned.unwrap_or_default().iter();
    parts.any(|part| part.manager == manager && part.owns_set_label)
}

fn digest_of(fields: &Map<String, Value>, live: &Value) -> Option<[u8; 16]> {
    let mut hash = Sha256::new();
    walk(fields, Some(live), &mut hash);
    let digest: [u8; 32] = hash.finalize().into();
    digest.first_chunk().copied()
}

/// Takes in the steps of a field set, and of `live` what they lead to. As in structured-merge-diff's
/// `fieldpath`, a step without steps below it owns all that is there, and `.` that it is there at all.
fn walk(fields: &Map<String, Value>, live: Option<&Value>, hash: &mut Sha256) {
    let mut items = Items::new(live);
    for (step, below) in fields {
        hash.update(step.len().to_le_bytes());
        hash.update(step);
        if step == "." {
            hash.update([u8::from(live.is_some())]);
            continue;
        }
        let found = items.find(step);
        match below.as_object() {
            Some(below) if !below.is_empty() => {
                hash.update(b"{");
                walk(below, found, hash);
                hash.update(b"}");
            }
            _ => match found {
                Some(value) => hash.update(value.to_string()),
                None => hash.update(b"-"),
            },
        }
    }
}

/// The parts of a live value by the steps of field sets. A list is looked through once, however many steps
/// lead into it.
struct Items<'a> {
    live: Option<&'a Value>,
    /// Items by the values of these of their fields.
    by_key: BTreeMap<Vec<String>, BTreeMap<String, &'a Value>>,
    by_value: Option<BTreeMap<String, &'a Value>>,
}

impl<'a> Items<'a> {
    fn new(live: Option<&'a Value>) -> Self {
        Self {
            live,
            by_key: BTreeMap::new(),
            by_value: None,
        }
    }

    fn find(&mut self, step: &str) -> Option<&'a Value> {
        let (kind, rest) = step.split_once(':')?;
        let live = self.live?;
        match kind {
            "f" => live.get(rest),
            "i" => live.get(rest.parse::<usize>().ok()?),
            "k" => self.keyed(live.as_array()?, rest),
            "v" => self.valued(live.as_array()?, rest),
            _ => None,
        }
    }

    fn keyed(&mut self, list: &'a [Value], step: &str) -> Option<&'a Value> {
        let key: Map<String, Value> = serde_json::from_str(step).ok()?;
        let names: Vec<String> = key.keys().cloned().collect();
        let items = self.by_key.entry(names.clone()).or_insert_with(|| {
            let keyed = |item: &'a Value| Some((key_of(item, &names)?, item));
            list.iter().rev().filter_map(keyed).collect()
        });
        items.get(&Value::Object(key).to_string()).copied()
    }

    fn valued(&mut self, list: &'a [Value], step: &str) -> Option<&'a Value> {
        let value: Value = serde_json::from_str(step).ok()?;
        let items = self
            .by_value
            .get_or_insert_with(|| list.iter().map(|item| (item.to_string(), item)).collect());
        items.get(&value.to_string()).copied()
    }
}

/// The fields `names` of an item, as the step of a field set writes them.
fn key_of(item: &Value, names: &[String]) -> Option<String> {
    let field = |name: &String| Some((name.clone(), item.get(name)?.clone()));
    let key: Option<Map<String, Value>> = names.iter().map(field).collect();
    Some(Value::Object(key?).to_string())
}
