//! What changed between two states of an object, field by field.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map as Fields, Value};

use super::path::{PathElement, equal};
use super::set::Set;
use super::types::{List, Map, Type, TypePart, fields, items};

/// What changed; no field is in two of the sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Comparison {
    pub(super) removed: Set,
    pub(super) modified: Set,
    pub(super) added: Set,
}

impl Comparison {
    /// Leaves out `ignored` and all below it.
    pub(super) fn without(self, ignored: &Set) -> Self {
        if ignored.is_empty() {
            return self;
        }
        Self {
            removed: self.removed.recursive_difference(ignored),
            modified: self.modified.recursive_difference(ignored),
            added: self.added.recursive_difference(ignored),
        }
    }

    /// What the new state has otherwise than the old one.
    pub(super) fn written(&self) -> Set {
        self.modified.union(&self.added)
    }
}

/// Compares two states of an object.
pub(super) fn compare(old: &Value, new: &Value, ty: Type<'_>) -> Comparison {
    visit(Some(old), Some(new), ty).below
}

/// What changed at a place and below it; boxed, since it is handed up from deep below.
type BoxedChanges = Box<Changes>;

#[derive(Default)]
struct Changes {
    removed: bool,
    modified: bool,
    added: bool,
    below: Comparison,
}

impl Changes {
    /// What is found where values are compared as a whole.
    fn whole(old: Option<&Value>, new: Option<&Value>) -> BoxedChanges {
        let mut found = BoxedChanges::default();
        match (old, new) {
            (None, _) => found.added = true,
            (_, None) => found.removed = true,
            (Some(old), Some(new)) => found.modified = !equal(old, new),
        }
        found
    }

    fn is_empty(&self) -> bool {
        let Comparison {
            removed,
            modified,
            added,
        } = &self.below;
        let here = self.removed || self.modified || self.added;
        !here && removed.is_empty() && modified.is_empty() && added.is_empty()
    }

    /// Puts together what is found twice at the same place.
    fn and(mut self: Box<Self>, other: &Self) -> BoxedChanges {
        self.removed |= other.removed;
        self.modified |= other.modified;
        self.added |= other.added;
        self.below.removed.add(&other.below.removed);
        self.below.modified.add(&other.below.modified);
        self.below.added.add(&other.below.added);
        self
    }

    /// Puts in what is found one step below.
    fn put(&mut self, step: &PathElement, found: Self) {
        let Comparison {
            removed,
            modified,
            added,
        } = &mut self.below;
        for (set, is_member, below) in [
            (removed, found.removed, found.below.removed),
            (modified, found.modified, found.below.modified),
            (added, found.added, found.below.added),
        ] {
            if is_member {
                set.members.insert(step.clone());
            }
            set.put(step, below);
        }
    }
}

fn visit(old: Option<&Value>, new: Option<&Value>, ty: Type<'_>) -> BoxedChanges {
    let (was, is) = parts(old, new, ty);
    let found = part(is, old, new);
    match was {
        Some(was) => part(was, old, new).and(&found),
        None => found,
    }
}

/// What the place was, if that is another thing than it is, and what it is.
fn parts<'a>(
    old: Option<&Value>,
    new: Option<&Value>,
    ty: Type<'a>,
) -> (Option<TypePart<'a>>, TypePart<'a>) {
    let open = ty.open();
    let (before, after) = (open.deduce(old), open.deduce(new));
    match (old, new) {
        (_, None) => (None, ty.part(before)),
        (Some(_), Some(_)) if before != after => (Some(ty.part(before)), ty.part(after)),
        _ => (None, ty.part(after)),
    }
}

fn part(part: TypePart<'_>, old: Option<&Value>, new: Option<&Value>) -> BoxedChanges {
    let found = match part {
        TypePart::Map(map) => of_map(map, fields(old), fields(new)),
        TypePart::List(list) => of_list(list, items(old), items(new)),
        TypePart::Scalar(_) | TypePart::Nothing => None,
    };
    let Some(mut found) = found else {
        return Changes::whole(old, new);
    };
    found.added = old.is_none();
    found.removed = new.is_none();
    found
}

