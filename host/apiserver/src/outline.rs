//! Where a JSON text mentions what: Go's decoder tells of problems in the order of the text.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A step of the way to a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutlineStep {
    /// To a field of an object.
    Field(String),
    /// To an item of a list.
    Item(usize),
}

impl fmt::Display for OutlineStep {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(out, ".{name}"),
            Self::Item(index) => write!(out, "[{index}]"),
        }
    }
}

/// The steps as one text, such as `spec.ports[0].name`.
pub(crate) fn path(steps: &[OutlineStep]) -> String {
    joined(steps.iter())
}

fn joined<'a>(steps: impl Iterator<Item = &'a OutlineStep>) -> String {
    let mut path = String::new();
    for step in steps {
        let _ = write!(path, "{step}");
    }
    path.strip_prefix('.').map_or(path.clone(), str::to_owned)
}

/// A field that is there twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubled {
    /// The real server's words.
    pub text: String,
    /// Where it is; empty where nobody knows.
    pub at: Vec<OutlineStep>,
}

/// Which mention of a place is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mention {
    /// The first one.
    First,
    /// The one that is there again, in the same object.
    Again,
}

/// A place in an [`Outline`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OutlinePlace(usize);

impl OutlinePlace {
    /// The whole value.
    pub(crate) const ROOT: Self = Self(0);
}

/// Places in a value, and where a text mentions them. They share the way to them, so many places deep in a value
/// take no more memory than the value.
#[derive(Debug)]
pub(crate) struct Outline {
    nodes: Vec<OutlineNode>,
    below: BTreeMap<(OutlinePlace, OutlineStep), OutlinePlace>,
    /// The mentions that were passed.
    mentions: usize,
    /// The objects that were entered.
    objects: usize,
}

impl Default for Outline {
    fn default() -> Self {
        Self {
            nodes: vec![OutlineNode::default()],
            below: BTreeMap::new(),
            mentions: 0,
            objects: 0,
        }
    }
}

/// A place, or one on the way to it.
#[derive(Debug, Default)]
struct OutlineNode {
    /// The step to it, and where from; nothing for the root.
    step: Option<(OutlinePlace, OutlineStep)>,
    has_below: bool,
    first: Option<usize>,
    again: Option<usize>,
    /// The object in which it was last met.
    met_in: usize,
}

impl Outline {
    /// The place that is one step below another.
    pub(crate) fn below(&mut self, above: OutlinePlace, step: OutlineStep) -> OutlinePlace {
        let next = OutlinePlace(self.nodes.len());
        let place = *self.below.entry((above, step.clone())).or_insert(next);
        if place == next {
            if let Some(node) = self.nodes.get_mut(above.0) {
                node.has_below = true;
            }
            self.nodes.push(OutlineNode {
                step: Some((above, step)),
                ..OutlineNode::default()
            });
        }
        place
    }

    /// The place at the end of a way.
    pub(crate) fn at(&mut self, way: &[OutlineStep]) -> OutlinePlace {
        way.iter().fold(OutlinePlace::ROOT, |above, step| {
            self.below(above, step.clone())
        })
    }

    /// The places on the way to a place, and the place itself, each with the step to it.
    pub(crate) fn way(&self, place: OutlinePlace) -> Vec<(OutlinePlace, &OutlineStep)> {
        let mut way = Vec::new();
        let mut place = place;
        while let Some((above, step)) = self.node(place).and_then(|node| node.step.as_ref()) {
            way.push((place, step));
            place = *above;
        }
        way.reverse();
        way
    }

    /// The way to a place as one text.
    pub(crate) fn path(&self, place: OutlinePlace) -> String {
        joined(self.way(place).into_iter().map(|(_, step)| step))
    }

    /// Notes where a text mentions the places.
    pub(crate) fn read(&mut self, text: &[u8]) {
        let mut deserializer = serde_json::Deserializer::from_slice(text);
        // Only what was found is walked to, and that was walked to before.
        deserializer.disable_recursion_limit();
        let walk = OutlineWalk {
            outline: self,
            at: OutlinePlace::ROOT,
        };
        // Whatever could not be read has no place.
        let _ = walk.deserialize(&mut deserializer);
    }

    /// How many mentions come before that of a place. What the text does not mention comes last.
    pub(crate) fn order(&self, place: OutlinePlace, mention: Mention) -> usize {
        let node = self.node(place);
        let found = node.and_then(|node| match mention {
            Mention::First => node.first,
            Mention::Again => node.again,
        });
        found.unwrap_or(usize::MAX)
    }

    fn node(&self, place: OutlinePlace) -> Option<&OutlineNode> {
        self.nodes.get(place.0)
    }

