//! One object as the store keeps it: JSON text beside the metadata that the host reads.

mod apply_scope;
mod dropped;
mod fields;
mod handover;
mod json;
mod key;
mod metadata;
mod names;
pub mod owned;
mod page;
mod parts;
mod reference;
mod scanner;
mod select;
#[cfg(test)]
mod tests;

use std::fmt::{Display, Write};
use std::sync::Arc;

use serde_json::Value;

pub use apply_scope::ApplyScope;
pub use dropped::without_dropped;
pub use fields::{BadPath, Fields};
pub use handover::{handed_over, is_written_by};
use json::Json;
pub use json::TextCompressor;
pub use key::Key;
pub use metadata::{Metadata, Owner, PAUSED, REQUESTED};
pub use names::{finalizer_of, manager_for, manager_of};
pub use owned::{ADOPTED_LABEL, SET_LABEL};
use owned::{Owned, Tag, digest, managers, owned, owns_set_label};
pub use page::Page;
pub use parts::RawFields;
pub use reference::ObjectRef;
pub use select::Selection;

use crate::api::Resource;
use windlass_base::memory::tree_of;

const API_VERSION: &str = "apiVersion";
const KIND: &str = "kind";
const METADATA: &str = "metadata";
const MANAGED: &str = "managedFields";

/// An object in the store. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Object {
    /// What the host reads of it.
    pub metadata: Arc<Metadata>,
    /// All that is kept of it, without `managedFields`, as compact JSON.
    pub json: Json,
    /// What our field managers own of it.
    owned: Option<Arc<[Owned]>>,
}

impl Object {
    /// Takes an object that is a tree; `None` if it is not an object with a name.
    pub fn new(object: &Value) -> Option<Self> {
        Self::parse(&object.to_string())
    }

