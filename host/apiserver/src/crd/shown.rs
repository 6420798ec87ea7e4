//! Definitions as the real server shows them in causes: with the names of the fields of its Go types, and
//! with all that nobody has said.

use serde_json::Value;

use crate::status::shown::json;

/// What a field of a Go type holds when nobody has said anything, and what it is made of.
#[derive(Clone, Copy)]
enum SchemaField {
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

const SCHEMA: [(&str, &str, SchemaField); 44] = [
    ("ID", "id", SchemaField::Text),
    ("Schema", "$schema", SchemaField::Text),
    ("Ref", "$ref", SchemaField::Plain),
    ("Description", "description", SchemaField::Text),
    ("Type", "type", SchemaField::Text),
    ("Nullable", "nullable", SchemaField::Bool),
    ("Format", "format", SchemaField::Text),
    ("Title", "title", SchemaField::Text),
    ("Default", "default", SchemaField::Plain),
    ("Maximum", "maximum", SchemaField::Plain),
    ("ExclusiveMaximum", "exclusiveMaximum", SchemaField::Bool),
    ("Minimum", "minimum", SchemaField::Plain),
    ("ExclusiveMinimum", "exclusiveMinimum", SchemaField::Bool),
    ("MaxLength", "maxLength", SchemaField::Plain),
    ("MinLength", "minLength", SchemaField::Plain),
    ("Pattern", "pattern", SchemaField::Text),
    ("MaxItems", "maxItems", SchemaField::Plain),
    ("MinItems", "minItems", SchemaField::Plain),
    ("UniqueItems", "uniqueItems", SchemaField::Bool),
    ("MultipleOf", "multipleOf", SchemaField::Plain),
    ("Enum", "enum", SchemaField::Plain),
    ("MaxProperties", "maxProperties", SchemaField::Plain),
    ("MinProperties", "minProperties", SchemaField::Plain),
    ("Required", "required", SchemaField::Plain),
    ("Items", "items", SchemaField::Items),
    ("AllOf", "allOf", SchemaField::Schemas),
    ("OneOf", "oneOf", SchemaField::Schemas),
    ("AnyOf", "anyOf", SchemaField::Schemas),
    ("Not", "not", SchemaField::Schema),
    ("Properties", "properties", SchemaField::SchemaMap),
    (
        "AdditionalProperties",
        "additionalProperties",
        SchemaField::Values,
    ),
    (
        "PatternProperties",
        "patternProperties",
        SchemaField::SchemaMap,
    ),
    ("Dependencies", "dependencies", SchemaField::Dependencies),
    ("AdditionalItems", "additionalItems", SchemaField::Values),
    ("Definitions", "definitions", SchemaField::SchemaMap),
    ("ExternalDocs", "externalDocs", SchemaField::Docs),
    ("Example", "example", SchemaField::Plain),
    (
        "XPreserveUnknownFields",
        "x-kubernetes-preserve-unknown-fields",
        SchemaField::Plain,
    ),
    (
        "XEmbeddedResource",
        "x-kubernetes-embedded-resource",
        SchemaField::Bool,
    ),
    (
        "XIntOrString",
        "x-kubernetes-int-or-string",
        SchemaField::Bool,
    ),
    (
        "XListMapKeys",
        "x-kubernetes-list-map-keys",
        SchemaField::Plain,
    ),
    ("XListType", "x-kubernetes-list-type", SchemaField::Plain),
    ("XMapType", "x-kubernetes-map-type", SchemaField::Plain),
    (
        "XValidations",
        "x-kubernetes-validations",
        SchemaField::Rules,
    ),
];

const DOCS: [(&str, &str, SchemaField); 2] = [
    ("Description", "description", SchemaField::Text),
    ("URL", "url", SchemaField::Text),
];

const RULE: [(&str, &str, SchemaField); 6] = [
    ("Rule", "rule", SchemaField::Text),
    ("Message", "message", SchemaField::Text),
    ("MessageExpression", "messageExpression", SchemaField::Text),
    ("Reason", "reason", SchemaField::Plain),
    ("FieldPath", "fieldPath", SchemaField::Text),
    ("OptionalOldSelf", "optionalOldSelf", SchemaField::Plain),
];

const VERSION: [(&str, &str, SchemaField); 9] = [
    ("Name", "name", SchemaField::Text),
    ("Served", "served", SchemaField::Bool),
    ("Storage", "storage", SchemaField::Bool),
    ("Deprecated", "deprecated", SchemaField::Bool),
    (
        "DeprecationWarning",
        "deprecationWarning",
        SchemaField::Plain,
    ),
    ("Schema", "schema", SchemaField::Validation),
    ("Subresources", "subresources", SchemaField::Subresources),
    (
        "AdditionalPrinterColumns",
        "additionalPrinterColumns",
        SchemaField::Columns,
    ),
    (
        "SelectableFields",
        "selectableFields",
        SchemaField::Selectable,
    ),
];

const VALIDATION: [(&str, &str, SchemaField); 1] =
    [("OpenAPIV3Schema", "openAPIV3Schema", SchemaField::Schema)];

const SUBRESOURCES: [(&str, &str, SchemaField); 2] = [
    ("Status", "status", SchemaField::Status),
    ("Scale", "scale", SchemaField::Scale),
];

const SCALE: [(&str, &str, SchemaField); 3] = [
    ("SpecReplicasPath", "specReplicasPath", SchemaField::Text),
    (
        "StatusReplicasPath",
        "statusReplicasPath",
        SchemaField::Text,
    ),
    ("LabelSelectorPath", "labelSelectorPath", SchemaField::Plain),
];

const COLUMN: [(&str, &str, SchemaField); 6] = [
    ("Name", "name", SchemaField::Text),
    ("Type", "type", SchemaField::Text),
    ("Format", "format", SchemaField::Text),
    ("Description", "description", SchemaField::Text),
    ("Priority", "priority", SchemaField::Number),
    ("JSONPath", "jsonPath", SchemaField::Text),
];

const SELECTABLE: [(&str, &str, SchemaField); 1] = [("JSONPath", "jsonPath", SchemaField::Text)];

/// A schema.
pub(super) fn schema(schema: &Value) -> String {
    record(&SCHEMA, |field| schema.get(field))
}

/// One of `x-kubernetes-validations`.
pub(super) fn rule(rule: &Value) -> String {
    record(&RULE, |field| rule.get(field))
}

/// The versions of a definition.
///
/// `is_common` says of a field whether all versions have it alike.
pub(super) fn versions(all: &[Value], is_common: impl Fn(&str) -> bool) -> String {
    brackets(all.iter().map(|each| version(each, &is_common)))
}

/// A field of a version.
pub(super) fn part(name: &str, value: &Value) -> String {
    let found = VERSION.iter().find(|(_, field, _)| *field == name);
    format_field(
        found.map_or(SchemaField::Plain, |(_, _, kind)| *kind),
        Some(value),
    )
}

/// A version, without what all versions have alike.
fn version(version: &Value, is_common: &impl Fn(&str) -> bool) -> String {
    let beside = [
        "schema",
        "subresources",
        "additionalPrinterColumns",
        "selectableFields",
    ];
    record(&VERSION, |field| {
        let lies_beside = beside.contains(&field) && is_common(field);
        version.get(field).filter(|_| !lies_beside)
    })
}

fn record<'a>(
    fields: &[(&str, &str, SchemaField)],
    said: impl Fn(&str) -> Option<&'a Value>,
) -> String {
    let fields = fields.iter().map(|(name, field, kind)| {
        let value = said(field).filter(|value| !value.is_null());
        format!("\"{name}\":{}", format_field(*kind, value))
    });
    braces(fields)
}

