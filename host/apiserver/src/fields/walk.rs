//! Which fields a value has: what its applier owns.
//!
//! - A field with fields of its own is not in the set, unless it is empty, an item of a list, or a key that
//!   no schema names: those exist by themselves.
//! - What is one value (atomic) is one field.

use serde_json::Value;

use super::path::PathElement;
use super::set::Set;
use super::types::{List, Map, Type, TypePart};

/// All fields of `value`.
pub(super) fn field_set(value: &Value, ty: Type<'_>) -> Set {
    match visit(value, ty) {
        ValueFields::Leaf => Set::default(),
        ValueFields::Fields(set) => set,
    }
}

enum ValueFields {
    /// The value is one field.
    Leaf,
    /// The value has these fields.
    Fields(Set),
}

fn visit(value: &Value, ty: Type<'_>) -> ValueFields {
    match ty.part_of(value) {
        TypePart::Map(map) if map.is_atomic() => ValueFields::Leaf,
        TypePart::List(list) if list.is_atomic() => ValueFields::Leaf,
        TypePart::Map(map) => ValueFields::Fields(of_map(value, map)),
        TypePart::List(list) => ValueFields::Fields(of_list(value, list)),
        TypePart::Scalar(_) | TypePart::Nothing => ValueFields::Leaf,
    }
}

fn of_map(value: &Value, map: Map<'_>) -> Set {
    let mut set = Set::default();
    for (name, value) in value.as_object().into_iter().flatten() {
        let step = PathElement::field(name);
        let declared = map.declared(name);
        let is_bare = match value {
            Value::Null => true,
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        };
        let mut is_member = is_bare || declared.is_none();
        match visit(value, declared.unwrap_or_else(|| map.values())) {
            ValueFields::Leaf => is_member = true,
            ValueFields::Fields(below) if below.is_empty() => {}
            ValueFields::Fields(below) => {
                set.children.insert(step.clone(), below);
            }
        }
        if is_member {
            set.members.insert(step);
        }
    }
    set
}

fn of_list(value: &Value, list: List<'_>) -> Set {
    let mut set = Set::default();
    // An item that cannot be told apart was refused before.
    let items = value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|item| Some((list.step(item).ok()?, item)));
    for (step, item) in items {
        if !set.members.insert(step.clone()) {
            // Doubled items are one field.
            set.children.remove(&step);
        } else if let ValueFields::Fields(below) = visit(item, list.items())
            && !below.is_empty()
        {
            set.children.insert(step, below);
        }
    }
    set
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::fruits;
    use super::*;

    #[test]
    fn a_value_has_the_fields_that_the_real_server_finds() {
        let schema = fruits();
        let table = [
            (json!({}), json!({})),
            (
                json!({ "count": 1, "yes": null }),
                json!({ "f:count": {}, "f:yes": {} }),
            ),
            // A declared object is there because of its fields, unless it has none.
            (
                json!({ "inner": { "count": 1 } }),
                json!({ "f:inner": { "f:count": {} } }),
            ),
            (json!({ "inner": {} }), json!({ "f:inner": {} })),
            (json!({ "inner": null }), json!({ "f:inner": {} })),
            // The same for a map; its keys are there by themselves.
            (
                json!({ "labels": { "a": "b" } }),
                json!({ "f:labels": { "f:a": {} } }),
            ),
            (
                json!({ "maps": { "a": { "b": 1 } } }),
                json!({ "f:maps": { "f:a": { ".": {}, "f:b": {} } } }),
            ),
            // An empty list is nothing, an item is there by itself.
            (json!({ "items": [], "set": [] }), json!({})),
            (json!({ "atomic": [] }), json!({ "f:atomic": {} })),
            (
                json!({ "items": [{ "name": "a", "count": 1 }] }),
                json!({ "f:items": { "k:{\"name\":\"a\"}": { ".": {}, "f:name": {}, "f:count": {} } } }),
            ),
            (
                json!({ "ports": [{ "port": 80 }] }),
                json!({ "f:ports": { "k:{\"port\":80,\"protocol\":\"TCP\"}": { ".": {}, "f:port": {} } } }),
            ),
            (
                json!({ "set": ["a", "b"] }),
                json!({ "f:set": { "v:\"a\"": {}, "v:\"b\"": {} } }),
            ),
            // What is one value is one field.
            (
                json!({ "atomic": ["a"], "point": { "x": 1 } }),
                json!({ "f:atomic": {}, "f:point": {} }),
            ),
            // Doubled items are one field.
            (
                json!({ "items": [{ "name": "a", "count": 1 }, { "name": "a" }, { "name": "a" }] }),
                json!({ "f:items": { "k:{\"name\":\"a\"}": {} } }),
            ),
            // Without a schema: maps field by field, lists as one value.
            (
                json!({ "free": { "a": { "b": 1, "c": [{ "d": 1 }] }, "e": {} } }),
                json!({ "f:free": { "f:a": { ".": {}, "f:b": {}, "f:c": {} }, "f:e": {} } }),
            ),
            (
                json!({ "either": "10%", "open": { "a": 1 } }),
                json!({ "f:either": {}, "f:open": { "f:a": {} } }),
            ),
            // Metadata is the real one, also of embedded resources.
            (
                json!({ "metadata": { "labels": { "a": "b" }, "finalizers": ["a"],
                    "ownerReferences": [{ "uid": "1", "name": "n" }] } }),
                json!({ "f:metadata": { "f:labels": { "f:a": {} }, "f:finalizers": { "v:\"a\"": {} },
                    "f:ownerReferences": { "k:{\"uid\":\"1\"}": {} } } }),
            ),
            (
                json!({ "template": { "kind": "A", "metadata": { "finalizers": ["a"] }, "x": { "y": 1 } } }),
                json!({ "f:template": { "f:kind": {}, "f:metadata": { "f:finalizers": { "v:\"a\"": {} } },
                    "f:x": { ".": {}, "f:y": {} } } }),
            ),
        ];
        for (value, set) in table {
            let found = field_set(&value, Type::root(schema.view()));
            assert_eq!(found.to_json(), set, "{value}");
        }
    }

    #[test]
    fn without_a_schema_all_is_deduced() {
        let value = json!({ "spec": { "a": [1], "b": { "c": 1 } }, "n": null });
        assert_eq!(
            field_set(&value, Type::Deduced).to_json(),
            json!({ "f:n": {}, "f:spec": { ".": {}, "f:a": {}, "f:b": { ".": {}, "f:c": {} } } })
        );
    }
}
