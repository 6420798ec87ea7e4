//! The JSON text of an object, taken apart no further than somebody reads it: a tree of it takes several times as
//! long to make as all that is read of one.
//!
//! - Text may be nested to any depth: taking it apart needs no stack. A tree of it has a limit, and where a field
//!   exceeds that there is none.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use windlass_base::memory::{tree, tree_of};

/// The bytes that all trees of an object may take that is shown to people, and of a field that is not a tree then.
const SHOWN: usize = 4 << 20;
const LONGEST: usize = 64 << 10;

/// The fields of a JSON object, in their order.
#[derive(Debug, Default)]
pub struct RawFields<'a>(Vec<RawField<'a>>);

/// One field.
#[derive(Clone, Copy, Debug)]
pub struct RawField<'a> {
    /// As it is written, with its quotes.
    quoted: &'a str,
    /// Its value.
    pub value: &'a RawValue,
}

impl<'a> RawField<'a> {
    /// Its name. One that needs escapes is not a field that the host knows, and stays as it is written.
    pub(crate) fn name(&self) -> &'a str {
        let inner = self.quoted.strip_prefix('"');
        let inner = inner.and_then(|inner| inner.strip_suffix('"'));
        inner.unwrap_or(self.quoted)
    }

    /// Writes it as a field that follows others in `to`.
    pub(crate) fn write(&self, to: &mut String) {
        self.write_name(to);
        to.push_str(self.value.get());
    }

    /// Writes what comes before its value.
    pub(super) fn write_name(&self, to: &mut String) {
        if !to.ends_with('{') {
            to.push(',');
        }
        to.push_str(self.quoted);
        to.push(':');
    }

    /// Its name and a tree of its value; `None` if that is nested too deep for one, or too large.
    fn pair(&self) -> Option<(String, Value)> {
        let name = serde_json::from_str(self.quoted);
        let value = tree_of(self.value.get())?;
        Some((name.unwrap_or_default(), value))
    }
}

impl<'a> RawFields<'a> {
    /// Takes `text` apart; `None` if it is not JSON object.
    pub fn of(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Takes a field's value apart, which is a part of what was.
    pub fn within(value: &'a RawValue) -> Option<Self> {
        serde_json::from_str(value.get()).ok()
    }

    /// The fields.
    pub fn iter(&self) -> impl Iterator<Item = &RawField<'a>> {
        self.0.iter()
    }

    /// One of them.
    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        let part = self.0.iter().find(|part| part.name() == name)?;
        Some(part.value)
    }

    /// A tree of those that `wanted` names; `None` if one of them is nested too deep for that, or too large
    /// (see [`tree_of`]).
    pub fn tree(&self, wanted: impl Fn(&str) -> bool) -> Option<Map<String, Value>> {
        let wanted = self.0.iter().filter(|part| wanted(part.name()));
        wanted.map(RawField::pair).collect()
    }

    /// The same for people: what is nested too deep, or too large together with what comes before it, is shown as the
    /// beginning of its text.
    pub(crate) fn display(&self, wanted: impl Fn(&str) -> bool) -> Map<String, Value> {
        let wanted = self.0.iter().filter(|part| wanted(part.name()));
        let mut left = SHOWN;
        let text = |part: &RawField<'_>| {
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
        let names = differing(one.written(), other.written());
        move |name| names.contains(name)
    }

    /// The fields' names and texts.
    fn written(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.0.iter().map(|part| (part.name(), part.value.get()))
    }
}

/// The names that have not the same value in `one` and in `other`. Of a name that is there twice the first counts.
fn differing<N: Ord + Copy, V: PartialEq>(
    one: impl Iterator<Item = (N, V)>,
    other: impl Iterator<Item = (N, V)>,
) -> BTreeSet<N> {
    let mut sides: BTreeMap<N, [Option<V>; 2]> = BTreeMap::new();
    for (name, value) in one {
        let [held, _] = sides.entry(name).or_insert([None, None]);
        held.get_or_insert(value);
    }
    for (name, value) in other {
        let [_, held] = sides.entry(name).or_insert([None, None]);
        held.get_or_insert(value);
    }
    let differing = sides.into_iter().filter(|(_, [one, other])| one != other);
    differing.map(|(name, _)| name).collect()
}

