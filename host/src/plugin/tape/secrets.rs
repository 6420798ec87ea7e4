//! Takes what Secrets hold out of a recording.
//!
//! - Every value of a Secret that the pass saw or wrote is replaced by one word, wherever it stands, as it is and in
//!   base64: in objects, patches, Events, failures and output.
//! - What a plugin has made of a value (a hash, another encoding) cannot be known by looking.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// What stands in place of a value.
const WORD: &str = "hidden";
/// The same in base64, so that a guest can decode it.
const WORD_BASE64: &str = "aGlkZGVu";
/// A shorter value is replaced where it stands alone: as a part of another text it would be anything.
const SHORTEST: usize = 4;

/// The values to hide: those of Secrets that were seen.
#[derive(Clone, Debug, Default)]
pub struct Values {
    plain: BTreeSet<String>,
    base64: BTreeSet<String>,
}

impl Values {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.base64.len()
    }

    /// Puts the word in place of each of them, wherever it stands in `value`.
    pub fn hide(&self, value: &mut Value) {
        let base64 = self.base64.iter().map(|text| (text, WORD_BASE64));
        let plain = self.plain.iter().map(|text| (text, WORD));
        let mut pairs: Vec<(&String, &str)> = base64.chain(plain).collect();
        // Of two that begin alike the longer one first.
        pairs.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        if !pairs.is_empty() {
            replace(value, &pairs);
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
        if text.is_empty() || text == WORD || text == WORD_BASE64 {
            return;
        }
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

    /// With and without the line end that a file has: guests cut it off.
    fn plain(&mut self, text: &str) {
        for text in [text, text.trim()] {
            if !text.is_empty() {
                self.plain.insert(text.to_owned());
            }
        }
    }
}

fn replace(value: &mut Value, pairs: &[(&String, &str)]) {
    match value {
        Value::String(text) => {
            for (secret, word) in pairs {
                if text == *secret {
                    *text = (*word).to_owned();
                    return;
                }
                if secret.len() >= SHORTEST && text.contains(&**secret) {
                    *text = text.replace(&**secret, word);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, pairs)),
        Value::Object(fields) => fields.values_mut().for_each(|value| replace(value, pairs)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn hide(value: &mut Value) -> usize {
        let mut values = Values::default();
        values.collect(value);
        values.hide(value);
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
}
