//! Puts an applied configuration into the live object.
//!
//! - Nothing goes away here: [`prune`](super::prune) does that.
//! - Items keep the order of the live list where the configuration does not name them, and take the
//!   configuration's where it does.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map as Fields, Value};

use super::path::PathElement;
use super::types::{List, Map, Type, TypePart, fields, items};
use crate::mutants::mutant;

/// Merges `config` into `live`.
pub(super) fn merge(live: &Value, config: &Value, ty: Type<'_>) -> Value {
    match ty.part_of(config) {
        TypePart::Map(map) => merge_map(live, config, map),
        TypePart::List(list) => merge_list(live, config, list),
        TypePart::Scalar(_) | TypePart::Nothing => config.clone(),
    }
}

fn merge_map(live: &Value, config: &Value, map: Map<'_>) -> Value {
    let (old, new) = (fields(Some(live)), fields(Some(config)));
    let is_bare = old.into_iter().chain(new).all(Fields::is_empty);
    if map.is_atomic() || is_bare {
        return config.clone();
    }
    let mut merged = Fields::new();
    for (name, value) in old.into_iter().flatten() {
        let value = match new.and_then(|fields| fields.get(name)) {
            Some(new) => merge(value, new, map.field(name)),
            None => value.clone(),
        };
        merged.insert(name.clone(), value);
    }
    for (name, value) in new.into_iter().flatten() {
        if !merged.contains_key(name) {
            merged.insert(name.clone(), value.clone());
        }
    }
    Value::Object(merged)
}

fn merge_list(live: &Value, config: &Value, list: List<'_>) -> Value {
    let (old, new) = (items(Some(live)), items(Some(config)));
    if list.is_atomic() || (old.is_empty() && new.is_empty()) {
        return config.clone();
    }
    let (live, config) = (keyed(list, old), keyed(list, new));
    Value::Array(Zipper::new(list, &live, &config).run())
}

/// An item with what tells it apart.
type Item<'v> = (PathElement, &'v Value);

fn keyed<'v>(list: List<'_>, items: &'v [Value]) -> Vec<Item<'v>> {
    let items = items.iter();
    items
        .filter_map(|item| Some((list.step(item).ok()?, item)))
        .collect()
}

/// Goes through both lists at once.
struct Zipper<'v, 'a> {
    list: List<'a>,
    live: &'v [Item<'v>],
    config: &'v [Item<'v>],
    /// The live items by key; `null` for doubled ones, which are not merged but replaced.
    known: BTreeMap<&'v PathElement, &'v Value>,
    named: BTreeSet<&'v PathElement>,
    /// Keys in both lists, in the order of the configuration, last first: the last is waited for.
    shared: Vec<&'v PathElement>,
    taken: BTreeSet<&'v PathElement>,
    merged: Vec<Value>,
}

