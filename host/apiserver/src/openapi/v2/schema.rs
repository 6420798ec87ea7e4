//! Types in OpenAPI v2: what v3 says of them, less what v2 has no words for.

use serde_json::{Map, Value};

use crate::openapi::schemas::REFERENCE;

/// Where v2 has its types.
const DEFINITIONS: &str = "#/definitions/";

/// A type without defaults, with references as v2 has them, and with one type where v3 has alternatives
/// (kube-openapi `pkg/handler/default_pruning.go`, and the v2 definitions of `IntOrString` and `Quantity`).
pub(super) fn plain(schema: Value) -> Value {
    let Value::Object(mut words) = schema else {
        return schema;
    };
    words.remove("default");
    if let Some(reference) = only_reference(words.get("allOf")) {
        words.remove("allOf");
        words.insert("$ref".to_owned(), reference);
    }
    if let Some(Value::String(reference)) = words.get_mut("$ref") {
        let name = reference.trim_start_matches(REFERENCE);
        *reference = format!("{DEFINITIONS}{name}");
    }
    if words.remove("oneOf").is_some() {
        words.insert("type".to_owned(), "string".into());
    }
    for word in ["items", "additionalProperties"] {
        if let Some(below) = words.get_mut(word) {
            *below = plain(below.take());
        }
    }
    if let Some(Value::Object(fields)) = words.get_mut("properties") {
        for field in fields.values_mut() {
            *field = plain(field.take());
        }
    }
    Value::Object(words)
}

fn only_reference(all_of: Option<&Value>) -> Option<Value> {
    match all_of?.as_array()?.as_slice() {
        [only] => only.get("$ref").cloned(),
        _ => None,
    }
}

/// Takes out of a definition's schema what kubectl cannot read in v2 (apiextensions-apiserver
/// `pkg/controller/openapi/v2/conversion.go`); says whether its fields are to be shown.
pub(super) fn structural(schema: &mut Map<String, Value>) -> bool {
    let preserves = is_true(schema, PRESERVES);
    walk(schema);
    !preserves
}

const PRESERVES: &str = "x-kubernetes-preserve-unknown-fields";

fn is_true(schema: &Map<String, Value>, word: &str) -> bool {
    schema.get(word) == Some(&Value::Bool(true))
}

fn walk(schema: &mut Map<String, Value>) {
    let is_nullable = is_true(schema, "nullable");
    let preserves = is_true(schema, PRESERVES);
    for word in ["allOf", "anyOf", "oneOf", "not", "nullable", "default"] {
        schema.remove(word);
    }
    if is_nullable {
        schema.remove("type");
    }
    if is_nullable || preserves {
        schema.remove("items");
        schema.remove("properties");
    }
    let kind = schema.get("type").and_then(Value::as_str);
    let has_items = schema.contains_key("items");
    if kind.is_some_and(|kind| kind == "array" && !has_items || kind == "object" && preserves) {
        schema.remove("type");
    }
    leave_out_nullable(schema);
    for word in ["items", "additionalProperties"] {
        if let Some(Value::Object(below)) = schema.get_mut(word) {
            walk(below);
        }
    }
    if let Some(Value::Object(fields)) = schema.get_mut("properties") {
        for field in fields.values_mut().filter_map(Value::as_object_mut) {
            walk(field);
        }
    }
}

/// What may be null need not be there.
fn leave_out_nullable(schema: &mut Map<String, Value>) {
    let nullable = |value: &Value| value.get("nullable") == Some(&Value::Bool(true));
    let fields = schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    let names: Vec<String> = fields
        .filter(|(_, field)| nullable(field))
        .map(|(name, _)| name.clone())
        .collect();
    let all = schema.get("additionalProperties").is_some_and(nullable);
    let Some(Value::Array(required)) = schema.get_mut("required") else {
        return;
    };
    let may_go = |name: &Value| {
        all || name
            .as_str()
            .is_some_and(|name| names.iter().any(|n| n == name))
    };
    required.retain(|name| !may_go(name));
    if required.is_empty() {
        schema.remove("required");
    }
}
