//! Takes what Secrets hold out of a recording.
//!
//! - Every value of a Secret that the pass saw or wrote is replaced by one word, wherever it stands: as it is, in base64,
//!   as part of a log line or of JSON, and each longer line of it.
//! - What a plugin has made of a value (a hash, another encoding) cannot be known by looking.
//! - All are replaced in one go, so that no value is looked for in what stands there instead: a guest can make up
//!   values, and texts that grow with each.

use std::collections::BTreeSet;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::text::clean;

/// What stands in place of a value.
const WORD: &str = "hidden";
/// The same in base64, so that a guest can decode it.
const WORD_BASE64: &str = "aGlkZGVu";
/// A shorter value is replaced where it stands alone: as a part of another text it would be anything.
const SHORTEST: usize = 4;
/// A shorter line of a value is no secret, and a shorter value no field's name.
const LINE: usize = 8;
/// More values than this, or more bytes of them, are no recording's.
const MOST: usize = 2000;
const BYTES: usize = 8 << 20;
/// What kubectl keeps of an object, with its values written once more.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The values to hide: those of Secrets that were seen.
#[derive(Clone, Debug, Default)]
pub struct Values {
    plain: BTreeSet<String>,
    base64: BTreeSet<String>,
    bytes: usize,
}

/// Replaces values by words.
pub struct Hider {
    values: Values,
    /// Those that are looked for in longer texts, and the word of each.
    parts: Option<(AhoCorasick, Vec<&'static str>)>,
}

impl Values {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.base64.len()
    }

    /// Whether there are so many that nobody should look for all of them.
    pub fn too_many(&self) -> bool {
        self.count() > MOST || self.bytes > BYTES
    }

    /// Whether all of these are among `others`.
    pub fn are_among(&self, others: &Self) -> bool {
        self.base64.is_subset(&others.base64)
    }

    /// Puts words in place of them.
    pub fn hider(&self) -> Hider {
        let base64 = self.base64.iter().map(|text| (text, WORD_BASE64));
        let plain = self.plain.iter().map(|text| (text, WORD));
        let all = base64.chain(plain);
        let all = all.filter(|(text, _)| text.len() >= SHORTEST);
        let (texts, words): (Vec<&String>, Vec<&str>) = all.unzip();
        let parts = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(texts);
        Hider {
            values: self.clone(),
            parts: parts.ok().map(|parts| (parts, words)),
        }
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
        if text.is_empty() || text == WORD || text == WORD_BASE64 || self.too_many() {
            return;
        }
        self.bytes = self.bytes.saturating_add(text.len());
        if !is_base64 {
            self.base64.insert(STANDARD.encode(text));
            self.plain(text);
            return;
        }
        self.base64.insert(text.to_owned());
        let decoded = STANDARD.decode(text).ok();
        if let Some(decoded) = decoded.and_then(|bytes| String::from_utf8(bytes).ok()) {
            self.plain(&decoded);
        }
    }

    /// As it is and without the line end that a file has, as a log line and JSON show it, and line by line.
    fn plain(&mut self, text: &str) {
        let json = Value::from(text).to_string();
        let json = json.trim_matches('"').to_owned();
        let shown = [
            text.to_owned(),
            text.trim().to_owned(),
            clean(text, usize::MAX),
            json,
        ];
        self.plain
            .extend(shown.into_iter().filter(|text| !text.is_empty()));
        let lines = text.lines().map(str::trim);
        let lines = lines.filter(|line| line.len() >= LINE);
        self.plain.extend(lines.map(str::to_owned));
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
        if self.values.base64.contains(text) {
            return WORD_BASE64.to_owned();
        }
        if self.values.plain.contains(text) {
            return WORD.to_owned();
        }
        match &self.parts {
            Some((parts, words)) => parts.replace_all(text, words),
            None => text.to_owned(),
        }
    }

