//! One object as the store keeps it: JSON text beside the metadata that the host reads.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::json::Json;
use super::key::Key;
use super::owned::{Owned, Tag, digest, managers, owned, owns_set_label};
use super::parts::{Part, Parts};
use crate::api::Resource;
use crate::memory::tree_of;
use crate::projection::Fields;

const API_VERSION: &str = "apiVersion";
const KIND: &str = "kind";
const METADATA: &str = "metadata";
const MANAGED: &str = "managedFields";

/// What the host reads of an object's metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// Its namespace and name.
    pub key: Key,
    /// Which of all objects that ever had this name it is.
    pub uid: Box<str>,
    /// As the server wrote it; opaque where it is no number.
    pub resource_version: Box<str>,
    /// Counts changes of the spec; absent for kinds without one.
    pub generation: Option<i64>,
    /// Whether it is on its way out.
    pub deleting: bool,
    /// Who must agree before it goes.
    pub finalizers: Arc<Vec<String>>,
    /// Whom it belongs to.
    pub owners: Arc<Vec<Owner>>,
    /// Its labels.
    pub labels: Arc<BTreeMap<String, String>>,
    /// A digest of its annotations; none if it has none.
    pub annotations: Option<[u8; 16]>,
    /// Whether it is paused: see [`PAUSED`].
    pub paused: bool,
    /// A digest of when a pass was asked for: see [`REQUESTED`].
    pub requested: Option<[u8; 8]>,
}

/// One entry of `metadata.ownerReferences`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Owner {
    /// `apps/v1`.
    pub api_version: String,
    /// `Deployment`.
    pub kind: String,
    /// Its name, in the namespace of the owned object unless it is cluster-scoped.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// Whether it is the one that looks after the object.
    pub controller: bool,
}

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

/// The finalizer of the plugin called `plugin`.
pub fn finalizer_of(plugin: &str) -> String {
    format!("windlass.dev/{plugin}")
}

/// The field manager of what the primaries of the plugin called `plugin` own.
pub fn manager_of(plugin: &str) -> String {
    format!("windlass/{plugin}")
}

/// The field manager of what the primary with this UID has the plugin write and does not own: so two primaries can
/// share an object, and each takes back only its own part.
pub fn manager_for(plugin: &str, uid: &str) -> String {
    let is_digit = char::is_ascii_hexdigit;
    let digits: String = uid.chars().filter(is_digit).take(8).collect();
    format!("{}/{digits}", manager_of(plugin))
}

/// The annotation that pauses a primary while it is `true`: no plugin reconciles or finalizes it.
pub const PAUSED: &str = "windlass.dev/paused";

/// The annotation that asks for a pass over a primary now, whenever it gets another value.
pub const REQUESTED: &str = "windlass.dev/reconcile-requested-at";

/// What an entry of a map or a list takes beside its text, in bytes.
const ENTRY: usize = 64;

impl Metadata {
    /// Whether the finalizer `name` is on it.
    pub fn has_finalizer(&self, name: &str) -> bool {
        self.finalizers.iter().any(|held| held == name)
    }

    /// Reads it; `None` if it is not as metadata are.
    fn read(parts: &Parts<'_>) -> Option<Self> {
        let mut metadata = Self::default();
        let (mut namespace, mut name) = (None, None);
        for part in parts.iter() {
            match part.name() {
                "name" => name = text(part)?,
                "namespace" => namespace = text(part)?,
                "uid" => metadata.uid = text(part)?.unwrap_or_default().into(),
                "resourceVersion" => {
                    metadata.resource_version = text(part)?.unwrap_or_default().into();
                }
                "generation" => metadata.generation = value(part)?,
                "deletionTimestamp" => metadata.deleting = value::<Option<String>>(part)?.is_some(),
                "finalizers" => metadata.finalizers = Arc::new(value(part)?),
                "ownerReferences" => {
                    let mut owners: Vec<Owner> = value(part)?;
                    owners.shrink_to_fit();
                    metadata.owners = Arc::new(owners);
                }
                "labels" => metadata.labels = Arc::new(value(part)?),
                "annotations" => metadata.annotate(&value(part)?)?,
                _ => {}
            }
        }
        metadata.key = Key::new(namespace.as_deref(), &name.unwrap_or_default());
        Some(metadata)
    }