    /// Takes an object as the server sent it; `None` if it is not an object with a name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::read(text, None, &Fields::default())
    }

    /// The same of an object of `resource`, of which only `fields` are kept, and the metadata. Items of a list, and
    /// metadata alone, do not say what they are; objects do.
    pub fn of(resource: &Resource, text: &str, fields: &Fields) -> Option<Self> {
        let version = resource.api_version();
        Self::read(text, Some((&version, &resource.kind)), fields)
    }

    fn read(text: &str, kind: Option<(&str, &str)>, fields: &Fields) -> Option<Self> {
        let parts = RawFields::of(text)?;
        let inner = RawFields::within(parts.get("metadata")?)?;
        let metadata = Metadata::read(&inner)?;
        if metadata.key.name.is_empty() {
            return None;
        }
        let (version, of) = match kind {
            Some((version, of)) => (Some(version.to_owned()), Some(of.to_owned())),
            None => (text_of(&parts, API_VERSION), text_of(&parts, KIND)),
        };
        let mut json = String::with_capacity(text.len());
        json.push('{');
        for (name, value) in [(API_VERSION, &version), (KIND, &of)] {
            if let Some(value) = value {
                field(&mut json, name, Value::from(&**value));
            }
        }
        field(&mut json, METADATA, "{");
        let kept = inner.iter().filter(|part| part.name() != MANAGED);
        kept.for_each(|part| part.write(&mut json));
        json.push('}');
        let is_own = |name: &str| ![API_VERSION, KIND, METADATA].contains(&name);
        let own = parts.iter().filter(|part| is_own(part.name()));
        own.for_each(|part| fields.write(part, &mut json));
        json.push('}');
        Some(Self {
            metadata: Arc::new(metadata),
            json: json.into(),
            owned: owned(&parts, &inner, version.as_deref()),
        })
    }

    /// The object with nothing but `fields` and its metadata.
    pub fn cut_to(self, fields: &Fields) -> Self {
        if fields.is_all() {
            return self;
        }
        Self {
            json: self.text_of(fields).into(),
            ..self
        }
    }

    /// The text of nothing but `fields` and its metadata.
    pub fn text_of(&self, fields: &Fields) -> String {
        fields.cut_text(&self.json.text())
    }

    /// The bytes that it would take in a store with nothing but `fields` and its metadata, at most.
    pub(crate) fn weight_of(&self, fields: &Fields) -> usize {
        let text = self.json.text();
        // It may be packed.
        let size = self.json.size() * fields.length_in(&text) / text.len().max(1);
        size + self.metadata.bytes()
    }

    /// The digest of what `manager` applied to it or to its status, if it is known.
    pub fn owned_by(&self, manager: &str, status: bool) -> Option<[u8; 16]> {
        digest(self.owned.as_deref(), manager, status)
    }

    /// What our field managers have written to it.
    pub fn owned(&self) -> &[Owned] {
        self.owned.as_deref().unwrap_or_default()
    }

    /// Whether `manager` has written anything of it, as its managedFields say.
    pub fn is_written_by(&self, manager: &str) -> bool {
        let manager = Tag::of_manager(manager);
        managers(self.owned()).any(|held| held == manager)
    }

    /// Whether `manager` has applied the label [`SET_LABEL`] to it, as its managedFields say.
    pub fn has_set_label_by(&self, manager: &str) -> bool {
        owns_set_label(self.owned.as_deref(), manager)
    }

    /// Trees of the fields in which this and `other` are not alike, and of what they are. For people: a field that is
    /// nested too deep is its text.
    pub fn unlike(&self, other: &Self) -> (Value, Value) {
        let texts = [self.json.text(), other.json.text()];
        let [one, two] = texts.each_ref().map(|text| RawFields::of(text));
        let (one, two) = (one.unwrap_or_default(), two.unwrap_or_default());
        let unlike = RawFields::unlike(&one, &two);
        let wanted = |name: &str| name == KIND || name != METADATA && unlike(name);
        let (mut before, mut after) = (one.display(wanted), two.display(wanted));
        let inner = [&one, &two].map(|parts| RawFields::within(parts.get(METADATA)?));
        if let [Some(one), Some(two)] = inner {
            let unlike = RawFields::unlike(&one, &two);
            before.insert(METADATA.into(), Value::Object(one.display(&unlike)));
            after.insert(METADATA.into(), Value::Object(two.display(&unlike)));
        }
        (Value::Object(before), Value::Object(after))
    }

    /// Whether this and `other` are alike in `fields`, metadata aside. If what differs is nested too deep to be looked
    /// into, they are not.
    pub fn is_alike(&self, other: &Self, fields: &Fields) -> bool {
        let texts = [self.json.text(), other.json.text()];
        let [one, two] = texts.each_ref().map(|text| RawFields::of(text));
        let (one, two) = (one.unwrap_or_default(), two.unwrap_or_default());
        let unlike = RawFields::unlike(&one, &two);
        let wanted = |name: &str| name != METADATA && fields.begin_with(name) && unlike(name);
        match (one.tree(wanted), two.tree(wanted)) {
            (Some(one), Some(two)) => fields.same(&Value::Object(one), &Value::Object(two)),
            _ => false,
        }
    }

    /// A tree of all but its metadata, for people: a field that is nested too deep is its text.
    pub fn but_metadata(&self) -> Value {
        let text = self.json.text();
        let parts = RawFields::of(&text).unwrap_or_default();
        Value::Object(parts.display(|name| name != METADATA))
    }

    /// Its owner references, with all that they say. Nothing else of it is made a tree: it may be too deep or too large.
    pub fn owner_references(&self) -> Vec<Value> {
        let text = self.json.text();
        let owners = RawFields::of(&text).and_then(|parts| {
            let metadata = RawFields::within(parts.get("metadata")?)?;
            serde_json::from_str(metadata.get("ownerReferences")?.get()).ok()
        });
        owners.unwrap_or_default()
    }

    /// The object as a tree; null if it is nested too deep for one, or too large.
    pub fn value(&self) -> Value {
        tree_of(&self.json.text()).unwrap_or(Value::Null)
    }
}

fn text_of(parts: &RawFields<'_>, name: &str) -> Option<String> {
    serde_json::from_str(parts.get(name)?.get()).ok()
}

/// Writes a field that follows others.
fn field(to: &mut String, name: &str, value: impl Display) {
    let comma = if to.ends_with('{') { "" } else { "," };
    // Writing to a text cannot fail.
    write!(to, "{comma}{}:{value}", Value::from(name)).unwrap_or_default();
}
