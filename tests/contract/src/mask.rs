//! Masks what no two servers answer alike, and keeps which of it is the same.
//!
//! A masked value becomes `<uid-1>`, `<version-2>`...: equal values of a scenario have equal names, in
//! the order of their first appearance. So "the same uid" and "another version" remain visible.

mod names;
mod order;

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use self::names::Names;
use crate::path::Pattern;
use crate::play::{Entry, Transcript};

/// One mask as the file has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMask {
    /// Where in a body, or in the object of an event; without any, in every text.
    #[serde(default)]
    paths: Vec<Pattern>,
    /// Only in bodies of such a kind; that of an event has its type before it.
    kind: Option<String>,
    /// Only values that look like this; with a group, only the group is masked.
    like: Option<String>,
    /// The places are objects whose name begins as this field of theirs, and only the rest is masked.
    after: Option<String>,
    /// The values are lists that are put in order by these fields...
    #[serde(default)]
    by: Vec<String>,
    /// ...if they are in order by these already.
    #[serde(default)]
    sorted: Vec<String>,
    /// The values are refusals whose causes, and the message that tells them, are put in order.
    #[serde(default)]
    causes: bool,
    /// The placeholder.
    #[serde(default)]
    r#as: String,
    /// Whether equal values stay recognisable.
    #[serde(default)]
    identity: bool,
    /// Whether that holds only in answers about one object: what an object gives back, another one may get.
    #[serde(default)]
    per_object: bool,
    /// Whether the value is masked in all texts, such as messages.
    #[serde(default)]
    everywhere: bool,
    /// For readers, and for the message that the mask is not needed.
    why: String,
}

#[derive(Debug)]
struct Mask {
    raw: RawMask,
    kind: Option<Regex>,
    like: Option<Regex>,
    used: AtomicBool,
}

/// Everything that is masked.
#[derive(Debug)]
pub struct Masks(Vec<Mask>);

impl Masks {
    /// Reads the file of masks.
    ///
    /// # Errors
    /// It is not one.
    pub fn parse(text: &str) -> Result<Self> {
        let raw: Vec<RawMask> = crate::yaml::one(text).context("the masks")?;
        let masks = raw.into_iter().map(|raw| {
            let whole = |text: &String| Regex::new(&format!("^(?:{text})$"));
            let like = raw.like.as_ref().map(|text| {
                if raw.paths.is_empty() {
                    Regex::new(text)
                } else {
                    whole(text)
                }
            });
            Ok(Mask {
                kind: raw.kind.as_ref().map(whole).transpose()?,
                like: like.transpose()?,
                used: AtomicBool::new(false),
                raw,
            })
        });
        Ok(Self(masks.collect::<Result<_>>()?))
    }

    /// Masks a whole scenario's answers, and keeps of them what is compared.
    pub fn apply(&self, transcript: Transcript) -> Vec<Entry> {
        let mut names = Names::default();
        for (word, name) in &transcript.made_up {
            names.everywhere(word, name);
        }
        let mut entries = transcript.entries;
        for entry in &mut entries {
            self.places(&mut entry.answer, &mut names);
            entry.view.keep(&mut entry.answer);
        }
        for entry in &mut entries {
            texts(&mut entry.answer, &mut |text| self.text(text, &mut names));
            self.text(&mut entry.title, &mut names);
            if let Some(problem) = &mut entry.problem {
                self.text(problem, &mut names);
            }
        }
        entries
    }

    /// The masks that were of no use so far, by their reasons.
    pub fn unused(&self) -> Vec<&str> {
        let unused = self
            .0
            .iter()
            .filter(|mask| !mask.used.load(Ordering::Relaxed));
        unused.map(|mask| mask.raw.why.as_str()).collect()
    }