    /// Takes in what its annotations say; `None` if these cannot be written.
    fn annotate(&mut self, annotations: &BTreeMap<String, String>) -> Option<()> {
        if annotations.is_empty() {
            return Some(());
        }
        self.annotations = digest_of(&serde_json::to_vec(annotations).ok()?);
        self.paused = annotations.get(PAUSED).is_some_and(|held| held == "true");
        let requested = annotations.get(REQUESTED);
        self.requested = requested.and_then(|held| digest_of(held.as_bytes()));
        Some(())
    }

    /// The bytes that it takes in a store, about: its own, its places in the indexes, and its parts, though others may
    /// share them.
    pub(crate) fn bytes(&self) -> usize {
        let labels = self.labels.iter();
        let labels = labels.map(|(name, value)| name.len() + value.len() + ENTRY);
        let owners = self.owners.len() * 4 * ENTRY;
        let finalizers = self.finalizers.iter().map(|name| name.len() + ENTRY);
        6 * ENTRY
            + self.key.name.len()
            + self.uid.len()
            + owners
            + labels.sum::<usize>()
            + finalizers.sum::<usize>()
    }

    /// The version as a number: servers since 1.35 promise that they compare as such (KEP-5504),
    /// and earlier ones do it in fact.
    pub fn version(&self) -> u64 {
        self.resource_version.parse().unwrap_or(0)
    }
}

impl Object {
    /// Takes an object that is a tree; `None` if it is no object with a name.
    pub fn new(object: &Value) -> Option<Self> {
        Self::parse(&object.to_string())
    }

    /// Takes an object as the server sent it; `None` if it is no object with a name.
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
        let parts = Parts::of(text)?;
        let inner = Parts::within(parts.get("metadata")?)?;
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
        write_fields(&mut json, &parts, fields, is_own);
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

    /// The text of nothing but `fields` and its metadata. A field of the object that is nested too deep to be cut is
    /// there whole, if one of `fields` begins with it.
    pub(super) fn text_of(&self, fields: &Fields) -> String {
        let text = self.json.text();
        if let Some(tree) = tree_of(&text) {
            return fields.cut(&tree).to_string();
        }
        let parts = Parts::of(&text).unwrap_or_default();
        let is_own = |name: &str| ![API_VERSION, KIND, METADATA].contains(&name);
        let mut json = "{".to_owned();
        let about = parts.iter().filter(|part| !is_own(part.name()));
        about.for_each(|part| part.write(&mut json));
        write_fields(&mut json, &parts, fields, is_own);
        json + "}"
    }

    /// The bytes that it would take in a store with nothing but `fields` and its metadata, at most.
    pub(crate) fn weight_of(&self, fields: &Fields) -> usize {
        let text = self.json.text();
        // It may be packed.
        let size = self.json.size() * fields.length_in(&text) / text.len().max(1);
        size + self.metadata.bytes()
    }

    /// The digest of what `manager` applied to it or to its status, if it is known.
    pub(super) fn owned_by(&self, manager: &str, status: bool) -> Option<[u8; 16]> {
        digest(self.owned.as_deref(), manager, status)
    }

    /// What our field managers have written to it.
    pub(super) fn owned(&self) -> &[Owned] {
        self.owned.as_deref().unwrap_or_default()
    }

    /// Whether `manager` has written anything of it, as its managedFields say.
    pub fn is_written_by(&self, manager: &str) -> bool {
        let manager = Tag::of_manager(manager);
        managers(self.owned()).any(|held| held == manager)
    }

    /// Whether `manager` has applied the label [`SET_LABEL`](super::SET_LABEL) to it, as its managedFields say.
    pub fn has_set_label_by(&self, manager: &str) -> bool {
        owns_set_label(self.owned.as_deref(), manager)
    }

