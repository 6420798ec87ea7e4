//! One object at one revision, as compact JSON with what lists and watches need to choose it.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::deep;

/// The labels of an object.
pub type Labels = BTreeMap<String, String>;

/// Where an object lies within its resource; in the order of paths, as etcd has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The namespace; empty for what lies in none.
    pub namespace: Box<str>,
    /// The name.
    pub name: Box<str>,
}

/// One object at one revision.
#[derive(Debug)]
pub struct Entry {
    /// Where it lies.
    pub key: Key,
    /// Its `resourceVersion`.
    pub revision: u64,
    /// The object.
    pub json: Bytes,
    /// Where in the text the fields after `kind` and `apiVersion` begin.
    head: usize,
    /// Its labels, if it has any.
    pub labels: Option<Box<Labels>>,
    /// Whether it has a `deletionTimestamp`.
    pub deleting: bool,
    /// Whether it has a `status`.
    pub has_status: bool,
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        self.path().cmp(other.path())
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Key {
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

/// What every object begins with, in the real server's order.
const HEAD: [&str; 2] = ["kind", "apiVersion"];

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

impl Draft {
    pub(super) fn of(object: &Value) -> Self {
        let mut draft = Self {
            text: Vec::with_capacity(512),
            gap: 0,
            head: 1,
            labels: None,
            deleting: false,
            has_status: false,
        };
        let empty = Map::new();
        let object = object.as_object().unwrap_or(&empty);
        let metadata = object.get("metadata").and_then(Value::as_object);
        draft.labels = labels(metadata.unwrap_or(&empty));
        let deletion = metadata.and_then(|metadata| metadata.get("deletionTimestamp"));
        draft.has_status = object.contains_key("status");
        draft.deleting = deletion.is_some_and(|time| !time.is_null());
        let mut between = b'{';
        for name in HEAD {
            if let Some(value) = object.get(name) {
                draft.field(&mut between, name, value);
                draft.head = draft.text.len() + 1;
            }
        }
        let rest = object.iter();
        for (name, value) in
            rest.filter(|(name, _)| !HEAD.contains(&name.as_str()) && *name != "metadata")
        {
            draft.field(&mut between, name, value);
        }
        draft.text.push(between);
        draft.text.extend_from_slice(b"\"metadata\":");
        let mut between = b'{';
        let fields = metadata.unwrap_or(&empty).iter();
        for (name, value) in fields.filter(|(name, _)| *name != "resourceVersion") {
            draft.field(&mut between, name, value);
        }
        draft.text.push(between);
        draft.text.extend_from_slice(b"\"resourceVersion\":\"");
        draft.gap = draft.text.len();
        draft.text.extend_from_slice(b"\"}}");
        draft
    }

    /// How deeply it is nested.
    pub(super) fn nesting(&self) -> usize {
        deep::nesting(&self.text)
    }

    fn field(&mut self, between: &mut u8, name: &str, value: &Value) {
        self.text.push(*between);
        *between = b',';
        // Writing JSON values into memory cannot fail.
        let _ = serde_json::to_writer(&mut self.text, name);
        self.text.push(b':');
        let _ = serde_json::to_writer(&mut self.text, value);
    }

    pub(super) fn at(self, key: Key, revision: u64) -> Entry {
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

fn labels(metadata: &Map<String, Value>) -> Option<Box<Labels>> {
    let labels = metadata.get("labels")?.as_object()?;
    let texts = labels
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    let labels: Labels = texts.collect();
    (!labels.is_empty()).then(|| Box::new(labels))
}
