//! Takes what Secrets hold out of a recording, and out of texts that people are shown.
//!
//! - Each string that a value holds is replaced by one word, wherever it stands ([`forms`] says which strings those
//!   are, [`search`] where they are found). What is shorter than [`SHORTEST`] is replaced only where nothing else
//!   stands beside it: as a part of another text it would be anything.
//! - Very common words and the boundary lines of PEM are replaced in the data of Secrets and in patches of them, and
//!   nowhere else ([`common`] says which).
//! - What a plugin has made of a value (a hash, a part of it, another encoding than base64) cannot be known by looking.
//! - All are replaced in one go, so that no value is looked for in what stands there instead: a guest can make up
//!   values, and texts that grow with each.

mod common;
mod forms;
mod search;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use forms::Forms;
use search::Search;
use windlass_kube::object::RawFields;

/// What stands in place of a value.
const WORD: &str = "hidden";
/// The same in base64, so that a guest can decode it.
const WORD_BASE64: &str = "aGlkZGVu";
/// A shorter text, in bytes, is not looked for in longer ones.
const SHORTEST: usize = 4;
/// A field's name that is shorter is none of a Secret's values.
const NAME: usize = 8;
/// More values than this are no recording's.
const MOST: usize = 2000;
/// What kubectl keeps of an object, with its values written once more.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The values to hide: those of Secrets that were seen.
#[derive(Clone, Debug, Default)]
pub struct Values {
    /// As they are.
    held: BTreeSet<Vec<u8>>,
    /// All that is looked for.
    forms: Forms,
}

/// Replaces values by words.
pub struct Hider(Search);

impl Values {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.held.len()
    }

    /// Whether there are so many that nobody should look for all of them.
    pub fn too_many(&self) -> bool {
        self.count() > MOST || self.forms.too_many()
    }

    /// Whether all of these are among `others`.
    pub fn are_among(&self, others: &Self) -> bool {
        self.held.is_subset(&others.held)
    }

    /// Puts words in place of them.
    pub fn hider(&self) -> Hider {
        Hider(Search::new(&self.forms))
    }

    /// Looks for Secrets in `value`, and for patches of them.
    pub fn collect(&mut self, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.collect(item)),
            Value::Object(fields) => {
                let text = |name: &str| fields.get(name).and_then(Value::as_str);
                match text("kind") {
                    Some("Secret") => self.secret(value),
                    Some("TokenRequest") => self.strings(value.pointer("/status/token"), false),
                    _ => {}
                }
                let target = fields.get("target").and_then(|target| target.get("kind"));
                if target.and_then(Value::as_str) == Some("Secret") {
                    self.patch(fields.get("patch"));
                }
                fields.values().for_each(|value| self.collect(value));
            }
            _ => {}
        }
    }

    /// The same for the text of one object, without a tree of it.
    pub fn collect_text(&mut self, object: &str) {
        let parts = RawFields::of(object).unwrap_or_default();
        let inner = |name: &str| parts.get(name).and_then(RawFields::within);
        match parts.get("kind").map(RawValue::get) {
            Some(r#""Secret""#) => self.collect_fields(&parts),
            Some(r#""TokenRequest""#) => {
                let status = inner("status").unwrap_or_default();
                let token = status.get("token");
                token
                    .into_iter()
                    .for_each(|token| self.add_json(token, false));
            }
            _ => {}
        }
    }

    /// The same for the text of a patch of a Secret.
    pub fn collect_patch(&mut self, patch: &str) {
        if patch.trim_start().starts_with('[') {
            // What is before an error is looked for too.
            let _ = Operations(self).deserialize(&mut serde_json::Deserializer::from_str(patch));
        } else {
            self.collect_fields(&RawFields::of(patch).unwrap_or_default())
        }
    }

    /// What the fields of a Secret hold.
    fn collect_fields(&mut self, parts: &RawFields<'_>) {
        for (name, is_base64) in [("data", true), ("stringData", false)] {
            if let Some(fields) = parts.get(name) {
                self.collect_values(fields, is_base64);
            }
        }
    }

    /// A value, or an object of values.
    fn collect_values(&mut self, value: &RawValue, is_base64: bool) {
        match RawFields::within(value) {
            Some(fields) => fields
                .iter()
                .for_each(|field| self.add_json(field.value, is_base64)),
            None => self.add_json(value, is_base64),
        }
    }

    fn add_json(&mut self, value: &RawValue, is_base64: bool) {
        if let Ok(text) = serde_json::from_str::<String>(value.get()) {
            self.add(&text, is_base64);
        }
    }

    fn secret(&mut self, object: &Value) {
        self.strings(object.get("data"), true);
        self.strings(object.get("stringData"), false);
    }

    /// A merge patch is part of a Secret; of a list of operations it is unknown what each is.
    fn patch(&mut self, patch: Option<&Value>) {
        match patch {
            Some(Value::Array(operations)) => {
                for operation in operations {
                    let path = operation.get("path").and_then(Value::as_str);
                    let path = path.unwrap_or_default();
                    match at(path) {
                        Some(SecretPath::Secret) => operation
                            .get("value")
                            .into_iter()
                            .for_each(|it| self.secret(it)),
                        Some(SecretPath::Data) => self.strings(operation.get("value"), true),
                        Some(SecretPath::StringData) => self.strings(operation.get("value"), false),
                        None => {}
                    }
                }
            }
            Some(patch) => self.secret(patch),
            None => {}
        }
    }

    fn strings(&mut self, value: Option<&Value>, is_base64: bool) {
        match value {
            Some(Value::String(text)) => self.add(text, is_base64),
            Some(Value::Object(fields)) => fields
                .values()
                .for_each(|value| self.strings(Some(value), is_base64)),
            _ => {}
        }
    }

    fn add(&mut self, text: &str, is_base64: bool) {
        if text.is_empty() || self.too_many() {
            return;
        }
        let decoded = if is_base64 {
            STANDARD.decode(text).ok()
        } else {
            None
        };
        let value = decoded.unwrap_or_else(|| text.as_bytes().to_vec());
        // A word is there already.
        if value == WORD.as_bytes() || self.held.contains(&value) {
            return;
        }
        self.forms.add(&value);
        self.held.insert(value);
    }
}