    /// Trees of the fields in which this and `other` are not alike, and of what they are. For people: a field that is
    /// nested too deep is its text.
    pub(super) fn unlike(&self, other: &Self) -> (Value, Value) {
        let texts = [self.json.text(), other.json.text()];
        let [one, two] = texts.each_ref().map(|text| Parts::of(text));
        let (one, two) = (one.unwrap_or_default(), two.unwrap_or_default());
        let unlike = Parts::unlike(&one, &two);
        let wanted = |name: &str| name == KIND || name != METADATA && unlike(name);
        let (mut before, mut after) = (one.shown(wanted), two.shown(wanted));
        let inner = [&one, &two].map(|parts| Parts::within(parts.get(METADATA)?));
        if let [Some(one), Some(two)] = inner {
            let unlike = Parts::unlike(&one, &two);
            before.insert(METADATA.into(), Value::Object(one.shown(&unlike)));
            after.insert(METADATA.into(), Value::Object(two.shown(&unlike)));
        }
        (Value::Object(before), Value::Object(after))
    }

    /// Whether this and `other` are alike in `fields`, metadata aside. If what differs is nested too deep to be looked
    /// into, they are not.
    pub(super) fn is_alike(&self, other: &Self, fields: &Fields) -> bool {
        let texts = [self.json.text(), other.json.text()];
        let [one, two] = texts.each_ref().map(|text| Parts::of(text));
        let (one, two) = (one.unwrap_or_default(), two.unwrap_or_default());
        let unlike = Parts::unlike(&one, &two);
        let wanted = |name: &str| name != METADATA && fields.begin_with(name) && unlike(name);
        match (one.tree(wanted), two.tree(wanted)) {
            (Some(one), Some(two)) => fields.same(&Value::Object(one), &Value::Object(two)),
            _ => false,
        }
    }

    /// A tree of all but its metadata, for people: a field that is nested too deep is its text.
    pub(super) fn but_metadata(&self) -> Value {
        let text = self.json.text();
        let parts = Parts::of(&text).unwrap_or_default();
        Value::Object(parts.shown(|name| name != METADATA))
    }

    /// The object as a tree; null if it is nested too deep for one, or too large.
    pub fn value(&self) -> Value {
        tree_of(&self.json.text()).unwrap_or(Value::Null)
    }
}

/// Writes what `fields` leave of those parts that `wanted` names.
fn write_fields(
    to: &mut String,
    parts: &Parts<'_>,
    fields: &Fields,
    wanted: impl Fn(&str) -> bool,
) {
    let wanted = |name: &str| wanted(name) && fields.begin_with(name);
    let cut = match fields.is_all() {
        true => None,
        false => parts.tree(wanted),
    };
    match cut.map(|tree| fields.cut(&Value::Object(tree))) {
        Some(Value::Object(kept)) => {
            let kept = kept.iter();
            kept.for_each(|(name, value)| field(to, name, value));
        }
        // All are wanted, or one is nested too deep to be cut.
        _ => {
            let whole = parts.iter().filter(|part| wanted(part.name()));
            whole.for_each(|part| part.write(to));
        }
    }
}

/// What a field holds, or what there is when it holds nothing; `None` if it is something else.
fn value<T: Default + DeserializeOwned>(part: &Part<'_>) -> Option<T> {
    let value: Option<T> = serde_json::from_str(part.value.get()).ok()?;
    Some(value.unwrap_or_default())
}

/// The text that a field holds, if it holds anything; `None` if it is no text.
fn text<'a>(part: &Part<'a>) -> Option<Option<Cow<'a, str>>> {
    let written = part.value.get();
    // One with escapes cannot be borrowed.
    match serde_json::from_str::<Option<&str>>(written) {
        Ok(text) => Some(text.map(Cow::Borrowed)),
        Err(_) => {
            let text: Option<String> = serde_json::from_str(written).ok()?;
            Some(text.map(Cow::Owned))
        }
    }
}

/// A digest of `bytes`, as long as it is wanted.
fn digest_of<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    let digest: [u8; 32] = Sha256::digest(bytes).into();
    digest.first_chunk().copied()
}

fn text_of(parts: &Parts<'_>, name: &str) -> Option<String> {
    serde_json::from_str(parts.get(name)?.get()).ok()
}

/// Writes a field that follows others.
fn field(to: &mut String, name: &str, value: impl Display) {
    let comma = if to.ends_with('{') { "" } else { "," };
    // Writing to a text cannot fail.
    write!(to, "{comma}{}:{value}", Value::from(name)).unwrap_or_default();
}