    /// Hides them in a field's name, which is mostly none.
    fn name(&self, name: String) -> String {
        match name.len() >= LINE {
            true => self.text(&name),
            false => name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn hide(value: &mut Value) -> usize {
        let mut values = Values::default();
        values.collect(value);
        values.hider().hide(value);
        values.count()
    }

    #[test]
    fn what_a_secret_holds_is_nowhere() {
        let secret = json!({
            "kind": "Secret",
            "metadata": { "annotations": { "last": "{\"data\":{\"key\":\"aHVudGVyMgo=\"}}" } },
            "data": { "key": "aHVudGVyMgo=", "raw": "/w==", "short": "YWI=" },
        });
        let mut recording = json!({
            "calls": [
                { "call": "get", "answer": { "ok": secret } },
                { "call": "apply", "arguments": { "object": { "kind": "ConfigMap", "data": {
                    "url": "postgres://me:hunter2@db", "other": "abc", "same": "ab",
                } } } },
                { "call": "apply", "arguments": { "object": { "kind": "Secret", "stringData": { "new": "s3cret" } } } },
                { "call": "patch", "arguments": {
                    "target": { "kind": "Secret" }, "patch": { "stringData": { "a": "patched" } } } },
                { "call": "patch", "arguments": {
                    "target": { "kind": "Secret" }, "patch": [{ "op": "add", "path": "/data/b", "value": "aW5wbGFjZQ==" }] } },
                { "call": "create-subresource", "answer": { "ok": { "kind": "TokenRequest", "status": { "token": "eyJhbGci" } } } },
                { "call": "publish", "arguments": { "note": "uses s3cret, patched, inplace and eyJhbGci" } },
            ],
            "outcome": { "failed": { "output": "panicked: hunter2 is wrong" } },
        });
        assert_eq!(hide(&mut recording), 7);
        let text = recording.to_string();
        for secret in [
            "hunter2", "aHVudGVy", "s3cret", "patched", "inplace", "aW5w", "eyJ", "YWI=", "/w==",
        ] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
        let at = |pointer: &str| recording.pointer(pointer).and_then(Value::as_str);
        assert_eq!(at("/calls/0/answer/ok/data/key"), Some("aGlkZGVu"));
        let data = "/calls/1/arguments/object/data";
        assert_eq!(at(&format!("{data}/url")), Some("postgres://me:hidden@db"));
        assert_eq!(
            at(&format!("{data}/other")),
            Some("abc"),
            "too short to be found in a text"
        );
        assert_eq!(at(&format!("{data}/same")), Some("hidden"));
        assert_eq!(
            at("/outcome/failed/output"),
            Some("panicked: hidden is wrong")
        );
    }

    #[test]
    fn without_secrets_nothing_changes() {
        let mut recording = json!({ "object": { "kind": "Greeting", "data": { "a": "b" } } });
        let before = recording.clone();
        assert_eq!((hide(&mut recording), &recording), (0, &before));
    }

    #[test]
    fn a_value_is_hidden_in_each_of_its_forms() {
        let key = "-----BEGIN KEY-----\nMIIEvQIBADAN\n-----END KEY-----\n";
        let config = r#"{"stringData":{"a":"say \"hi\" twice"}}"#;
        let mut recording = json!({
            "a": { "kind": "Secret", "stringData": { "key": key, "a": "say \"hi\" twice", "token": "tokentokentoken" },
                "metadata": { "annotations": { LAST_APPLIED: config } } },
            "failed": format!("bad key {}", clean(key, 4096)),
            "debug": format!("{key:?}"),
            "cut": "its second line is MIIEvQIBADAN and no more",
            "json": config,
            "labels": { "tokentokentoken": "x" },
        });
        hide(&mut recording);
        let text = recording.to_string();
        for secret in ["MIIE", "hi\\\"", "BEGIN", "tokentoken"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }

    #[test]
    fn what_stands_in_place_of_a_value_is_not_looked_into() {
        let parts: Vec<String> = ["hidd", "idde", "dden", "aGlk", "GlkZ", "kZGV", "ZGVu"]
            .iter()
            .map(|part| (*part).to_owned())
            .collect();
        let data: Map<String, Value> = parts
            .iter()
            .map(|part| (part.clone(), part.clone().into()))
            .collect();
        let mut recording =
            json!({ "a": { "kind": "Secret", "stringData": data }, "b": "x hidd idde x" });
        hide(&mut recording);
        assert_eq!(recording["b"], "x hidden hidden x");
    }

    #[test]
    fn what_an_object_is_stays_though_a_value_says_the_same() {
        let mut recording = json!({
            "a": { "kind": "Secret", "stringData": { "user": "postgres" } },
            "b": { "apiVersion": "postgres.example.com/v1", "kind": "postgres", "host": "postgres" },
        });
        hide(&mut recording);
        assert_eq!(
            recording["b"],
            json!({ "apiVersion": "postgres.example.com/v1", "kind": "postgres", "host": "hidden" })
        );
    }
}
