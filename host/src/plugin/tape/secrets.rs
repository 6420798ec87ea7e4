//! Takes what Secrets hold out of a recording, and out of texts that people are shown.
//!
//! - Each string that a value holds is replaced by one word, wherever it stands ([`forms`] says which strings those
//!   are, [`search`] where they are found). What is shorter than [`SHORTEST`] is replaced only where nothing else
//!   stands beside it: as a part of another text it would be anything.
//! - What a plugin has made of a value (a hash, a part of it, another encoding than base64) cannot be known by looking.
//! - All are replaced in one go, so that no value is looked for in what stands there instead: a guest can make up
//!   values, and texts that grow with each.

mod forms;
mod search;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::view::Parts;
use forms::Forms;
use search::Search;

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
        let parts = Parts::of(object).unwrap_or_default();
        let inner = |name: &str| parts.get(name).and_then(Parts::within);
        match parts.get("kind").map(RawValue::get) {
            Some(r#""Secret""#) => {
                for (name, is_base64) in [("data", true), ("stringData", false)] {
                    let fields = inner(name).unwrap_or_default();
                    let values = fields.iter().map(|field| field.value);
                    values.for_each(|value| self.add_json(value, is_base64));
                }
            }
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
                    let is_plain = path.starts_with("/stringData");
                    if is_plain || path.starts_with("/data") {
                        self.strings(operation.get("value"), !is_plain);
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
        let decoded = match is_base64 {
            true => STANDARD.decode(text).ok(),
            false => None,
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
        match name.len() >= NAME {
            true => self.text(&name),
            false => name,
        }
    }
}