impl<'de: 'a, 'a> Deserialize<'de> for RawFields<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = RawFields<'de>;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut parts = Vec::with_capacity(8);
                while let Some((name, value)) = map.next_entry::<&RawValue, &RawValue>()? {
                    let quoted = name.get();
                    parts.push(RawField { quoted, value });
                }
                Ok(RawFields(parts))
            }
        }
        from.deserialize_map(Fields)
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;
    use serde_json::json;

    #[test]
    fn an_object_is_taken_apart_and_put_together() {
        let text = r#"{ "a" : {"b":[1, 2]} ,"q\"":"}{", "n":null}"#;
        let parts = RawFields::of(text).unwrap();
        let names: Vec<_> = parts.iter().map(RawField::name).collect();
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
            assert!(RawFields::of(none).is_none(), "{none}");
        }
    }

    #[test]
    fn only_what_differs_becomes_a_tree() {
        let parts = |text| RawFields::of(text).unwrap();
        let one = parts(r#"{"a":1,"b":[2],"c":3}"#);
        let other = parts(r#"{"b":[2],"c":4,"d":5}"#);
        let unlike = RawFields::unlike(&one, &other);
        let wanted = |name: &str| name != "d" && unlike(name);
        assert_eq!(
            Value::Object(one.display(wanted)),
            json!({ "a": 1, "c": 3 })
        );
        assert_eq!(Value::Object(other.display(wanted)), json!({ "c": 4 }));
    }

    /// A name that counts how often it is compared.
    #[derive(Clone, Copy)]
    struct Counted(usize);

    static COMPARED: AtomicUsize = AtomicUsize::new(0);

    impl Ord for Counted {
        fn cmp(&self, other: &Self) -> Ordering {
            COMPARED.fetch_add(1, Relaxed);
            self.0.cmp(&other.0)
        }
    }

    impl PartialOrd for Counted {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    impl PartialEq for Counted {
        fn eq(&self, other: &Self) -> bool {
            self.cmp(other) == Ordering::Equal
        }
    }

    impl Eq for Counted {}

    #[test]
    fn the_work_does_not_grow_with_the_square_of_the_fields() {
        const MANY: usize = 100_000;
        let side = |divisor: usize| (0..MANY).map(move |name| (Counted(name), name % divisor));
        assert!(differing(side(7), side(7)).is_empty());
        let unlike = differing(side(MANY), side(MANY - 1));
        let unlike: Vec<usize> = unlike.iter().map(|name| name.0).collect();
        assert_eq!(unlike, [MANY - 1]);
        // Two sides, twice, and each name is looked up in a tree: 200 comparisons for each are ample.
        let compared = COMPARED.load(Relaxed);
        assert!(compared < 4 * MANY * 200, "{compared}");
    }

    #[test]
    fn of_a_field_that_is_there_twice_the_first_counts() {
        let parts = |text| RawFields::of(text).unwrap();
        let one = parts(r#"{"a":1,"a":2,"b":1}"#);
        let other = parts(r#"{"a":1,"b":1,"b":3}"#);
        let unlike = RawFields::unlike(&one, &other);
        assert!(!unlike("a") && !unlike("b"));
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
            let parts = RawFields::of(&text).unwrap();
            assert_eq!(parts.get("b").map(RawValue::get), Some(&*deep), "{levels}");
            assert_eq!(parts.tree(|_| true).is_some(), has_tree, "{levels}");
            assert!(parts.tree(|name| name == "a").is_some());
            let shown = parts.display(|name| name == "b");
            assert_eq!(shown["b"].is_string(), !has_tree, "{levels}");
            let mut together = "{".to_owned();
            parts.iter().for_each(|part| part.write(&mut together));
            assert_eq!(together + "}", text);
        }
    }
}
