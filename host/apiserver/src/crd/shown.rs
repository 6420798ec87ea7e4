//! Definitions as the real server shows them in causes: with the names of the fields of its Go types, and
//! with all that nobody has said.

use serde_json::Value;

use super::inner::Inner;
use crate::status::shown::json;

/// What a field of a Go type holds when nobody has said anything, and what it is made of.
#[derive(Clone, Copy)]
enum Field {
    /// `""`.
    Text,
    /// `false`.
    Bool,
    /// `null`, or whatever was said.
    Plain,
    Schema,
    Schemas,
    SchemaMap,
    Items,
    Values,
    Dependencies,
    Docs,
    Rules,
    /// The schema of a version.
    Validation,
    Subresources,
    Status,
    Scale,
    Columns,
    Selectable,
    /// `0`.
    Number,
}

const SCHEMA: [(&str, &str, Field); 44] = [
    ("ID", "id", Field::Text),
    ("Schema", "$schema", Field::Text),
    ("Ref", "$ref", Field::Plain),
    ("Description", "description", Field::Text),
    ("Type", "type", Field::Text),
    ("Nullable", "nullable", Field::Bool),
    ("Format", "format", Field::Text),
    ("Title", "title", Field::Text),
    ("Default", "default", Field::Plain),
    ("Maximum", "maximum", Field::Plain),
    ("ExclusiveMaximum", "exclusiveMaximum", Field::Bool),
    ("Minimum", "minimum", Field::Plain),
    ("ExclusiveMinimum", "exclusiveMinimum", Field::Bool),
    ("MaxLength", "maxLength", Field::Plain),
    ("MinLength", "minLength", Field::Plain),
    ("Pattern", "pattern", Field::Text),
    ("MaxItems", "maxItems", Field::Plain),
    ("MinItems", "minItems", Field::Plain),
    ("UniqueItems", "uniqueItems", Field::Bool),
    ("MultipleOf", "multipleOf", Field::Plain),
    ("Enum", "enum", Field::Plain),
    ("MaxProperties", "maxProperties", Field::Plain),
    ("MinProperties", "minProperties", Field::Plain),
    ("Required", "required", Field::Plain),
    ("Items", "items", Field::Items),
    ("AllOf", "allOf", Field::Schemas),
    ("OneOf", "oneOf", Field::Schemas),
    ("AnyOf", "anyOf", Field::Schemas),
    ("Not", "not", Field::Schema),
    ("Properties", "properties", Field::SchemaMap),
    (
        "AdditionalProperties",
        "additionalProperties",
        Field::Values,
    ),
    ("PatternProperties", "patternProperties", Field::SchemaMap),
    ("Dependencies", "dependencies", Field::Dependencies),
    ("AdditionalItems", "additionalItems", Field::Values),
    ("Definitions", "definitions", Field::SchemaMap),
    ("ExternalDocs", "externalDocs", Field::Docs),
    ("Example", "example", Field::Plain),
    (
        "XPreserveUnknownFields",
        "x-kubernetes-preserve-unknown-fields",
        Field::Plain,
    ),
    (
        "XEmbeddedResource",
        "x-kubernetes-embedded-resource",
        Field::Bool,
    ),
    ("XIntOrString", "x-kubernetes-int-or-string", Field::Bool),
    ("XListMapKeys", "x-kubernetes-list-map-keys", Field::Plain),
    ("XListType", "x-kubernetes-list-type", Field::Plain),
    ("XMapType", "x-kubernetes-map-type", Field::Plain),
    ("XValidations", "x-kubernetes-validations", Field::Rules),
];

const DOCS: [(&str, &str, Field); 2] = [
    ("Description", "description", Field::Text),
    ("URL", "url", Field::Text),
];

const RULE: [(&str, &str, Field); 6] = [
    ("Rule", "rule", Field::Text),
    ("Message", "message", Field::Text),
    ("MessageExpression", "messageExpression", Field::Text),
    ("Reason", "reason", Field::Plain),
    ("FieldPath", "fieldPath", Field::Text),
    ("OptionalOldSelf", "optionalOldSelf", Field::Plain),
];

const VERSION: [(&str, &str, Field); 9] = [
    ("Name", "name", Field::Text),
    ("Served", "served", Field::Bool),
    ("Storage", "storage", Field::Bool),
    ("Deprecated", "deprecated", Field::Bool),
    ("DeprecationWarning", "deprecationWarning", Field::Plain),
    ("Schema", "schema", Field::Validation),
    ("Subresources", "subresources", Field::Subresources),
    (
        "AdditionalPrinterColumns",
        "additionalPrinterColumns",
        Field::Columns,
    ),
    ("SelectableFields", "selectableFields", Field::Selectable),
];

const VALIDATION: [(&str, &str, Field); 1] =
    [("OpenAPIV3Schema", "openAPIV3Schema", Field::Schema)];

