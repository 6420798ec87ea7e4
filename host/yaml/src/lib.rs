//! Reads YAML as `sigs.k8s.io/yaml` does, which is how Kubernetes and kubectl read it.
//!
//! - Scalars follow YAML 1.1: `0400` is 256, `yes` is true.
//! - A key is what JSON has for it: the key `y` is `"true"`, the key `0400` is `"256"`.
//! - Forms that libyaml reads and our parser does not are in [`go`].
//! - [`scalar`] and [`comment`] write words of others into YAML.
//! - Everything that reads YAML uses [`options`]; [`Untyped`] stands wherever a value has no type of its own.

pub mod go;
mod number;
pub mod untyped;
mod write;

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error, Visitor};
use serde_json::{Map, Value};
use serde_saphyr::{MergeKeyPolicy, Options, Spanned};

pub use number::{whole, whole_numbers};
use untyped::{Notation, Seed, float};
pub use write::{comment, quoted, scalar};

/// Deeper than this nothing is read.
const MAX_DEPTH: usize = 10_000;

/// So many values are read: more than a file of objects has, such as all of a cluster.
const MAX_NODES: usize = 50_000_000;

/// So many documents are read.
const MAX_DOCUMENTS: usize = 1_000_000;

/// How the parser reads scalars.
pub fn options() -> Options {
    let mut options = Options::default();
    options.legacy_octal_numbers = true;
    options.strict_booleans = false;
    // The parser's own limits are below what `kubectl get -A -o yaml` prints. It still limits how deep values are nested,
    // how long all texts are, and what aliases come to.
    if let Some(budget) = &mut options.budget {
        budget.max_nodes = MAX_NODES;
        budget.max_events = 2 * MAX_NODES;
        budget.max_documents = MAX_DOCUMENTS;
    }
    options
}

/// Reads every document in `text`; empty documents are left out.
///
/// # Errors
/// `text` is not YAML, or a document is not a `T`.
pub fn documents<T: DeserializeOwned>(text: &str) -> Result<Vec<T>, serde_saphyr::Error> {
    as_go(text, |text| {
        serde_saphyr::from_multiple_with_options(text, options())
    })
}

/// Reads every document in `text` as the JSON that Kubernetes makes of it; empty documents are left out.
///
/// # Errors
/// `text` is not YAML.
pub fn values(text: &str) -> Result<Vec<Value>, serde_saphyr::Error> {
    let mut options = options();
    options.merge_keys = MergeKeyPolicy::AsOrdinary;
    let read: Vec<Merged> = as_go(text, |text| {
        serde_saphyr::from_multiple_with_options(text, options.clone())
    })?;
    Ok(read.into_iter().map(|Merged(value)| value).collect())
}

/// Reads `text`; if it cannot be read, as Go's `yaml` would read it.
///
/// # Errors
/// Those of `read`.
pub fn as_go<T>(
    text: &str,
    mut read: impl FnMut(&str) -> Result<T, serde_saphyr::Error>,
) -> Result<T, serde_saphyr::Error> {
    if !go::has_other_breaks(text) {
        match read(text) {
            Ok(value) => return Ok(value),
            Err(error) => match go::as_go(text) {
                Some(text) => return read(&text),
                None => return Err(error),
            },
        }
    }
    let text = go::as_go(text).map_or(Cow::Borrowed(text), Cow::Owned);
    read(&text)
}

/// Reads the one document in `text`.
///
/// # Errors
/// As [`documents`]; also if there is more than one.
pub fn document<T: DeserializeOwned>(text: &str) -> Result<T, serde_saphyr::Error> {
    as_go(text, |text| {
        serde_saphyr::from_str_with_options(text, options())
    })
}

/// Reads the one document in `text`, which has `most` values at most, also where aliases stand for some: a tree takes a
/// hundred times the bytes of its text.
///
/// # Errors
/// As [`document`]; also if there are more values.
pub fn small_document<T: DeserializeOwned>(
    text: &str,
    most: usize,
) -> Result<T, serde_saphyr::Error> {
    as_go(text, |text| {
        serde_saphyr::from_str_with_options(text, small(most))
    })
}

/// As [`options`], for texts with `most` values at most.
fn small(most: usize) -> Options {
    let mut options = options();
    if let Some(budget) = &mut options.budget {
        budget.max_nodes = most;
        budget.max_events = 2 * most;
    }
    options.alias_limits.max_total_replayed_events = most;
    options
}