fn format_field(kind: SchemaField, value: Option<&Value>) -> String {
    let Some(value) = value else {
        return match kind {
            SchemaField::Text => "\"\"",
            SchemaField::Bool => "false",
            SchemaField::Number => "0",
            _ => "null",
        }
        .to_owned();
    };
    match (kind, value) {
        (SchemaField::Schema, _) => schema(value),
        (SchemaField::Validation, _) => record(&VALIDATION, |field| value.get(field)),
        (SchemaField::Subresources, _) => record(&SUBRESOURCES, |field| value.get(field)),
        (SchemaField::Status, _) => "{}".to_owned(),
        (SchemaField::Scale, _) => record(&SCALE, |field| value.get(field)),
        (SchemaField::Columns, Value::Array(all)) => {
            let one = |column: &Value| record(&COLUMN, |field| column.get(field));
            brackets(all.iter().map(one))
        }
        (SchemaField::Selectable, Value::Array(all)) => {
            let one = |path: &Value| record(&SELECTABLE, |field| path.get(field));
            brackets(all.iter().map(one))
        }
        (SchemaField::Schemas, Value::Array(all)) => brackets(all.iter().map(schema)),
        (SchemaField::Rules, Value::Array(all)) => brackets(all.iter().map(rule)),
        (SchemaField::SchemaMap, Value::Object(all)) => braces(
            all.iter()
                .map(|(name, value)| format!("{}:{}", json(&name.as_str().into()), schema(value))),
        ),
        (SchemaField::Dependencies, Value::Object(all)) => {
            braces(all.iter().map(|(name, value)| {
                let name = json(&name.as_str().into());
                match value {
                    Value::Array(_) => {
                        format!("{name}:{{\"Schema\":null,\"Property\":{}}}", json(value))
                    }
                    value => format!("{name}:{{\"Schema\":{},\"Property\":null}}", schema(value)),
                }
            }))
        }
        (SchemaField::Docs, _) => record(&DOCS, |field| value.get(field)),
        (SchemaField::Items, _) => format!("{{\"Schema\":{},\"JSONSchemas\":null}}", schema(value)),
        (SchemaField::Values, Value::Bool(allows)) => {
            format!("{{\"Allows\":{allows},\"Schema\":null}}")
        }
        (SchemaField::Values, _) => format!("{{\"Allows\":true,\"Schema\":{}}}", schema(value)),
        (_, value) => json(value),
    }
}

fn braces(parts: impl Iterator<Item = String>) -> String {
    format!("{{{}}}", parts.collect::<Vec<_>>().join(","))
}

fn brackets(parts: impl Iterator<Item = String>) -> String {
    format!("[{}]", parts.collect::<Vec<_>>().join(","))
}