const SUBRESOURCES: [(&str, &str, Field); 2] = [
    ("Status", "status", Field::Status),
    ("Scale", "scale", Field::Scale),
];

const SCALE: [(&str, &str, Field); 3] = [
    ("SpecReplicasPath", "specReplicasPath", Field::Text),
    ("StatusReplicasPath", "statusReplicasPath", Field::Text),
    ("LabelSelectorPath", "labelSelectorPath", Field::Plain),
];

const COLUMN: [(&str, &str, Field); 6] = [
    ("Name", "name", Field::Text),
    ("Type", "type", Field::Text),
    ("Format", "format", Field::Text),
    ("Description", "description", Field::Text),
    ("Priority", "priority", Field::Number),
    ("JSONPath", "jsonPath", Field::Text),
];

const SELECTABLE: [(&str, &str, Field); 1] = [("JSONPath", "jsonPath", Field::Text)];

/// A schema.
pub(super) fn schema(schema: &Value) -> String {
    record(&SCHEMA, |field| schema.get(field))
}

/// One of `x-kubernetes-validations`.
pub(super) fn rule(rule: &Value) -> String {
    record(&RULE, |field| rule.get(field))
}

/// The versions of a definition.
pub(super) fn versions(all: &[Value], inner: &Inner<'_>) -> String {
    brackets(all.iter().map(|each| version(each, inner)))
}

/// A field of a version.
pub(super) fn part(name: &str, value: &Value) -> String {
    let found = VERSION.iter().find(|(_, field, _)| *field == name);
    shown(
        found.map_or(Field::Plain, |(_, _, kind)| *kind),
        Some(value),
    )
}

/// A version, without what all versions have alike.
fn version(version: &Value, inner: &Inner<'_>) -> String {
    let beside = [
        "schema",
        "subresources",
        "additionalPrinterColumns",
        "selectableFields",
    ];
    record(&VERSION, |field| {
        let lies_beside = beside.contains(&field) && inner.is_common(field);
        version.get(field).filter(|_| !lies_beside)
    })
}

fn record<'a>(fields: &[(&str, &str, Field)], said: impl Fn(&str) -> Option<&'a Value>) -> String {
    let fields = fields.iter().map(|(name, field, kind)| {
        let value = said(field).filter(|value| !value.is_null());
        format!("\"{name}\":{}", shown(*kind, value))
    });
    braces(fields)
}

fn shown(kind: Field, value: Option<&Value>) -> String {
    let Some(value) = value else {
        return match kind {
            Field::Text => "\"\"",
            Field::Bool => "false",
            Field::Number => "0",
            _ => "null",
        }
        .to_owned();
    };
    match (kind, value) {
        (Field::Schema, _) => schema(value),
        (Field::Validation, _) => record(&VALIDATION, |field| value.get(field)),
        (Field::Subresources, _) => record(&SUBRESOURCES, |field| value.get(field)),
        (Field::Status, _) => "{}".to_owned(),
        (Field::Scale, _) => record(&SCALE, |field| value.get(field)),
        (Field::Columns, Value::Array(all)) => {
            let one = |column: &Value| record(&COLUMN, |field| column.get(field));
            brackets(all.iter().map(one))
        }
        (Field::Selectable, Value::Array(all)) => {
            let one = |path: &Value| record(&SELECTABLE, |field| path.get(field));
            brackets(all.iter().map(one))
        }
        (Field::Schemas, Value::Array(all)) => brackets(all.iter().map(schema)),
        (Field::Rules, Value::Array(all)) => brackets(all.iter().map(rule)),
        (Field::SchemaMap, Value::Object(all)) => braces(
            all.iter()
                .map(|(name, value)| format!("{}:{}", json(&name.as_str().into()), schema(value))),
        ),
        (Field::Dependencies, Value::Object(all)) => braces(all.iter().map(|(name, value)| {
            let name = json(&name.as_str().into());
            match value {
                Value::Array(_) => {
                    format!("{name}:{{\"Schema\":null,\"Property\":{}}}", json(value))
                }
                value => format!("{name}:{{\"Schema\":{},\"Property\":null}}", schema(value)),
            }
        })),
        (Field::Docs, _) => record(&DOCS, |field| value.get(field)),
        (Field::Items, _) => format!("{{\"Schema\":{},\"JSONSchemas\":null}}", schema(value)),
        (Field::Values, Value::Bool(allows)) => format!("{{\"Allows\":{allows},\"Schema\":null}}"),
        (Field::Values, _) => format!("{{\"Allows\":true,\"Schema\":{}}}", schema(value)),
        (_, value) => json(value),
    }
}

fn braces(parts: impl Iterator<Item = String>) -> String {
    format!("{{{}}}", parts.collect::<Vec<_>>().join(","))
}

fn brackets(parts: impl Iterator<Item = String>) -> String {
    format!("[{}]", parts.collect::<Vec<_>>().join(","))
}