    /// The place that is a step below another, if anybody looks for it. It is mentioned here, in an object or a list.
    fn mention(
        &mut self,
        above: OutlinePlace,
        step: OutlineStep,
        within: usize,
    ) -> Option<OutlinePlace> {
        let place = *self.below.get(&(above, step))?;
        let node = self.nodes.get_mut(place.0)?;
        self.mentions += 1;
        node.first.get_or_insert(self.mentions);
        if node.met_in == within {
            node.again.get_or_insert(self.mentions);
        }
        node.met_in = within;
        Some(place)
    }

    fn enter(&mut self) -> usize {
        self.objects += 1;
        self.objects
    }
}

struct OutlineWalk<'a> {
    outline: &'a mut Outline,
    at: OutlinePlace,
}

impl<'de> DeserializeSeed<'de> for OutlineWalk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self
            .outline
            .node(self.at)
            .is_none_or(|node| !node.has_below)
        {
            return deserializer.deserialize_ignored_any(IgnoredAny).map(drop);
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for OutlineWalk<'_> {
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
        let Self { outline, at } = self;
        let within = outline.enter();
        for index in 0.. {
            let more = match outline.mention(at, OutlineStep::Item(index), within) {
                Some(at) => {
                    let outline = &mut *outline;
                    items
                        .next_element_seed(OutlineWalk { outline, at })?
                        .is_some()
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
        let Self { outline, at } = self;
        let within = outline.enter();
        while let Some(name) = fields.next_key::<String>()? {
            match outline.mention(at, OutlineStep::Field(name), within) {
                Some(at) => {
                    let outline = &mut *outline;
                    fields.next_value_seed(OutlineWalk { outline, at })?;
                }
                None => drop(fields.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(path: &str) -> Vec<OutlineStep> {
        let steps = path.split('/').map(|step| match step.parse() {
            Ok(index) => OutlineStep::Item(index),
            Err(_) => OutlineStep::Field(step.to_owned()),
        });
        steps.collect()
    }

    /// The places in the order of their mentions in a text; what it does not mention comes last.
    fn sorted(text: &[u8], found: &[(&str, Mention)]) -> Vec<String> {
        let mut outline = Outline::default();
        let mut found: Vec<_> = { found.iter() }
            .map(|(path, mention)| (outline.at(&steps(path)), *mention))
            .collect();
        outline.read(text);
        found.sort_by_key(|(place, mention)| outline.order(*place, *mention));
        found
            .iter()
            .map(|(place, _)| outline.path(*place))
            .collect()
    }

    #[test]
    fn what_was_found_comes_in_the_order_of_the_text() {
        let text = br#"{"z":{"x":1,"b":[{"q":1},{"a":2,"q":3,"a":4}]},"a":1,"z":{"y":1}}"#;
        let found = [
            ("nowhere", Mention::First),
            ("a", Mention::First),
            ("z", Mention::Again),
            ("z/b/1/a", Mention::Again),
            ("z/b/1/q", Mention::First),
            ("z/b/0/q", Mention::First),
            ("z/y", Mention::First),
            ("z/x", Mention::First),
        ];
        let expected = [
            "z.x", "z.b[0].q", "z.b[1].q", "z.b[1].a", "a", "z", "z.y", "nowhere",
        ];
        assert_eq!(sorted(text, &found), expected);
    }

    #[test]
    fn a_field_is_there_again_only_within_one_object() {
        let text = br#"{"l":{"a":1},"k":1,"l":{"a":2},"m":1,"l":{"b":1,"a":3,"c":1,"a":4},"n":1}"#;
        let found = [
            ("n", Mention::First),
            ("l/a", Mention::Again),
            ("l/b", Mention::First),
            ("l/c", Mention::First),
            ("l", Mention::Again),
            ("l/a", Mention::First),
        ];
        let expected = ["l.a", "l", "l.b", "l.c", "l.a", "n"];
        assert_eq!(sorted(text, &found), expected);
    }

    #[test]
    fn a_text_that_cannot_be_read_changes_little() {
        let found = [("b", Mention::First), ("a", Mention::First)];
        assert_eq!(sorted(b"no JSON", &found), ["b", "a"]);
        assert_eq!(sorted(br#"{"a":1,"#, &found), ["a", "b"]);
    }

    #[test]
    fn places_share_the_way_to_them() {
        let mut outline = Outline::default();
        let deep = outline.at(&vec![OutlineStep::Field("a".to_owned()); 1_000]);
        let places: Vec<OutlinePlace> = (0..10_000)
            .map(|number| outline.below(deep, OutlineStep::Field(format!("f{number}"))))
            .collect();
        assert_eq!(outline.nodes.len(), 1 + 1_000 + places.len());
        let last = outline.path(places[9_999]);
        assert_eq!(last, format!("{}a.f9999", "a.".repeat(999)));
    }
}
