//! What a server says to a changed object, and how two answers differ.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::{NoExpand, Regex};
use serde_json::Value;

use super::change::Change;
use crate::compare::differences;

static UID: LazyLock<Regex> = LazyLock::new(|| {
    pattern("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
});
/// Any time; those of a change are alike.
static TIME: LazyLock<Regex> =
    LazyLock::new(|| pattern("^20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z$"));
/// The volume with a token, which has a name of its own in each pod.
static TOKEN: LazyLock<Regex> = LazyLock::new(|| pattern("kube-api-access-[a-z0-9]{5}"));

#[expect(
    clippy::unwrap_used,
    reason = "the patterns are constants, and tests use them"
)]
fn pattern(text: &str) -> Regex {
    Regex::new(text).unwrap()
}

/// What servers make up in what they accept.
const MADE_UP: [&str; 4] = [
    "creationTimestamp",
    "managedFields",
    "resourceVersion",
    "uid",
];

/// What one server said.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The status code.
    pub code: u16,
    /// The reason of a refusal.
    pub reason: String,
    /// What is wrong: `type field: message`; the message as a whole where there are no causes.
    pub causes: BTreeSet<[String; 3]>,
    /// The object, if it is accepted.
    pub object: Value,
}

/// How far two answers are apart; the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Apart {
    /// One server accepts what the other refuses, or it refuses it for another reason.
    Verdict,
    /// Other fields are wrong, or in another way.
    Causes,
    /// The same is told in other words.
    Words,
    /// Both accept the object, and make different things of it.
    Object,
}

/// One change, and both answers.
#[derive(Clone, Debug)]
pub struct Run {
    /// What was changed.
    pub change: Change,
    /// What the real server said.
    pub real: Answer,
    /// What the embedded server said.
    pub embedded: Answer,
}

impl Answer {
    pub(super) fn new(code: u16, mut body: Value) -> Self {
        mask(&mut body);
        let text = |value: &Value, field: &str| {
            value
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or("")
                .to_owned()
        };
        if (200..300).contains(&code) {
            return Self {
                code,
                reason: String::new(),
                causes: BTreeSet::new(),
                object: body,
            };
        }
        let causes = body.pointer("/details/causes").and_then(Value::as_array);
        let mut causes: BTreeSet<_> = causes
            .into_iter()
            .flatten()
            .map(|cause| {
                let message = said(&text(cause, "message"));
                [text(cause, "field"), text(cause, "reason"), message]
            })
            .collect();
        if causes.is_empty() {
            causes.insert([String::new(), String::new(), text(&body, "message")]);
        }
        Self {
            code,
            reason: text(&body, "reason"),
            causes,
            object: Value::Null,
        }
    }

    /// Whether the object was refused.
    pub fn is_refusal(&self) -> bool {
        !(200..300).contains(&self.code)
    }

    fn places(&self) -> BTreeSet<[&str; 2]> {
        self.causes
            .iter()
            .map(|[field, reason, _]| [field.as_str(), reason.as_str()])
            .collect()
    }
}

impl Run {
    /// How far the answers are apart, if they are.
    pub fn apart(&self) -> Option<Apart> {
        let (real, embedded) = (&self.real, &self.embedded);
        let is_other_verdict = (real.code, &real.reason) != (embedded.code, &embedded.reason);
        match () {
            () if is_other_verdict => Some(Apart::Verdict),
            () if real.places() != embedded.places() => Some(Apart::Causes),
            () if real.causes != embedded.causes => Some(Apart::Words),
            () if real.object != embedded.object => Some(Apart::Object),
            () => None,
        }
    }

    /// Where the objects differ.
    pub fn places(&self) -> Vec<String> {
        let found = differences(&self.real.object, &self.embedded.object);
        let shown = |value: &Option<Value>| {
            value
                .as_ref()
                .map_or("nothing".to_owned(), Value::to_string)
        };
        let line = |one: &crate::compare::Difference| {
            format!(
                "{}: {} | {}",
                one.pointer(),
                shown(&one.first),
                shown(&one.second)
            )
        };
        found.iter().map(line).collect()
    }
}