/// Whether the text has more values than it may have.
pub fn is_too_large(error: &serde_saphyr::Error) -> bool {
    use serde_saphyr::Error::{AliasError, AliasReplayLimitExceeded, Budget};
    match error.without_snippet() {
        Budget { .. } | AliasReplayLimitExceeded { .. } => true,
        AliasError { error, .. } => is_too_large(error),
        _ => false,
    }
}

/// A YAML value as the JSON that Kubernetes makes of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Untyped(pub Value);

impl<'de> Deserialize<'de> for Untyped {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Seed(&mut Yaml::default()).deserialize(from).map(Self)
    }
}

/// As [`Untyped`], of a text whose merge keys are read as Go reads them.
struct Merged(Value);

impl<'de> Deserialize<'de> for Merged {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut yaml = Yaml::merging();
        Seed(&mut yaml).deserialize(from).map(Self)
    }
}

/// For `#[serde(deserialize_with)]`: a field that holds values without a type of their own. Null is the default.
///
/// # Errors
/// The value is not a `T`.
pub fn untyped<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let Untyped(value) = Untyped::deserialize(from)?;
    let read: Option<T> = serde_json::from_value(value).map_err(D::Error::custom)?;
    Ok(read.unwrap_or_default())
}

/// YAML as a [`Notation`]: floats that are whole become integers, as on their way through Go's JSON.
#[derive(Debug, Default)]
pub struct Yaml {
    depth: usize,
    /// Whether `<<` is a merge key: the parser gives it as an ordinary one.
    merges: bool,
    /// The keys that are there twice, in the words of Go's parser.
    pub doubled: Vec<String>,
}

impl Yaml {
    /// Of a parser that gives the merge key `<<` as an ordinary one.
    pub fn merging() -> Self {
        Self {
            merges: true,
            ..Self::default()
        }
    }

    fn note_doubled(&mut self, key: &str, line: u64, map: &Map<String, Value>) {
        if map.contains_key(key) {
            let doubled = format!("  line {line}: key {key:?} already set in map");
            self.doubled.push(doubled);
        }
    }
}

impl Notation for Yaml {
    type Key = Key;

    const EXPECTED: &'static str = "a YAML value";

    fn number<E: Error>(number: f64) -> Result<Value, E> {
        Ok(whole(number).map_or_else(|| float(number), Value::Number))
    }

    fn enter<E: Error>(&mut self) -> Result<(), E> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(E::custom("exceeded max depth"));
        }
        Ok(())
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    fn is_merge(&self, key: &Key) -> bool {
        self.merges && key.text == "<<"
    }

    fn merges(&mut self, key: &Key, field: &str, map: &Map<String, Value>) {
        self.note_doubled(field, key.line, map);
    }

    fn field_was_read(&mut self, key: &Key, map: &Map<String, Value>) {
        self.note_doubled(&key.text, key.line, map);
    }
}

/// A key, and the line that it is in.
pub struct Key {
    text: String,
    line: u64,
}

impl From<Key> for String {
    fn from(key: Key) -> Self {
        key.text
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let key = Spanned::<KeyText>::deserialize(from)?;
        let line = key.referenced.line();
        let KeyText(text) = key.value;
        Ok(Self { text, line })
    }
}

/// A key as JSON has it.
struct KeyText(String);

impl<'de> Deserialize<'de> for KeyText {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(KeyVisitor)
    }
}

struct KeyVisitor;

impl Visitor<'_> for KeyVisitor {
    type Value = KeyText;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string, a number or a boolean as a key")
    }

    fn visit_bool<E>(self, key: bool) -> Result<KeyText, E> {
        Ok(KeyText(key.to_string()))
    }

    fn visit_i64<E>(self, key: i64) -> Result<KeyText, E> {
        Ok(KeyText(key.to_string()))
    }

    fn visit_u64<E>(self, key: u64) -> Result<KeyText, E> {
        Ok(KeyText(key.to_string()))
    }

    fn visit_f64<E>(self, key: f64) -> Result<KeyText, E> {
        Ok(KeyText(key.to_string()))
    }

    fn visit_str<E>(self, key: &str) -> Result<KeyText, E> {
        Ok(KeyText(key.to_owned()))
    }
}

#[cfg(test)]
mod tests;
