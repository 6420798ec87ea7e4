//! Masks what no two servers answer alike, and keeps which of it is the same.
//!
//! A masked value becomes `<uid-1>`, `<version-2>`...: equal values of a scenario have equal names, in
//! the order of their first appearance. So "the same uid" and "another version" remain visible.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use crate::path::Pattern;
use crate::play::{Entry, Transcript};

/// One masked place.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMask {
    /// Where in a body, or in the object of an event.
    #[serde(default)]
    paths: Vec<Pattern>,
    /// Only in bodies of such a kind.
    kind: Option<String>,
    /// Only values that look like this; with a group, only the group is masked.
    like: Option<String>,
    /// The value begins as the one beside it under this key, and only the rest is masked.
    after: Option<String>,
    /// The values are lists whose elements are put in order by these fields.
    #[serde(default)]
    by: Vec<String>,
    /// Only if they are in order by these fields already.
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
    /// Whether the value is masked in all texts, such as messages.
    #[serde(default)]
    everywhere: bool,
    #[expect(dead_code, reason = "the reason is for readers of the file")]
    why: String,
}

#[derive(Debug)]
struct Mask {
    raw: RawMask,
    kind: Option<Regex>,
    like: Option<Regex>,
}

/// Everything that is masked.
#[derive(Debug)]
pub struct Masks(Vec<Mask>);

/// The names that masked values of one scenario have got, and how often each mask was needed.
#[derive(Debug, Default)]
struct Names {
    given: BTreeMap<(String, String), usize>,
    counts: BTreeMap<String, usize>,
    everywhere: Vec<(String, String)>,
}

impl Masks {
    /// Reads the file of masks.
    ///
    /// # Errors
    /// It is not one.
    pub fn parse(text: &str) -> Result<Self> {
        let raw: Vec<RawMask> = crate::yaml::one(text)?;
        let masks = raw.into_iter().map(|raw| {
            let whole = |text: &String| Regex::new(&format!("^(?:{text})$"));
            let pattern = |text: &String| match raw.paths.is_empty() {
                true => Regex::new(text),
                false => whole(text),
            };
            Ok(Mask {
                kind: raw.kind.as_ref().map(whole).transpose()?,
                like: raw.like.as_ref().map(pattern).transpose()?,
                raw,
            })
        });
        Ok(Self(masks.collect::<Result<_>>().context("the masks")?))
    }

    /// Masks a whole scenario's answers.
    pub fn apply(&self, transcript: Transcript) -> Vec<Entry> {
        let mut names = Names::default();
        for (word, mask) in &transcript.made_up {
            names.everywhere.push((word.clone(), (*mask).to_owned()));
        }
        let mut entries = transcript.entries;
        for entry in &mut entries {
            self.places(&mut entry.answer, &mut names);
            entry.view.keep(&mut entry.answer);
        }
        // Longer words first: one may be a part of another.
        names
            .everywhere
            .sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
        for entry in &mut entries {
            texts(&mut entry.answer, &mut |text| self.text(text, &mut names));
            self.text(&mut entry.title, &mut names);
            if let Some(problem) = &mut entry.problem {
                self.text(problem, &mut names);
            }
        }
        entries
    }

    /// Masks the places of one answer: its body, or the objects of its events.
    fn places(&self, answer: &mut Value, names: &mut Names) {
        if let Some(body) = answer.get_mut("body") {
            self.document(body, "", names);
        }
        let events = answer.get_mut("events").and_then(Value::as_array_mut);
        for event in events.into_iter().flatten() {
            let kind = event
                .get("type")
                .and_then(Value::as_str)
                .unwrap_or("")
                .to_owned();
            if let Some(object) = event.get_mut("object") {
                self.document(object, &kind, names);
            } else {
                self.document(event, &kind, names);
            }
        }
    }

    fn document(&self, document: &mut Value, event: &str, names: &mut Names) {
        let kind = document.get("kind").and_then(Value::as_str).unwrap_or("");
        let kind = format!("{event}{kind}");
        for mask in &self.0 {
            if mask
                .kind
                .as_ref()
                .is_some_and(|wanted| !wanted.is_match(&kind))
            {
                continue;
            }
            for pattern in &mask.raw.paths {
                mask.places(pattern, document, names);
            }
        }
    }