    /// Masks the places of one answer: its body, or the objects of its events.
    fn places(&self, answer: &mut Value, names: &mut Names) {
        if let Some(body) = answer.get_mut("body") {
            self.document(body, "", names);
        }
        let events = answer.get_mut("events").and_then(Value::as_array_mut);
        for event in events.into_iter().flatten() {
            let kind = event.get("type").and_then(Value::as_str);
            let kind = kind.unwrap_or_default().to_owned();
            match event.get_mut("object") {
                Some(object) => self.document(object, &kind, names),
                None => self.document(event, &kind, names),
            }
        }
    }

    fn document(&self, document: &mut Value, event: &str, names: &mut Names) {
        let kind = document.get("kind").and_then(Value::as_str);
        let kind = format!("{event}{}", kind.unwrap_or_default());
        let uid = document.pointer("/metadata/uid").and_then(Value::as_str);
        names.are_about(uid.unwrap_or_default());
        for mask in &self.0 {
            if mask
                .kind
                .as_ref()
                .is_none_or(|wanted| wanted.is_match(&kind))
            {
                mask.places(document, names);
            }
        }
    }

    /// Masks words within a text.
    fn text(&self, text: &mut String, names: &mut Names) {
        names.replace(text);
        for mask in self.0.iter().filter(|mask| mask.raw.paths.is_empty()) {
            if let Some(masked) = mask.within(text, names) {
                *text = masked;
            }
        }
    }
}

impl Mask {
    fn places(&self, document: &mut Value, names: &mut Names) {
        for pattern in &self.raw.paths {
            pattern.visit(document, &mut |value| self.place(value, names));
        }
    }

    fn place(&self, value: &mut Value, names: &mut Names) {
        if self.raw.causes {
            self.use_it();
            order::causes(value);
        } else if let Some(start) = &self.raw.after {
            self.rest(start, value, names);
        } else if let Value::Array(list) = value {
            if !self.raw.by.is_empty() {
                self.use_it();
                order::list(list, &self.raw.sorted, &self.raw.by);
            }
        } else {
            self.value(value, names);
        }
    }