impl<'v, 'a> Zipper<'v, 'a> {
    fn new(list: List<'a>, live: &'v [Item<'v>], config: &'v [Item<'v>]) -> Self {
        let mut known: BTreeMap<_, &Value> = BTreeMap::new();
        for (step, item) in live {
            let known = known.entry(step);
            known
                .and_modify(|item| *item = &Value::Null)
                .or_insert(*item);
        }
        let shared = config.iter().rev().map(|(step, _)| step);
        Self {
            list,
            live,
            config,
            shared: shared.filter(|step| known.contains_key(step)).collect(),
            known,
            named: config.iter().map(|(step, _)| step).collect(),
            taken: BTreeSet::new(),
            merged: Vec::with_capacity(live.len().max(config.len())),
        }
    }

    fn run(mut self) -> Vec<Value> {
        let (mut old, mut new) = (0, 0);
        loop {
            let (live, config) = (self.live.get(old), self.config.get(new));
            match (live, config) {
                (None, None) => return self.merged,
                (Some((a, _)), Some((b, item))) if a == b => {
                    self.take(b, item);
                    self.shared.pop();
                    (old, new) = (old + 1, new + 1);
                    continue;
                }
                (Some((a, _)), Some(_)) if self.is_out_of_turn(a) => {
                    old += 1;
                    continue;
                }
                _ => {}
            }
            if let Some((step, item)) = live {
                if !self.named.contains(step) {
                    self.merged.push((*item).clone());
                    old += 1;
                    continue;
                }
                if self.taken.contains(step) {
                    old += 1;
                }
            }
            if let Some((step, item)) = config {
                self.take(step, item);
                new += 1;
                if self.shared.last() == Some(&step) {
                    self.shared.pop();
                }
            }
        }
    }

    /// Whether the configuration names a live item, but wants another one first.
    fn is_out_of_turn(&self, step: &PathElement) -> bool {
        self.named.contains(step) && self.shared.last().is_some_and(|next| *next != step)
    }

    /// Takes an item of the configuration, merged with the live one.
    fn take(&mut self, step: &'v PathElement, item: &Value) {
        self.taken.insert(step);
        self.merged.push(match self.known.get(step) {
            Some(live) => mutant!(
                ItemsAreReplaced,
                merge(live, item, self.list.items()),
                item.clone()
            ),
            None => item.clone(),
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::fruits;
    use super::*;

    #[test]
    fn a_configuration_is_put_into_the_live_object() {
        let schema = fruits();
        let table = [
            (
                json!({ "count": 1, "text": "a" }),
                json!({ "count": 2 }),
                json!({ "count": 2, "text": "a" }),
            ),
            (json!({}), json!({ "inner": {} }), json!({ "inner": {} })),
            (
                json!({ "inner": { "count": 1 } }),
                json!({ "inner": {} }),
                json!({ "inner": { "count": 1 } }),
            ),
            // `null` is a value for what is one value, and nothing for what has parts.
            (
                json!({ "count": 1 }),
                json!({ "count": null }),
                json!({ "count": null }),
            ),
            (
                json!({ "inner": { "count": 1 } }),
                json!({ "inner": null }),
                json!({ "inner": { "count": 1 } }),
            ),
            (
                json!({ "inner": {} }),
                json!({ "inner": null }),
                json!({ "inner": null }),
            ),
            (
                json!({ "set": ["a"] }),
                json!({ "set": null }),
                json!({ "set": ["a"] }),
            ),
            (
                json!({ "set": [] }),
                json!({ "set": null }),
                json!({ "set": null }),
            ),
            (
                json!({ "set": null }),
                json!({ "set": [] }),
                json!({ "set": [] }),
            ),
            (
                json!({ "atomic": ["a"] }),
                json!({ "atomic": null }),
                json!({ "atomic": null }),
            ),
            (
                json!({ "free": { "a": { "b": 1 } } }),
                json!({ "free": { "a": null } }),
                json!({ "free": { "a": { "b": 1 } } }),
            ),
            (
                json!({ "free": { "a": [1] } }),
                json!({ "free": { "a": null } }),
                json!({ "free": { "a": null } }),
            ),
            // What is one value is replaced.
            (
                json!({ "point": { "x": 1 } }),
                json!({ "point": { "y": 1 } }),
                json!({ "point": { "y": 1 } }),
            ),
            (
                json!({ "atomic": ["a", "b"] }),
                json!({ "atomic": ["c"] }),
                json!({ "atomic": ["c"] }),
            ),
            (
                json!({ "free": { "a": 1 } }),
                json!({ "free": { "a": { "b": 1 } } }),
                json!({ "free": { "a": { "b": 1 } } }),
            ),
            // Items are merged by key.
            (
                json!({ "items": [{ "name": "a", "count": 1 }, { "name": "b" }] }),
                json!({ "items": [{ "name": "a", "text": "x" }] }),
                json!({ "items": [{ "name": "a", "count": 1, "text": "x" }, { "name": "b" }] }),
            ),
            (
                json!({ "ports": [{ "port": 80, "protocol": "TCP", "name": "x" }] }),
                json!({ "ports": [{ "port": 80, "name": "y" }] }),
                json!({ "ports": [{ "port": 80, "protocol": "TCP", "name": "y" }] }),
            ),
        ];
        for (live, config, merged) in table {
            let found = merge(&live, &config, Type::root(schema.view()));
            assert_eq!(found, merged, "{live} {config}");
        }
    }

    #[test]
    fn items_have_the_order_that_the_real_server_gives_them() {
        let schema = fruits();
        // Live, configuration, merged: one letter is one item.
        let table = [
            ("", "ab", "ab"),
            ("ab", "", "ab"),
            ("abc", "b", "abc"),
            ("abc", "cb", "acb"),
            ("abc", "cba", "cba"),
            ("ab", "cd", "abcd"),
            ("abc", "axc", "abxc"),
            ("abcd", "xdyb", "acxdyb"),
            ("12345", "4a2b", "1345a2b"),
            ("ab", "bxa", "bxa"),
            ("aab", "b", "aab"),
            ("aab", "a", "ab"),
            ("bab", "ab", "ab"),
        ];
        let list = |letters: &str| -> Value {
            let letters = letters.chars().map(|letter| json!(letter.to_string()));
            json!({ "set": letters.collect::<Value>() })
        };
        for (live, config, merged) in table {
            let found = merge(&list(live), &list(config), Type::root(schema.view()));
            assert_eq!(found, list(merged), "{live:?} {config:?}");
        }
    }
}