    /// Masks words within a text.
    fn text(&self, text: &mut String, names: &mut Names) {
        for (word, mask) in &names.everywhere {
            if text.contains(word.as_str()) {
                *text = text.replace(word.as_str(), mask);
            }
        }
        for mask in self.0.iter().filter(|mask| mask.raw.paths.is_empty()) {
            if let Some(like) = &mask.like {
                *text = replaced(text, like, |found| names.name(&mask.raw, found));
            }
        }
    }
}

/// Replaces the group of each match, or the whole match if there is no group.
fn replaced(text: &str, like: &Regex, mut mask: impl FnMut(&str) -> String) -> String {
    let mut result = String::new();
    let mut end = 0;
    for captures in like.captures_iter(text) {
        if let Some(found) = captures.get(1).or_else(|| captures.get(0)) {
            result.push_str(text.get(end..found.start()).unwrap_or_default());
            result.push_str(&mask(found.as_str()));
            end = found.end();
        }
    }
    result.push_str(text.get(end..).unwrap_or_default());
    result
}

impl Mask {
    fn places(&self, pattern: &Pattern, document: &mut Value, names: &mut Names) {
        if self.raw.causes {
            pattern.visit(document, &mut order_causes);
            return;
        }
        let Some(sibling) = &self.raw.after else {
            pattern.visit(document, &mut |value| self.value(value, names));
            return;
        };
        pattern.visit(document, &mut |object| {
            let start = object
                .get(sibling)
                .and_then(Value::as_str)
                .map(str::to_owned);
            if let (Some(start), Some(value)) = (start, object.get_mut("name")) {
                self.rest(&start, value, names);
            }
        });
    }

    fn value(&self, value: &mut Value, names: &mut Names) {
        if let Value::Array(list) = value {
            self.order(list);
            return;
        }
        let text = match &*value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return,
        };
        if text.starts_with('<') && text.ends_with('>') {
            return;
        }
        let masked = match &self.like {
            Some(like) if !like.is_match(&text) => return,
            Some(like) => replaced(&text, like, |found| names.name(&self.raw, found)),
            None => names.name(&self.raw, &text),
        };
        *value = Value::String(masked);
    }

    /// Puts a list in order, since the order itself depends on what is masked.
    fn order(&self, list: &mut [Value]) {
        let key = |fields: &[String], value: &Value| -> Vec<String> {
            let text = |field: &String| value.get(field).map(Value::to_string).unwrap_or_default();
            fields.iter().map(text).collect()
        };
        if !self.raw.by.is_empty() && list.is_sorted_by_key(|value| key(&self.raw.sorted, value)) {
            list.sort_by_key(|value| key(&self.raw.by, value));
        }
    }

    /// Masks what comes after `start` in a generated name.
    fn rest(&self, start: &str, value: &mut Value, names: &mut Names) {
        let name = value.as_str().unwrap_or_default().to_owned();
        let Some(rest) = name.strip_prefix(start).filter(|rest| !rest.is_empty()) else {
            return;
        };
        if self.like.as_ref().is_some_and(|like| !like.is_match(rest)) {
            return;
        }
        let masked = format!("{start}{}", names.name(&self.raw, &name));
        names.everywhere.push((name, masked.clone()));
        *value = Value::String(masked);
    }
}