    fn value(&self, value: &mut Value, names: &mut Names) {
        let text = match &*value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return,
        };
        // Another mask was here before.
        if text.starts_with('<') && text.ends_with('>') {
            return;
        }
        if let Some(masked) = self.within(&text, names) {
            *value = Value::String(masked);
        }
    }

    /// Masks what comes in a name after what it was generated from.
    fn rest(&self, start: &str, object: &mut Value, names: &mut Names) {
        let text = |key: &str| Some(object.get(key)?.as_str()?.to_owned());
        let (Some(start), Some(name)) = (text(start), text("name")) else {
            return;
        };
        let Some(rest) = name.strip_prefix(&start) else {
            return;
        };
        if let Some(masked) = self.within(rest, names) {
            let masked = format!("{start}{masked}");
            names.everywhere(&name, &masked);
            if let Some(name) = object.get_mut("name") {
                *name = Value::String(masked);
            }
        }
    }

    /// The text with what is masked in it, if anything is.
    fn within(&self, text: &str, names: &mut Names) -> Option<String> {
        let Some(like) = &self.like else {
            return Some(self.name(text, names));
        };
        let mut masked = String::new();
        let mut end = 0;
        for captures in like.captures_iter(text) {
            if let Some(found) = captures.get(1).or_else(|| captures.get(0)) {
                masked.push_str(text.get(end..found.start()).unwrap_or_default());
                masked.push_str(&self.name(found.as_str(), names));
                end = found.end();
            }
        }
        masked.push_str(text.get(end..).unwrap_or_default());
        (end > 0).then_some(masked)
    }

    fn name(&self, value: &str, names: &mut Names) -> String {
        self.use_it();
        if !self.raw.identity {
            return format!("<{}>", self.raw.r#as);
        }
        let name = names.of(&self.raw.r#as, value, self.raw.per_object);
        if self.raw.everywhere {
            names.everywhere(value, &name);
        }
        name
    }

    fn use_it(&self) {
        self.used.store(true, Ordering::Relaxed);
    }
}

/// Visits every text of a document, keys too.
fn texts(value: &mut Value, visit: &mut dyn FnMut(&mut String)) {
    match value {
        Value::String(text) => visit(text),
        Value::Array(values) => values.iter_mut().for_each(|value| texts(value, visit)),
        Value::Object(map) => {
            *map = std::mem::take(map)
                .into_iter()
                .map(|(mut key, mut value)| {
                    visit(&mut key);
                    texts(&mut value, visit);
                    (key, value)
                })
                .collect();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn masked(masks: &Masks, bodies: &[Value]) -> Vec<Value> {
        let entry = |body: &Value| Entry {
            answer: json!({ "body": body }),
            ..Entry::default()
        };
        let transcript = Transcript {
            entries: bodies.iter().map(entry).collect(),
            made_up: vec![("ns-abc".to_owned(), "<ns>"), ("abc".to_owned(), "<id>")],
        };
        let entries = masks.apply(transcript);
        let bodies = entries
            .into_iter()
            .map(|entry| entry.answer["body"].clone());
        bodies.collect()
    }

    #[test]
    fn equal_values_keep_equal_names_and_other_values_get_others() {
        let masks = "[{ paths: [/**/uid], as: uid, identity: true, everywhere: true, why: x }]";
        let bodies = [
            json!({ "uid": "u-1", "of": { "uid": "u-2" } }),
            json!({ "uid": "u-1", "message": "u-2 is not u-1 in ns-abc or abc" }),
        ];
        assert_eq!(
            masked(&Masks::parse(masks).unwrap(), &bodies),
            [
                json!({ "uid": "<uid-1>", "of": { "uid": "<uid-2>" } }),
                json!({ "uid": "<uid-1>", "message": "<uid-2> is not <uid-1> in <ns> or <id>" }),
            ]
        );
    }

    #[test]
    fn what_an_object_gives_back_is_new_at_another_one() {
        let masks = "[{ paths: [/port], as: port, identity: true, per_object: true, why: x }]";
        let of = |uid: &str, port: &Value| json!({ "metadata": { "uid": uid }, "port": port });
        let bodies = [("a", 7), ("a", 7), ("b", 7), ("a", 8), ("b", 7)];
        let masked = masked(
            &Masks::parse(masks).unwrap(),
            &bodies.map(|(uid, port)| of(uid, &json!(port))),
        );
        let names = ["port-1", "port-1", "port-2", "port-3", "port-2"];
        let expected = bodies
            .iter()
            .zip(names)
            .map(|((uid, _), name)| of(uid, &json!(format!("<{name}>"))));
        assert_eq!(masked, expected.collect::<Vec<_>>());
    }

    #[test]
    fn only_what_looks_as_it_should_is_masked() {
        let masks = "
- { paths: [/time], like: '[0-9:]+', as: time, why: x }
- { like: 'current: ([0-9]+)', as: version, why: x }
- { paths: ['/**'], after: generateName, like: '[a-z]{5}', as: made, identity: true, why: x }
- { paths: [/nowhere], as: nothing, why: nobody knows }
";
        let bodies = [
            json!({ "time": "12:30", "message": "current: 17" }),
            json!({ "time": "noon", "message": "current: new" }),
            json!({ "generateName": "a-", "name": "a-vwxyz" }),
            json!({ "generateName": "a-", "name": "a-toolong" }),
        ];
        let masks = Masks::parse(masks).unwrap();
        assert_eq!(
            masked(&masks, &bodies),
            [
                json!({ "time": "<time>", "message": "current: <version>" }),
                bodies[1].clone(),
                json!({ "generateName": "a-", "name": "a-<made-1>" }),
                bodies[3].clone(),
            ]
        );
        assert_eq!(masks.unused(), ["nobody knows"]);
    }
}
