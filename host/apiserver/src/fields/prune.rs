//! Takes out of the merged object what its applier applied before, applies no longer, and nobody else owns.

use serde_json::{Map as Fields, Value};

use super::path::PathElement;
use super::set::Set;
use super::types::{List, Map, Type, TypePart};
use super::walk::field_set;

/// Prunes `merged`. `before` is what the applier owned; `owned` what all own now, the applier with its new
/// configuration among them, by version: first the one of `before`.
pub(super) fn prune(merged: &Value, before: &Set, owned: &[Set], ty: Type<'_>) -> Value {
    let before = with_parents(before, ty);
    let all = with_parents(&field_set(merged, ty), ty);
    let kept = |pruned: &Value| with_parents(&field_set(pruned, ty), ty);
    let mut pruned = remove(merged, &before, ty);
    // Back comes what somebody owns,
    for owned in owned {
        let stays = kept(&pruned).union(&with_parents(owned, ty));
        pruned = remove(merged, &all.difference(&stays), ty);
    }
    // and what went away with its parent without having been the applier's.
    let gone = all.difference(&kept(&pruned)).intersection(&before);
    remove(merged, &gone, ty)
}

/// Adds the declared fields that have something of the set in them: these are in a set for their fields.
fn with_parents(set: &Set, ty: Type<'_>) -> Set {
    let (map, list) = (ty.map(), ty.list());
    let mut all = Set {
        members: set.members.clone(),
        ..Set::default()
    };
    for (step, below) in &set.children {
        let declared = match step {
            PathElement::Field(name) => map.and_then(|map| map.declared(name)),
            _ => None,
        };
        let ty = match step {
            PathElement::Field(_) => declared.or_else(|| map.map(Map::values)),
            PathElement::Key(_) => list.map(List::items),
            PathElement::Value(_) | PathElement::Index(_) => None,
        };
        if declared.is_some() {
            all.members.insert(step.clone());
        }
        let below = with_parents(below, ty.unwrap_or(Type::Undeclared));
        all.children.insert(step.clone(), below);
    }
    all
}

/// A copy of `value` without `gone`; what loses all its parts becomes `null`.
fn remove(value: &Value, gone: &Set, ty: Type<'_>) -> Value {
    match ty.part_of(value) {
        TypePart::Scalar(_) => value.clone(),
        TypePart::Map(map) if !map.is_atomic() => from_map(value, gone, map),
        TypePart::List(list) if !list.is_atomic() => from_list(value, gone, list),
        TypePart::Map(_) | TypePart::List(_) | TypePart::Nothing => Value::Null,
    }
}

fn from_map(value: &Value, gone: &Set, map: Map<'_>) -> Value {
    let mut left = Fields::new();
    for (name, value) in value.as_object().into_iter().flatten() {
        let step = PathElement::field(name);
        if gone.members.contains(&step) {
            continue;
        }
        let value = match gone.below(&step) {
            Some(below) => remove(value, below, map.field(name)),
            None => value.clone(),
        };
        left.insert(name.clone(), value);
    }
    if left.is_empty() {
        Value::Null
    } else {
        Value::Object(left)
    }
}

fn from_list(value: &Value, gone: &Set, list: List<'_>) -> Value {
    let mut left = Vec::new();
    for item in value.as_array().into_iter().flatten() {
        let Ok(step) = list.step(item) else {
            continue;
        };
        if gone.members.contains(&step) {
            continue;
        }
        left.push(match gone.below(&step) {
            Some(below) => remove(item, below, list.items()),
            None => item.clone(),
        });
    }
    if left.is_empty() {
        Value::Null
    } else {
        Value::Array(left)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::fruits;
    use super::*;

    #[test]
    fn what_was_applied_and_is_nobodys_goes_away() {
        let schema = fruits();
        let ty = Type::root(schema.view());
        // Merged, owned before, owned now, pruned.
        let table = [
            (
                json!({ "count": 1, "text": "a" }),
                json!({ "count": 1 }),
                json!({ "text": "a" }),
                json!({ "text": "a" }),
            ),
            (
                json!({ "count": 1, "text": "a" }),
                json!({ "count": 1 }),
                json!({ "count": 1 }),
                json!({ "count": 1, "text": "a" }),
            ),
            // An item goes with all that is in it,
            (
                json!({ "items": [{ "name": "a", "count": 1 }, { "name": "b" }] }),
                json!({ "items": [{ "name": "a", "count": 1 }] }),
                json!({ "items": [{ "name": "b" }] }),
                json!({ "items": [{ "name": "b" }] }),
            ),
            // unless some of that is somebody's.
            (
                json!({ "items": [{ "name": "a", "count": 1, "text": "x" }] }),
                json!({ "items": [{ "name": "a", "count": 1 }] }),
                json!({ "items": [{ "name": "a", "text": "x" }] }),
                json!({ "items": [{ "name": "a", "text": "x" }] }),
            ),
            (
                json!({ "set": ["a", "b"] }),
                json!({ "set": ["a"] }),
                json!({ "set": ["b"] }),
                json!({ "set": ["b"] }),
            ),
            (
                json!({ "set": ["a"], "count": 1 }),
                json!({ "set": ["a"] }),
                json!({ "count": 1 }),
                json!({ "count": 1 }),
            ),
            // What nobody owns goes with the last owned field beside it,
            (
                json!({ "labels": { "a": "b", "c": "d" }, "count": 1 }),
                json!({ "labels": { "a": "b" } }),
                json!({}),
                json!({ "count": 1 }),
            ),
            // and stays if there is another.
            (
                json!({ "labels": { "a": "b", "c": "d", "e": "f" } }),
                json!({ "labels": { "a": "b" } }),
                json!({ "labels": { "e": "f" } }),
                json!({ "labels": { "c": "d", "e": "f" } }),
            ),
            (
                json!({ "labels": { "a": "b" }, "count": 1 }),
                json!({ "labels": { "a": "b" } }),
                json!({ "count": 1 }),
                json!({ "count": 1 }),
            ),
            (
                json!({ "atomic": ["a"], "count": 1 }),
                json!({ "atomic": ["b"] }),
                json!({}),
                json!({ "count": 1 }),
            ),
        ];
        for (merged, before, owned, pruned) in table {
            let (before, owned) = (field_set(&before, ty), field_set(&owned, ty));
            let found = prune(&merged, &before, &[owned], ty);
            assert_eq!(found, pruned, "{merged}");
        }
    }
}
