//! Where a JSON text mentions what: Go's decoder tells of problems in the order of the text.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A step of the way to a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// To a field of an object.
    Field(String),
    /// To an item of a list.
    Item(usize),
}

impl fmt::Display for Step {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(out, ".{name}"),
            Self::Item(index) => write!(out, "[{index}]"),
        }
    }
}

/// The steps as one text, such as `spec.ports[0].name`.
pub(crate) fn path(steps: &[Step]) -> String {
    let path: String = steps.iter().map(Step::to_string).collect();
    path.strip_prefix('.').map_or(path.clone(), str::to_owned)
}

/// Which mention of a place is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mention {
    /// The first one.
    First,
    /// The one that is there again, in the same object.
    Again,
}

/// Sorts what was found by where the text mentions it. What the text does not mention comes last, in the order
/// in which it is.
pub(crate) fn sort<T>(text: &[u8], found: &mut [T], place: impl Fn(&T) -> (&[Step], Mention)) {
    if found.len() < 2 {
        return;
    }
    let mut root = Node::default();
    for one in found.iter() {
        root.want(place(one).0);
    }
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    // Only what was found is walked to, and that was walked to before.
    deserializer.disable_recursion_limit();
    let walk = Walk {
        node: &mut root,
        count: &mut 0,
    };
    // Whatever could not be read has no place.
    let _ = walk.deserialize(&mut deserializer);
    found.sort_by_cached_key(|one| {
        let (steps, mention) = place(one);
        root.place(steps, mention).unwrap_or(usize::MAX)
    });
}

/// A place that is looked for, or one on the way to it.
#[derive(Debug, Default)]
struct Node {
    below: BTreeMap<Step, Node>,
    first: Option<usize>,
    again: Option<usize>,
}

impl Node {
    fn want(&mut self, steps: &[Step]) {
        let mut node = self;
        for step in steps {
            node = node.below.entry(step.clone()).or_default();
        }
    }

    fn place(&self, steps: &[Step], mention: Mention) -> Option<usize> {
        let mut node = self;
        for step in steps {
            node = node.below.get(step)?;
        }
        match mention {
            Mention::First => node.first,
            Mention::Again => node.again,
        }
    }
}

struct Walk<'a> {
    node: &'a mut Node,
    /// The places that were passed.
    count: &'a mut usize,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.node.below.is_empty() {
            return deserializer.deserialize_ignored_any(IgnoredAny).map(drop);
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        for index in 0.. {
            let more = match self.node.below.get_mut(&Step::Item(index)) {
                Some(node) => {
                    *self.count += 1;
                    node.first.get_or_insert(*self.count);
                    let count = &mut *self.count;
                    items.next_element_seed(Walk { node, count })?.is_some()
                }
                None => items.next_element::<IgnoredAny>()?.is_some(),
            };
            if !more {
                break;
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let mut seen: Vec<Step> = Vec::new();
        while let Some(name) = fields.next_key::<String>()? {
            let step = Step::Field(name);
            let Some(node) = self.node.below.get_mut(&step) else {
                fields.next_value::<IgnoredAny>()?;
                continue;
            };
            *self.count += 1;
            node.first.get_or_insert(*self.count);
            if seen.contains(&step) {
                node.again.get_or_insert(*self.count);
            } else {
                seen.push(step);
            }
            let count = &mut *self.count;
            fields.next_value_seed(Walk { node, count })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(path: &str) -> Vec<Step> {
        let steps = path.split('/').map(|step| match step.parse() {
            Ok(index) => Step::Item(index),
            Err(_) => Step::Field(step.to_owned()),
        });
        steps.collect()
    }

    #[test]
    fn what_was_found_comes_in_the_order_of_the_text() {
        let text = br#"{"z":{"x":1,"b":[{"q":1},{"a":2,"q":3,"a":4}]},"a":1,"z":{"y":1}}"#;
        let mut found = [
            ("nowhere", Mention::First),
            ("a", Mention::First),
            ("z", Mention::Again),
            ("z/b/1/a", Mention::Again),
            ("z/b/1/q", Mention::First),
            ("z/b/0/q", Mention::First),
            ("z/y", Mention::First),
            ("z/x", Mention::First),
        ]
        .map(|(path, mention)| (steps(path), mention));
        sort(text, &mut found, |(steps, mention)| (steps, *mention));
        let paths: Vec<String> = found.iter().map(|(steps, _)| path(steps)).collect();
        let expected = [
            "z.x", "z.b[0].q", "z.b[1].q", "z.b[1].a", "a", "z", "z.y", "nowhere",
        ];
        assert_eq!(paths, expected);
    }

    #[test]
    fn a_text_that_cannot_be_read_changes_little() {
        let mut found = [steps("b"), steps("a")];
        sort(b"no JSON", &mut found, |steps| (steps, Mention::First));
        assert_eq!(found, [steps("b"), steps("a")]);
        sort(br#"{"a":1,"#, &mut found, |steps| (steps, Mention::First));
        assert_eq!(found, [steps("a"), steps("b")]);
    }
}
