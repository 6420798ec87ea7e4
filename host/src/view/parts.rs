//! The JSON text of an object, taken apart no further than somebody reads it: a tree of it takes several times as
//! long to make as all that is read of one.
//!
//! - Text may be nested to any depth: taking it apart needs no stack. A tree of it has a limit, and where a field
//!   exceeds that there is none.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::memory::{tree, tree_of};

/// The bytes that all trees of an object may take that is shown to people, and of a field that is no tree then.
const SHOWN: usize = 4 << 20;
const LONGEST: usize = 64 << 10;

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

    /// Its name and a tree of its value; `None` if that is nested too deep for one, or too large.
    fn pair(&self) -> Option<(String, Value)> {
        let name = serde_json::from_str(self.quoted);
        let value = tree_of(self.value.get())?;
        Some((name.unwrap_or_default(), value))
    }
}

impl<'a> Parts<'a> {
    /// Takes `text` apart; `None` if it is no JSON object.
    pub(crate) fn of(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
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

    /// A tree of those that `wanted` names; `None` if one of them is nested too deep for that, or too large
    /// (see [`tree_of`]).
    pub(crate) fn tree(&self, wanted: impl Fn(&str) -> bool) -> Option<Map<String, Value>> {
        let wanted = self.0.iter().filter(|part| wanted(part.name()));
        wanted.map(Part::pair).collect()
    }

    /// The same for people: what is nested too deep, or too large together with what comes before it, is shown as the
    /// beginning of its text.
    pub(crate) fn shown(&self, wanted: impl Fn(&str) -> bool) -> Map<String, Value> {
        let wanted = self.0.iter().filter(|part| wanted(part.name()));
        let mut left = SHOWN;
        let text = |part: &Part<'_>| {
            let text = part.value.get();
            let shown = text.get(..text.floor_char_boundary(LONGEST));
            (
                part.name().to_owned(),
                Value::from(shown.unwrap_or_default()),
            )
        };
        wanted
            .map(|part| match left.checked_sub(tree(part.value.get())) {
                Some(rest) => {
                    left = rest;
                    part.pair().unwrap_or_else(|| text(part))
                }
                None => text(part),
            })
            .collect()
    }

    /// Which fields of `one` and `other` are not written alike.
    pub(crate) fn unlike(one: &Self, other: &Self) -> impl Fn(&str) -> bool {
        let differs = |part: &&Part<'a>| {
            let text = |parts: &Self| parts.get(part.name()).map(RawValue::get);
            text(one) != text(other)
        };
        let all = one.iter().chain(other.iter()).filter(differs);
        let names: BTreeSet<&'a str> = all.map(Part::name).collect();
        move |name| names.contains(name)
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
        assert_eq!(parts.tree(|_| true).map(Value::Object), Some(tree(text)));
        for none in ["", "7", "[]", "{", "{\"a\":}", "{\"a\":1}x", "null"] {
            assert!(Parts::of(none).is_none(), "{none}");
        }
    }

    #[test]
    fn only_what_differs_becomes_a_tree() {
        let parts = |text| Parts::of(text).unwrap();
        let one = parts(r#"{"a":1,"b":[2],"c":3}"#);
        let other = parts(r#"{"b":[2],"c":4,"d":5}"#);
        let unlike = Parts::unlike(&one, &other);
        let wanted = |name: &str| name != "d" && unlike(name);
        assert_eq!(Value::Object(one.shown(wanted)), json!({ "a": 1, "c": 3 }));
        assert_eq!(Value::Object(other.shown(wanted)), json!({ "c": 4 }));
    }

    #[test]
    fn what_is_nested_too_deep_has_a_text_and_no_tree() {
        for (levels, has_tree) in [
            (126, true),
            (127, true),
            (128, false),
            (150, false),
            (10_000, false),
        ] {
            let deep = format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
            let text = format!(r#"{{"a":7,"b":{deep}}}"#);
            let parts = Parts::of(&text).unwrap();
            assert_eq!(parts.get("b").map(RawValue::get), Some(&*deep), "{levels}");
            assert_eq!(parts.tree(|_| true).is_some(), has_tree, "{levels}");
            assert!(parts.tree(|name| name == "a").is_some());
            let shown = parts.shown(|name| name == "b");
            assert_eq!(shown["b"].is_string(), !has_tree, "{levels}");
            let mut together = "{".to_owned();
            parts.iter().for_each(|part| part.write(&mut together));
            assert_eq!(together + "}", text);
        }
    }
}
