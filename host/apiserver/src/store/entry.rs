//! One object at one revision, as compact JSON with what lists and watches need to choose it.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::deep;
use crate::encode::{self, Field, Layout, Part};

/// The labels of an object.
pub type Labels = BTreeMap<String, String>;

/// Where an object lies within its resource; in the order of paths, as etcd has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespacedName {
    /// The namespace; empty for what lies in none.
    pub namespace: Box<str>,
    /// The name.
    pub name: Box<str>,
}

/// One object at one revision.
#[derive(Debug)]
pub struct Entry {
    /// Where it lies.
    pub key: NamespacedName,
    /// Its `resourceVersion`.
    pub revision: u64,
    /// The object.
    pub json: Bytes,
    /// Where in the text the field after `apiVersion` begins.
    head: usize,
    /// Its labels, if it has any.
    pub labels: Option<Box<Labels>>,
    /// Whether it has a `deletionTimestamp`.
    pub deleting: bool,
    /// Whether it has a `status`.
    pub has_status: bool,
}

impl Ord for NamespacedName {
    fn cmp(&self, other: &Self) -> Ordering {
        self.path().cmp(other.path())
    }
}

impl PartialOrd for NamespacedName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl NamespacedName {
    fn path(&self) -> impl Iterator<Item = u8> {
        let namespace = self.namespace.bytes().chain([b'/']);
        namespace.chain(self.name.bytes())
    }

    /// Where an object lies.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

impl Entry {
    /// The object without `kind` and `apiVersion`, as items of a built-in kind's list are; it follows on
    /// an opening brace.
    pub fn untyped(&self) -> Bytes {
        self.json.slice(self.head..)
    }

    /// The same object, said to be at another revision.
    #[must_use]
    pub fn at_revision(&self, revision: u64) -> Self {
        Draft::of(&self.value()).at(self.key.clone(), revision)
    }

    /// Whether it is kept in this version.
    pub fn is_version(&self, api_version: &str) -> bool {
        let head = self.json.get(..self.head);
        let head = head.and_then(|head| head.strip_suffix(b"\",".as_slice()));
        let head = head.and_then(|head| head.strip_suffix(api_version.as_bytes()));
        head.is_some_and(|head| head.ends_with(b"\"apiVersion\":\""))
    }

    /// The object, parsed.
    pub fn value(&self) -> Value {
        parse(&self.json)
    }
}

/// An object whose text is that of an entry.
pub(crate) fn parse(json: &[u8]) -> Value {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    deserializer.disable_recursion_limit();
    // It was written by `Draft`, so it parses.
    Value::deserialize(&mut deserializer).unwrap_or_default()
}

/// An object that waits for its revision: the text before and after it.
#[derive(Debug)]
pub(super) struct Draft {
    text: Vec<u8>,
    /// Where in the text the revision goes.
    gap: usize,
    head: usize,
    labels: Option<Box<Labels>>,
    deleting: bool,
    has_status: bool,
}

/// What every entry has, whatever was said of it.
const METADATA: &str = "metadata";
const REVISION: &str = "resourceVersion";

impl Draft {
    pub(super) fn of(object: &Value) -> Self {
        let empty = Map::new();
        let object = object.as_object().unwrap_or(&empty);
        let metadata = object.get(METADATA).and_then(Value::as_object);
        let deletion = metadata.and_then(|metadata| metadata.get("deletionTimestamp"));
        let mut draft = Self {
            text: Vec::with_capacity(512),
            gap: 0,
            head: 1,
            labels: labels(metadata.unwrap_or(&empty)),
            deleting: deletion.is_some_and(|time| !time.is_null()),
            has_status: object.contains_key("status"),
        };
        let layout = Part::BY_KIND.layout(object);
        let inner = layout.and_then(|layout| layout.rank(METADATA).1);
        let mut before = b'{';
        for field in with(object, layout, METADATA) {
            let name = field.map_or(METADATA, |field| field.name);
            encode::name_of(&mut draft.text, before, name);
            before = b',';
            match field {
                Some(field) => encode::write(&mut draft.text, field.value, field.part),
                None => draft.metadata(metadata.unwrap_or(&empty), inner),
            }
            if name == "apiVersion" {
                draft.head = draft.text.len() + 1;
            }
        }
        draft.text.push(b'}');
        draft
    }

    /// Writes the metadata, and leaves a gap in it.
    fn metadata(&mut self, metadata: &Map<String, Value>, layout: Option<&'static Layout>) {
        let mut before = b'{';
        for field in with(metadata, layout, REVISION) {
            let name = field.map_or(REVISION, |field| field.name);
            encode::name_of(&mut self.text, before, name);
            before = b',';
            if let Some(field) = field {
                encode::write(&mut self.text, field.value, field.part);
            } else {
                self.text.push(b'"');
                self.gap = self.text.len();
                self.text.push(b'"');
            }
        }
        self.text.push(b'}');
    }

    /// How deeply it is nested.
    pub(super) fn nesting(&self) -> usize {
        deep::nesting(&self.text)
    }

    pub(super) fn at(self, key: NamespacedName, revision: u64) -> Entry {
        let (before, after) = self.text.split_at(self.gap);
        let digits = revision.to_string();
        let mut json = Vec::with_capacity(self.text.len() + digits.len());
        json.extend_from_slice(before);
        json.extend_from_slice(digits.as_bytes());
        json.extend_from_slice(after);
        Entry {
            key,
            revision,
            json: json.into(),
            head: self.head,
            labels: self.labels,
            deleting: self.deleting,
            has_status: self.has_status,
        }
    }
}

/// The fields of an object in their order, and nothing in the place of one that is written in another way.
fn with<'a>(
    object: &'a Map<String, Value>,
    layout: Option<&'static Layout>,
    special: &'static str,
) -> impl Iterator<Item = Option<Field<'a>>> {
    let fields = encode::fields(object, layout);
    let rank = layout.map_or(0, |layout| layout.rank(special).0);
    let before = fields.partition_point(|field| (field.rank, field.name) < (rank, special));
    let has_it = fields
        .get(before)
        .is_some_and(|field| field.name == special);
    let after = if has_it { before + 1 } else { before };
    (0..before)
        .map(Some)
        .chain([None])
        .chain((after..fields.len()).map(Some))
        .map(move |place| fields.get(place?).copied())
}

fn labels(metadata: &Map<String, Value>) -> Option<Box<Labels>> {
    let labels = metadata.get("labels")?.as_object()?;
    let texts = labels
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    let labels: Labels = texts.collect();
    (!labels.is_empty()).then(|| Box::new(labels))
}