/// Puts the causes of a refusal in order, and what its message tells of them, if it tells them in the
/// order in which they were.
fn order_causes(status: &mut Value) {
    let told = |causes: &[Value]| -> String {
        let text = |cause: &Value, key: &str| {
            let text = cause.get(key).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let told = causes.iter().map(|cause| {
            let (field, message) = (text(cause, "field"), text(cause, "message"));
            format!("{field}: {message}")
        });
        told.collect::<Vec<_>>().join(", ")
    };
    let causes = status.pointer_mut("/details/causes");
    let Some(causes) = causes.and_then(Value::as_array_mut) else {
        return;
    };
    let before = told(causes);
    causes.sort_by_key(Value::to_string);
    let after = told(causes);
    if let Some(Value::String(message)) = status.get_mut("message") {
        *message = message.replace(&before, &after);
    }
}

impl Names {
    fn name(&mut self, mask: &RawMask, value: &str) -> String {
        if !mask.identity {
            return format!("<{}>", mask.r#as);
        }
        let key = (mask.r#as.clone(), value.to_owned());
        let number = match self.given.get(&key) {
            Some(&number) => number,
            None => {
                let count = self.counts.entry(mask.r#as.clone()).or_default();
                *count += 1;
                self.given.insert(key, *count);
                *count
            }
        };
        let name = format!("<{}-{number}>", mask.r#as);
        if mask.everywhere && !self.everywhere.iter().any(|(word, _)| word == value) {
            self.everywhere.push((value.to_owned(), name.clone()));
        }
        name
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

    fn masked(masks: &str, bodies: &[Value]) -> Vec<Value> {
        let entry = |body: &Value| Entry {
            answer: json!({ "body": body }),
            ..Entry::default()
        };
        let transcript = Transcript {
            entries: bodies.iter().map(entry).collect(),
            made_up: vec![("ns-abc".to_owned(), "<ns>"), ("abc".to_owned(), "<id>")],
        };
        let entries = Masks::parse(masks).unwrap().apply(transcript);
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
            masked(masks, &bodies),
            [
                json!({ "uid": "<uid-1>", "of": { "uid": "<uid-2>" } }),
                json!({ "uid": "<uid-1>", "message": "<uid-2> is not <uid-1> in <ns> or <id>" }),
            ]
        );
    }

    #[test]
    fn only_what_looks_as_it_should_is_masked() {
        let masks = "
- { paths: [/time], like: '[0-9:]+', as: time, why: x }
- { like: 'current: ([0-9]+)', as: version, why: x }
- { paths: ['/**'], after: generateName, like: '[a-z]{5}', as: made, identity: true, why: x }
";
        let bodies = [
            json!({ "time": "12:30", "message": "current: 17" }),
            json!({ "time": "noon", "message": "current: new" }),
            json!({ "generateName": "a-", "name": "a-vwxyz" }),
            json!({ "generateName": "a-", "name": "a-toolong" }),
        ];
        assert_eq!(
            masked(masks, &bodies),
            [
                json!({ "time": "<time>", "message": "current: <version>" }),
                bodies[1].clone(),
                json!({ "generateName": "a-", "name": "a-<made-1>" }),
                bodies[3].clone(),
            ]
        );
    }

    #[test]
    fn causes_are_put_in_order_and_the_message_follows_if_it_had_theirs() {
        let masks = "[{ paths: [''], kind: Status, causes: true, why: x }]";
        let status = |message: &str, fields: [&str; 2]| {
            let causes = fields.map(|field| json!({ "field": field, "message": "bad" }));
            json!({ "kind": "Status", "message": message, "details": { "causes": causes } })
        };
        let bodies = [
            status("no: [b: bad, a: bad]", ["b", "a"]),
            status("no: [a: bad, b: bad]", ["b", "a"]),
            status("no: [b: bad, a: bad]", ["a", "b"]),
        ];
        let [first, second, third] = masked(masks, &bodies).try_into().unwrap();
        assert_eq!(first, status("no: [a: bad, b: bad]", ["a", "b"]));
        assert_eq!(second, first);
        assert_eq!(third, bodies[2]);
    }

    #[test]
    fn a_list_is_put_in_order_only_if_it_is_in_the_order_that_it_should_be_in() {
        let masks = "[{ paths: [/l], sorted: [time, name], by: [name], why: x }]";
        let right = json!({ "l": [{ "time": 1, "name": "b" }, { "time": 2, "name": "a" }] });
        let wrong = json!({ "l": [{ "time": 2, "name": "b" }, { "time": 1, "name": "a" }] });
        let sorted = json!({ "l": [{ "time": 2, "name": "a" }, { "time": 1, "name": "b" }] });
        assert_eq!(masked(masks, &[right, wrong.clone()]), [sorted, wrong]);
    }
}