type Object = Fields<String, Value>;

/// Nothing where the map is one value.
fn of_map(map: Map<'_>, old: Option<&Object>, new: Option<&Object>) -> Option<BoxedChanges> {
    let names = names(old, new);
    if map.is_atomic() || names.is_empty() {
        return None;
    }
    let mut found = BoxedChanges::default();
    for name in names {
        let old = old.and_then(|fields| fields.get(name));
        let new = new.and_then(|fields| fields.get(name));
        let field = visit(old, new, map.field(name));
        if !field.is_empty() {
            found.put(&PathElement::field(name), *field);
        }
    }
    Some(found)
}

fn names<'v>(old: Option<&'v Object>, new: Option<&'v Object>) -> BTreeSet<&'v str> {
    let both = old.into_iter().chain(new);
    both.flat_map(Fields::keys).map(String::as_str).collect()
}

/// Items with the same key in the one list and the other.
type Pairs<'v> = BTreeMap<PathElement, (Vec<&'v Value>, Vec<&'v Value>)>;

/// Nothing where the list is one value.
fn of_list(list: List<'_>, old: &[Value], new: &[Value]) -> Option<BoxedChanges> {
    if list.is_atomic() || (old.is_empty() && new.is_empty()) {
        return None;
    }
    let mut found = BoxedChanges::default();
    for (step, (old, new)) in pairs(list, old, new) {
        found.put(&step, *item(list, &old, &new));
    }
    Some(found)
}

fn pairs<'v>(list: List<'_>, old: &'v [Value], new: &'v [Value]) -> Pairs<'v> {
    let mut all = Pairs::new();
    for item in old {
        if let Ok(step) = list.step(item) {
            all.entry(step).or_default().0.push(item);
        }
    }
    for item in new {
        if let Ok(step) = list.step(item) {
            all.entry(step).or_default().1.push(item);
        }
    }
    all
}

