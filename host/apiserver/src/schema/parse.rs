//! Reads a schema from OpenAPI v3, as CRDs and the server's own documents have it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Constraints, Kind, ListKind, MapKind, PatchStrategy, Pattern, RuleSet, SchemaNode};
use crate::json::{list, texts};

/// Deeper than this no schema of Kubernetes goes.
const MAX_DEPTH: usize = 200;
const REFERENCE: &str = "#/components/schemas/";

/// Why something is not a schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct ParseError {
    /// Where in the schema, with dots.
    pub place: String,
    /// What is wrong there.
    pub problem: &'static str,
}

impl SchemaNode {
    /// Reads one schema.
    ///
    /// # Errors
    /// If it is not a schema; the error says where.
    pub fn parse(openapi: &Value) -> Result<Self, ParseError> {
        parse(openapi, "", MAX_DEPTH)
    }
}

fn parse(openapi: &Value, place: &str, depth: usize) -> Result<SchemaNode, ParseError> {
    let wrong = |problem| ParseError {
        place: place.to_owned(),
        problem,
    };
    if depth == 0 {
        return Err(wrong("nested too deeply"));
    }
    let schema = match openapi {
        Value::Object(schema) => schema,
        // `additionalProperties: true` says nothing of what is there, so pruning goes on below it.
        Value::Bool(true) => return Ok(SchemaNode::default()),
        _ => return Err(wrong("a schema is an object")),
    };
    let under = |word: &str| {
        if place.is_empty() {
            word.to_owned()
        } else {
            format!("{place}.{word}")
        }
    };
    let child = |word: &str| -> Result<Option<Box<SchemaNode>>, ParseError> {
        match schema.get(word) {
            None | Some(Value::Bool(false)) => Ok(None),
            Some(found) => Ok(Some(Box::new(parse(found, &under(word), depth - 1)?))),
        }
    };
    let mut properties = BTreeMap::new();
    if let Some(found) = schema.get("properties") {
        let found = found
            .as_object()
            .ok_or_else(|| wrong("properties is an object"))?;
        for (name, property) in found {
            let place = under(&format!("properties[{name}]"));
            properties.insert(name.clone(), parse(property, &place, depth - 1)?);
        }
    }
    let mut node = SchemaNode {
        kind: kind(schema).map_err(wrong)?,
        properties,
        values: child("additionalProperties")?,
        items: child("items")?,
        named: reference(schema),
        default: schema.get("default").cloned(),
        nullable: is_true(schema, "nullable"),
        required: texts(schema, "required").map(str::to_owned).collect(),
        preserves_unknown: is_true(schema, "x-kubernetes-preserve-unknown-fields"),
        embedded: is_true(schema, "x-kubernetes-embedded-resource"),
        list: list_kind(schema),
        map: map_kind(schema),
        patch: patch_strategy(schema),
        format: text(schema, "format").map(str::to_owned),
        constraints: None,
    };
    let constraints = Constraints {
        allowed: list(schema, "enum").to_vec(),
        pattern: text(schema, "pattern").map(Pattern::new),
        minimum: number(schema, "minimum"),
        maximum: number(schema, "maximum"),
        exclusive_minimum: is_true(schema, "exclusiveMinimum"),
        exclusive_maximum: is_true(schema, "exclusiveMaximum"),
        multiple_of: number(schema, "multipleOf"),
        min_length: count(schema, "minLength"),
        max_length: count(schema, "maxLength"),
        min_items: count(schema, "minItems"),
        max_items: count(schema, "maxItems"),
        unique_items: is_true(schema, "uniqueItems"),
        min_properties: count(schema, "minProperties"),
        max_properties: count(schema, "maxProperties"),
        all_of: if node.named.is_some() {
            Vec::new()
        } else {
            parts(schema, "allOf", place, depth)?
        },
        any_of: parts(schema, "anyOf", place, depth)?,
        one_of: parts(schema, "oneOf", place, depth)?,
        not: child("not")?,
        rules: RuleSet::new(list(schema, "x-kubernetes-validations").to_vec()),
    };
    if constraints != Constraints::default() {
        node.constraints = Some(Box::new(constraints));
    }
    Ok(node)
}

fn kind(schema: &Map<String, Value>) -> Result<Option<Kind>, &'static str> {
    let int_or_string = is_true(schema, "x-kubernetes-int-or-string")
        || text(schema, "format") == Some("int-or-string");
    if int_or_string {
        return Ok(Some(Kind::IntOrString));
    }
    Ok(Some(match text(schema, "type") {
        None | Some("") => return Ok(None),
        Some("object") => Kind::Object,
        Some("array") => Kind::Array,
        Some("string") => Kind::String,
        Some("integer") => Kind::Integer,
        Some("number") => Kind::Number,
        Some("boolean") => Kind::Boolean,
        Some(_) => return Err("no type of OpenAPI v3"),
    }))
}

