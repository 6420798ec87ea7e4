//! The JSON text of an object, taken apart no further than somebody reads it: a tree of it takes several times as
//! long to make as all that is read of one.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::memory::{after_quoted, is_large};

/// How deep JSON may be nested that a tree can be made of (`serde_json` refuses more).
const DEEPEST: usize = 127;

/// The fields of a JSON object, in their order.
#[derive(Debug, Default)]
pub(crate) struct Parts<'a>(Vec<Part<'a>>);

/// One field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    /// As it is written, with its quotes.
    quoted: &'a str,
    /// Its value.
    pub(crate) value: &'a RawValue,
}

impl<'a> Part<'a> {
    /// Its name. One that needs escapes is no field that the host knows, and stays as it is written.
    pub(crate) fn name(&self) -> &'a str {
        let inner = self.quoted.strip_prefix('"');
        let inner = inner.and_then(|inner| inner.strip_suffix('"'));
        inner.unwrap_or(self.quoted)
    }

    /// Writes it as a field that follows others in `to`.
    pub(crate) fn write(&self, to: &mut String) {
        if !to.ends_with('{') {
            to.push(',');
        }
        to.push_str(self.quoted);
        to.push(':');
        to.push_str(self.value.get());
    }

    fn pair(&self) -> (String, Value) {
        let name = serde_json::from_str(self.quoted);
        let value = serde_json::from_str(self.value.get());
        (name.unwrap_or_default(), value.unwrap_or_default())
    }
}

impl<'a> Parts<'a> {
    /// Takes `text` apart; `None` if it is no JSON object, or none that a tree can be made of.
    pub(crate) fn of(text: &'a str) -> Option<Self> {
        let parts = serde_json::from_str(text).ok()?;
        (depth(text) <= DEEPEST).then_some(parts)
    }

    /// Takes a field's value apart, which is a part of what was.
    pub(crate) fn within(value: &'a RawValue) -> Option<Self> {
        serde_json::from_str(value.get()).ok()
    }

    /// The fields.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Part<'a>> {
        self.0.iter()
    }

    /// One of them.
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        let part = self.0.iter().find(|part| part.name() == name)?;
        Some(part.value)
    }

    /// Whether a tree of one of them would be large (see [`is_large`]).
    pub(crate) fn are_large(&self) -> bool {
        self.0.iter().any(|part| is_large(part.value.get()))
    }

    /// A tree of those that `wanted` names.
    pub(crate) fn tree(&self, wanted: impl Fn(&str) -> bool) -> Map<String, Value> {
        let wanted = self.0.iter().filter(|part| wanted(part.name()));
        wanted.map(Part::pair).collect()
    }

    /// Trees of those fields of `one` and `other` that `wanted` names and that are not written alike.
    pub(crate) fn unlike(
        one: &Self,
        other: &Self,
        wanted: impl Fn(&str) -> bool,
    ) -> (Map<String, Value>, Map<String, Value>) {
        let of = |these: &Self, those: &Self| {
            these.tree(|name| {
                let text = |parts: &Self| parts.get(name).map(RawValue::get);
                wanted(name) && text(these) != text(those)
            })
        };
        (of(one, other), of(other, one))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Parts<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Parts<'de>;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut parts = Vec::with_capacity(8);
                while let Some((name, value)) = map.next_entry::<&RawValue, &RawValue>()? {
                    let quoted = name.get();
                    parts.push(Part { quoted, value });
                }
                Ok(Parts(parts))
            }
        }
        from.deserialize_map(Fields)
    }
}

/// How deep valid JSON is nested. What is in quotes, most of it, is skipped and not looked at.
pub(crate) fn depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    let mut bytes = text.as_bytes().iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => bytes = after_quoted(bytes.as_slice()).iter(),
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_object_is_taken_apart_and_put_together() {
        let text = r#"{ "a" : {"b":[1, 2]} ,"q\"":"}{", "n":null}"#;
        let parts = Parts::of(text).unwrap();
        let names: Vec<_> = parts.iter().map(Part::name).collect();
        assert_eq!(names, ["a", "q\\\"", "n"]);
        assert_eq!(parts.get("a").map(RawValue::get), Some(r#"{"b":[1, 2]}"#));
        assert!(parts.get("b").is_none());
        let mut together = "{".to_owned();
        parts.iter().for_each(|part| part.write(&mut together));
        together.push('}');
        let tree = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(tree(&together), tree(text));
        assert_eq!(Value::Object(parts.tree(|_| true)), tree(text));
        for none in ["", "7", "[]", "{", "{\"a\":}", "{\"a\":1}x", "null"] {
            assert!(Parts::of(none).is_none(), "{none}");
        }
    }

    #[test]
    fn only_what_differs_becomes_a_tree() {
        let parts = |text| Parts::of(text).unwrap();
        let one = parts(r#"{"a":1,"b":[2],"c":3}"#);
        let other = parts(r#"{"b":[2],"c":4,"d":5}"#);
        let (one, other) = Parts::unlike(&one, &other, |name| name != "d");
        assert_eq!(Value::Object(one), json!({ "a": 1, "c": 3 }));
        assert_eq!(Value::Object(other), json!({ "c": 4 }));
    }

    #[test]
    fn what_no_tree_can_be_made_of_is_refused() {
        let nested = |depth: usize| {
            let (open, close) = ("[".repeat(depth), "]".repeat(depth));
            format!(r#"{{"a":"\"[[{{","b":{open}1{close}}}"#)
        };
        for (inner, fits) in [(1, true), (DEEPEST - 1, true), (DEEPEST, false)] {
            let text = nested(inner);
            assert_eq!(depth(&text), inner + 1);
            assert_eq!(Parts::of(&text).is_some(), fits, "{inner}");
            let tree = serde_json::from_str::<Value>(&text);
            assert_eq!(tree.is_ok(), fits, "as serde_json has it: {inner}");
        }
    }
}