/// Compares items with the same key; doubled ones are one value.
fn item(list: List<'_>, old: &[&Value], new: &[&Value]) -> BoxedChanges {
    let ty = list.items();
    let mut found = match (old, new) {
        ([] | [_], [] | [_]) => return visit(old.first().copied(), new.first().copied(), ty),
        ([old], _) => visit(Some(old), None, ty),
        (_, [new]) => visit(None, Some(new), ty),
        _ => BoxedChanges::default(),
    };
    match (old, new) {
        ([] | [_], _) => found.added = true,
        (_, [] | [_]) => found.removed = true,
        _ => {
            let same = old.len() == new.len();
            let same = same && old.iter().zip(new).all(|(a, b)| equal(a, b));
            found.modified = !same;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::fruits;
    use super::*;

    #[test]
    fn changes_are_told_field_by_field() {
        let schema = fruits();
        // Old, new, removed, modified, added.
        let table = [
            (
                json!({ "count": 1 }),
                json!({ "count": 1.0 }),
                json!({}),
                json!({}),
                json!({}),
            ),
            (
                json!({ "count": 1, "text": "a" }),
                json!({ "count": 2, "yes": true }),
                json!({ "f:text": {} }),
                json!({ "f:count": {} }),
                json!({ "f:yes": {} }),
            ),
            // An object comes and goes with its fields.
            (
                json!({}),
                json!({ "inner": { "count": 1 } }),
                json!({}),
                json!({}),
                json!({ "f:inner": { ".": {}, "f:count": {} } }),
            ),
            (
                json!({ "inner": { "count": 1 } }),
                json!({}),
                json!({ "f:inner": { ".": {}, "f:count": {} } }),
                json!({}),
                json!({}),
            ),
            (
                json!({ "inner": {} }),
                json!({ "inner": { "count": 1 } }),
                json!({}),
                json!({}),
                json!({ "f:inner": { "f:count": {} } }),
            ),
            // Nothing and `null` differ, but not as an object.
            (
                json!({ "labels": null }),
                json!({ "labels": { "a": "b" } }),
                json!({}),
                json!({}),
                json!({ "f:labels": { "f:a": {} } }),
            ),
            (
                json!({ "labels": null }),
                json!({ "labels": {} }),
                json!({}),
                json!({ "f:labels": {} }),
                json!({}),
            ),
            (
                json!({}),
                json!({ "labels": {} }),
                json!({}),
                json!({}),
                json!({ "f:labels": {} }),
            ),
            // The order of items does not count, that of atomic lists does.
            (
                json!({ "set": ["a", "b"], "atomic": ["a", "b"] }),
                json!({ "set": ["b", "c", "a"], "atomic": ["b", "a"] }),
                json!({}),
                json!({ "f:atomic": {} }),
                json!({ "f:set": { "v:\"c\"": {} } }),
            ),
            (
                json!({ "items": [{ "name": "a", "count": 1 }, { "name": "b" }] }),
                json!({ "items": [{ "name": "c" }, { "name": "a", "count": 2 }] }),
                json!({ "f:items": { "k:{\"name\":\"b\"}": { ".": {}, "f:name": {} } } }),
                json!({ "f:items": { "k:{\"name\":\"a\"}": { "f:count": {} } } }),
                json!({ "f:items": { "k:{\"name\":\"c\"}": { ".": {}, "f:name": {} } } }),
            ),
            // A default tells items apart as if it had been written.
            (
                json!({ "ports": [{ "port": 80 }] }),
                json!({ "ports": [{ "port": 80, "protocol": "TCP" }] }),
                json!({}),
                json!({}),
                json!({ "f:ports": { "k:{\"port\":80,\"protocol\":\"TCP\"}": { "f:protocol": {} } } }),
            ),
            // One thing becomes another.
            (
                json!({ "free": { "a": { "b": 1 } } }),
                json!({ "free": { "a": 1 } }),
                json!({ "f:free": { "f:a": { "f:b": {} } } }),
                json!({ "f:free": { "f:a": {} } }),
                json!({}),
            ),
            (
                json!({ "free": { "a": [1] } }),
                json!({ "free": { "a": { "b": 1 } } }),
                json!({}),
                json!({ "f:free": { "f:a": {} } }),
                json!({ "f:free": { "f:a": { "f:b": {} } } }),
            ),
            (
                json!({ "point": { "x": 1 } }),
                json!({ "point": { "x": 1, "y": 1 } }),
                json!({}),
                json!({ "f:point": {} }),
                json!({}),
            ),
        ];
        for (old, new, removed, modified, added) in table {
            let found = compare(&old, &new, Type::root(schema.view()));
            assert_eq!(found.removed.to_json(), removed, "removed: {old} {new}");
            assert_eq!(found.modified.to_json(), modified, "modified: {old} {new}");
            assert_eq!(found.added.to_json(), added, "added: {old} {new}");
        }
    }

    #[test]
    fn doubled_items_are_one_value() {
        let schema = fruits();
        let item = |count: i64| json!({ "name": "a", "count": count });
        let list =
            |counts: &[i64]| json!({ "items": counts.iter().map(|c| item(*c)).collect::<Value>() });
        let whole = json!({ "f:items": { "k:{\"name\":\"a\"}": {} } });
        let parts = json!({ "f:items": { "k:{\"name\":\"a\"}": { ".": {}, "f:name": {}, "f:count": {} } } });
        let none = json!({});
        let table = [
            (list(&[1, 2]), list(&[1, 2]), &none, &none, &none),
            (list(&[1, 2]), list(&[2, 1]), &none, &whole, &none),
            (list(&[1, 2]), list(&[1, 2, 3]), &none, &whole, &none),
            (list(&[]), list(&[1, 2]), &none, &none, &whole),
            (list(&[1, 2]), list(&[]), &whole, &none, &none),
            (list(&[1]), list(&[1, 2]), &parts, &none, &whole),
            (list(&[1, 2]), list(&[1]), &whole, &none, &parts),
        ];
        for (old, new, removed, modified, added) in table {
            let found = compare(&old, &new, Type::root(schema.view()));
            assert_eq!(found.removed.to_json(), *removed, "removed: {old} {new}");
            assert_eq!(found.modified.to_json(), *modified, "modified: {old} {new}");
            assert_eq!(found.added.to_json(), *added, "added: {old} {new}");
        }
    }
}