/// A message without what shows Go's own types: a whole object, and the lines that compare two of them. An
/// empty list or map counts as none.
fn said(message: &str) -> String {
    let message = message.split('\n').next().unwrap_or_default();
    let Some((what, rest)) = message.split_once("value: ") else {
        return message.to_owned();
    };
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
    let shown = match values.next() {
        Some(Ok(Value::Null)) => "<nothing>",
        Some(Ok(Value::Array(items))) if items.is_empty() => "<nothing>",
        Some(Ok(Value::Object(fields))) if fields.is_empty() => "<nothing>",
        Some(Ok(Value::Object(_))) => "<object>",
        Some(Ok(Value::Array(items))) if items.iter().any(Value::is_object) => "<object>",
        _ => return message.to_owned(),
    };
    let rest = rest.get(values.byte_offset()..).unwrap_or_default();
    format!("{what}value: {shown}{rest}")
}

/// Removes what no two servers make alike.
fn mask(body: &mut Value) {
    if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|name, _| !MADE_UP.contains(&name.as_str()));
    }
    if body.get("kind").is_some_and(|kind| kind == "Service") {
        allocated(body);
    }
    texts(body);
}

/// The addresses and ports that a server gives to a service.
fn allocated(service: &mut Value) {
    let Some(spec) = service.get_mut("spec") else {
        return;
    };
    for field in ["clusterIP", "healthCheckNodePort"] {
        if spec.get(field).is_some_and(|value| value != "None") {
            spec[field] = "given".into();
        }
    }
    for address in spec
        .get_mut("clusterIPs")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if address != "None" {
            *address = "given".into();
        }
    }
    for port in spec
        .get_mut("ports")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if port.get("nodePort").is_some() {
            port["nodePort"] = "given".into();
        }
    }
}

fn texts(value: &mut Value) {
    match value {
        Value::String(text) => {
            *text = UID.replace_all(text, NoExpand("<uid>")).into_owned();
            *text = TOKEN.replace_all(text, NoExpand("<token>")).into_owned();
            if TIME.is_match(text) {
                *text = "<time>".to_owned();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(texts),
        Value::Object(fields) => fields.values_mut().for_each(texts),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn types_of_go_are_not_compared() {
        for (message, masked) in [
            (
                "Invalid value: {\"A\":{}}: why",
                "Invalid value: <object>: why",
            ),
            ("Invalid value: [{}]", "Invalid value: <object>"),
            ("Invalid value: []: why", "Invalid value: <nothing>: why"),
            ("Invalid value: \"{}\": why", "Invalid value: \"{}\": why"),
            ("Forbidden: why\n-a\n+b", "Forbidden: why"),
        ] {
            assert_eq!(said(message), masked);
        }
    }

    #[test]
    fn answers_are_apart_by_verdict_then_causes_then_words() {
        let refused = |reason: &str, field: &str, message: &str| {
            let causes = json!([{ "field": field, "reason": "R", "message": message }]);
            Answer::new(
                422,
                json!({ "reason": reason, "details": { "causes": causes } }),
            )
        };
        let uid = |last: u8| format!("00000000-0000-4000-8000-00000000000{last}");
        let base = refused("Invalid", "a", &uid(1));
        for (other, apart) in [
            (refused("Invalid", "a", &uid(2)), None),
            (refused("Invalid", "a", "other"), Some(Apart::Words)),
            (refused("Invalid", "b", &uid(1)), Some(Apart::Causes)),
            (refused("Forbidden", "a", &uid(1)), Some(Apart::Verdict)),
            (Answer::new(201, json!({})), Some(Apart::Verdict)),
        ] {
            let change = Change {
                is_update: false,
                at: "/a".to_owned(),
                to: None,
            };
            let run = Run {
                change,
                real: base.clone(),
                embedded: other,
            };
            assert_eq!(run.apart(), apart);
        }
    }
}
