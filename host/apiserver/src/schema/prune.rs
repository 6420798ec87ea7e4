//! Takes away the fields that no schema names, as the real server does before it looks at an object.
//!
//! - `x-kubernetes-preserve-unknown-fields` keeps what nobody names, and goes on below it.
//! - Objects within objects keep `apiVersion`, `kind` and `metadata`, and so does the root.
//! - What went away is answered by its path, so that the same walk serves strict field validation.

use serde_json::Value;

use super::View;
use crate::field::Path;
use crate::mutants::mutant;

/// What every object has beside what its schema says.
const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Drops the fields that `schema` does not name and answers their paths, sorted: `spec.foo`,
/// `spec.ports[0].bar`.
///
/// `at_root` says that the value is a whole object, with `apiVersion`, `kind` and `metadata`.
pub fn prune(value: &mut Value, schema: View<'_>, at_root: bool) -> Vec<String> {
    let mut unknown = Vec::new();
    let at = Path::ROOT;
    if schema.preserves_unknown() {
        keep(value, schema, at, at_root, &mut unknown);
    } else {
        drop_unknown(value, Some(schema), at, at_root, &mut unknown);
    }
    unknown.sort_unstable();
    unknown
}

fn below(value: &mut Value, schema: Option<View<'_>>, at: Path<'_>, unknown: &mut Vec<String>) {
    match schema {
        Some(schema) if schema.preserves_unknown() => {
            keep(value, schema, at, schema.is_embedded(), unknown);
        }
        schema => {
            let embedded = schema.is_some_and(|schema| schema.is_embedded());
            drop_unknown(value, schema, at, embedded, unknown);
        }
    }
}

fn drop_unknown(
    value: &mut Value,
    schema: Option<View<'_>>,
    at: Path<'_>,
    is_object: bool,
    unknown: &mut Vec<String>,
) {
    match value {
        Value::Object(fields) => fields.retain(|name, value| {
            if is_object && META.contains(&name.as_str()) {
                return true;
            }
            let field = schema.and_then(|schema| schema.field(name));
            let known = field.is_some();
            if known {
                below(value, field, at.child(name), unknown);
            } else if !META.contains(&name.as_str()) || !at.is_root() {
                unknown.push(at.child(name).dotted());
            }
            known
        }),
        Value::Array(items) => {
            mutant!(ItemsAreNotPruned, return);
            let schema = schema.and_then(|schema| schema.items());
            for (index, item) in items.iter_mut().enumerate() {
                below(item, schema, at.index(index), unknown);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn keep(
    value: &mut Value,
    schema: View<'_>,
    at: Path<'_>,
    is_object: bool,
    unknown: &mut Vec<String>,
) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if is_object && META.contains(&name.as_str()) {
                    continue;
                }
                if let Some(field) = schema.field(name) {
                    below(value, Some(field), at.child(name), unknown);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = schema.items() else { return };
            for (index, item) in items.iter_mut().enumerate() {
                keep(item, schema, at.index(index), schema.is_embedded(), unknown);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Schema;
    use super::*;

    #[test]
    fn fields_that_no_schema_names_go_away() {
        let schema = Schema::parse(&json!({
            "type": "object",
            "properties": {
                "spec": { "type": "object", "properties": {
                    "a": { "type": "integer" },
                    "list": { "type": "array", "items": {
                        "type": "object", "properties": { "b": { "type": "string" } },
                    } },
                    "map": { "type": "object", "additionalProperties": {
                        "type": "object", "properties": { "c": { "type": "string" } },
                    } },
                    "free": {
                        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                        "properties": { "d": { "type": "object", "properties": {} } },
                    },
                    "pod": {
                        "type": "object", "x-kubernetes-embedded-resource": true,
                        "properties": { "spec": { "type": "object" } },
                    },
                } },
            },
        }))
        .unwrap();
        let mut object = json!({
            "apiVersion": "a/v1", "kind": "A", "metadata": { "name": "a" }, "other": 1,
            "spec": {
                "a": { "x": 1 }, "b": 1, "kind": 1,
                "list": [{ "b": "", "c": 1 }, 5],
                "map": { "k": { "c": "", "d": 1 } },
                "free": { "x": 1, "d": { "y": 1 } },
                "pod": { "apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": { "z": 1 }, "w": 1 },
            },
        });
        let dropped = prune(&mut object, schema.view(), true);
        assert_eq!(
            dropped,
            [
                "other",
                "spec.a.x",
                "spec.b",
                "spec.free.d.y",
                "spec.kind",
                "spec.list[0].c",
                "spec.map.k.d",
                "spec.pod.spec.z",
                "spec.pod.w",
            ]
        );
        assert_eq!(
            object,
            json!({
                "apiVersion": "a/v1", "kind": "A", "metadata": { "name": "a" },
                "spec": {
                    "a": {}, "list": [{ "b": "" }, 5], "map": { "k": { "c": "" } },
                    "free": { "x": 1, "d": {} },
                    "pod": { "apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": {} },
                },
            })
        );
        assert_eq!(prune(&mut object, schema.view(), true), [""; 0]);
    }
}