/// `$ref`, also in the form that carries a default beside it: `allOf: [{$ref}]`.
fn reference(schema: &Map<String, Value>) -> Option<String> {
    let direct = schema.get("$ref");
    let wrapped = match list(schema, "allOf") {
        [only] => only.get("$ref"),
        _ => None,
    };
    let name = direct.or(wrapped)?.as_str()?;
    Some(name.strip_prefix(REFERENCE).unwrap_or(name).to_owned())
}

fn list_kind(schema: &Map<String, Value>) -> ListKind {
    let keys = texts(schema, "x-kubernetes-list-map-keys");
    match text(schema, "x-kubernetes-list-type") {
        Some("set") => ListKind::Set,
        Some("map") => ListKind::Map(keys.map(str::to_owned).collect()),
        _ => ListKind::Atomic,
    }
}

fn map_kind(schema: &Map<String, Value>) -> Option<MapKind> {
    match text(schema, "x-kubernetes-map-type")? {
        "atomic" => Some(MapKind::Atomic),
        _ => Some(MapKind::Granular),
    }
}

fn patch_strategy(schema: &Map<String, Value>) -> Option<PatchStrategy> {
    let said = text(schema, "x-kubernetes-patch-strategy")?;
    let mut words = said.split(',');
    Some(PatchStrategy {
        merge: words.clone().any(|word| word == "merge"),
        replace: words.clone().any(|word| word == "replace"),
        retain_keys: words.any(|word| word == "retainKeys"),
        key: text(schema, "x-kubernetes-patch-merge-key").map(str::to_owned),
    })
}

fn parts(
    schema: &Map<String, Value>,
    word: &str,
    place: &str,
    depth: usize,
) -> Result<Vec<SchemaNode>, ParseError> {
    let all = list(schema, word).iter().enumerate();
    all.map(|(index, part)| parse(part, &format!("{place}.{word}[{index}]"), depth - 1))
        .collect()
}

fn text<'a>(schema: &'a Map<String, Value>, word: &str) -> Option<&'a str> {
    schema.get(word).and_then(Value::as_str)
}

fn is_true(schema: &Map<String, Value>, word: &str) -> bool {
    schema.get(word) == Some(&Value::Bool(true))
}

fn count(schema: &Map<String, Value>, word: &str) -> Option<u64> {
    schema.get(word).and_then(Value::as_u64)
}

fn number(schema: &Map<String, Value>, word: &str) -> Option<serde_json::Number> {
    schema.get(word).and_then(Value::as_number).cloned()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::super::{Schema, Types};
    use super::*;

    #[test]
    fn lists_and_maps_say_how_they_merge() {
        let schema = Schema::parse(&json!({
            "type": "object",
            "properties": {
                "ports": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["port", "protocol"],
                    "items": { "type": "object", "properties": { "port": { "type": "integer" } } },
                },
                "labels": { "type": "object", "additionalProperties": { "type": "string" } },
                "any": { "x-kubernetes-int-or-string": true, "anyOf": [{ "type": "integer" }] },
            },
        }))
        .unwrap();
        let ports = schema.view().property("ports").unwrap();
        assert_eq!(
            *ports.list(),
            ListKind::Map(vec!["port".to_owned(), "protocol".to_owned()])
        );
        let port = ports.items().unwrap().field("port").unwrap();
        assert_eq!(port.kind(), Some(Kind::Integer));
        let label = schema.view().field("labels").unwrap().field("a").unwrap();
        assert_eq!(label.kind(), Some(Kind::String));
        let any = schema.view().field("any").unwrap();
        assert_eq!(any.kind(), Some(Kind::IntOrString));
    }

    #[test]
    fn a_named_type_may_refer_to_itself_and_keeps_what_its_site_says() {
        let tree = SchemaNode::parse(&json!({
            "type": "object",
            "properties": {
                "left": { "default": {}, "allOf": [{ "$ref": "#/components/schemas/tree" }] },
            },
        }))
        .unwrap();
        let types = Types::new([("tree".to_owned(), tree)].into());
        let root = SchemaNode::parse(&json!({ "$ref": "#/components/schemas/tree" })).unwrap();
        let schema = Schema::new(root, Arc::new(types));
        let left = schema.view().field("left").unwrap().field("left").unwrap();
        assert_eq!(left.default(), Some(&json!({})));
        assert_eq!(left.type_name(), Some("tree"));
        assert_eq!(left.kind(), Some(Kind::Object));
    }

    #[test]
    fn what_is_no_schema_says_where() {
        let deep = json!({ "type": "object", "properties": { "a": { "items": 1 } } });
        let wrong = SchemaNode::parse(&deep).unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "properties[a].items: a schema is an object"
        );
    }
}