impl Hider {
    /// Hides them in all texts of `value`, but for what says what an object is.
    pub fn hide(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide(item)),
            Value::Object(fields) => {
                if fields.get("kind").and_then(Value::as_str) == Some("Secret")
                    && let Some(Value::Object(metadata)) = fields.get_mut("metadata")
                    && let Some(Value::Object(annotations)) = metadata.get_mut("annotations")
                {
                    annotations.remove(LAST_APPLIED);
                }
                if fields.get("kind").and_then(Value::as_str) == Some("Secret") {
                    replace_data(fields);
                }
                let target = fields.get("target").and_then(|target| target.get("kind"));
                if target.and_then(Value::as_str) == Some("Secret")
                    && let Some(patch) = fields.get_mut("patch")
                {
                    replace_patch(patch);
                }
                let held = std::mem::take(fields);
                let hidden = held.into_iter().map(|(name, mut value)| {
                    if !matches!(&*name, "apiVersion" | "kind") {
                        self.hide(&mut value);
                    }
                    (self.name(name), value)
                });
                *fields = hidden.collect::<Map<String, Value>>();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Hides them in a text.
    pub fn text(&self, text: &str) -> String {
        self.0.replace(text)
    }

    /// Hides them in a field's name, which is mostly none.
    fn name(&self, name: String) -> String {
        if name.len() >= NAME {
            self.text(&name)
        } else {
            name
        }
    }
}

/// What a path of a JSON patch of a Secret leads to.
enum SecretPath {
    Secret,
    Data,
    StringData,
}

fn at(path: &str) -> Option<SecretPath> {
    match path.split('/').nth(1) {
        None => Some(SecretPath::Secret),
        Some("data") => Some(SecretPath::Data),
        Some("stringData") => Some(SecretPath::StringData),
        Some(_) => None,
    }
}

/// Replaces all values of a Secret, also those that are not looked for elsewhere.
fn replace_data(secret: &mut Map<String, Value>) {
    for (name, word) in [("data", WORD_BASE64), ("stringData", WORD)] {
        if let Some(value) = secret.get_mut(name) {
            replace_all(value, word);
        }
    }
}

/// The same for a patch of one.
fn replace_patch(patch: &mut Value) {
    match patch {
        Value::Object(fields) => replace_data(fields),
        Value::Array(operations) => {
            for operation in operations {
                let path = operation.get("path").and_then(Value::as_str);
                let at = at(path.unwrap_or_default());
                match (at, operation.get_mut("value")) {
                    (Some(SecretPath::Secret), Some(Value::Object(fields))) => replace_data(fields),
                    (Some(SecretPath::Data), Some(value)) => replace_all(value, WORD_BASE64),
                    (Some(SecretPath::StringData), Some(value)) => replace_all(value, WORD),
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

fn replace_all(value: &mut Value, word: &str) {
    match value {
        Value::String(text) if !text.is_empty() => word.clone_into(text),
        Value::Object(fields) => {
            let values = fields.values_mut();
            values.for_each(|value| replace_all(value, word));
        }
        _ => {}
    }
}

/// One operation of a JSON patch.
#[derive(Deserialize)]
struct Operation<'a> {
    #[serde(borrow, default)]
    path: Cow<'a, str>,
    #[serde(borrow, default)]
    value: Option<&'a RawValue>,
}

/// Collects from each operation of a JSON patch of a Secret, without a tree or a list of them.
struct Operations<'a>(&'a mut Values);

impl<'de> DeserializeSeed<'de> for Operations<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Operations<'_> {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("operations")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(Operation { path, value }) = items.next_element::<Operation<'de>>()? {
            let Some(value) = value else { continue };
            match at(&path) {
                Some(SecretPath::Secret) => {
                    let fields = RawFields::within(value).unwrap_or_default();
                    self.0.collect_fields(&fields);
                }
                Some(SecretPath::Data) => self.0.collect_values(value, true),
                Some(SecretPath::StringData) => self.0.collect_values(value, false),
                None => {}
            }
        }
        Ok(())
    }
}
