//! Types of CRDs: their schemas as written, with what the server adds to every kind.

use serde_json::{Map, Value, json};

use super::schemas::{REFERENCE, SchemaTypes, TypeNames, meta};
use crate::mutants::mutant;
use crate::registry::Resource;

const SCALE: &str = "io.k8s.api.autoscaling.v1.Scale";
const CONVENTIONS: &str =
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";

/// Takes out of a schema what a version of OpenAPI has no words for; says whether its fields are shown.
pub(super) type Adjust = fn(&mut Map<String, Value>) -> bool;

/// Adds the types of a resource whose CRD has this version.
pub(super) fn add(
    resource: &Resource,
    version: Option<&Value>,
    types: &mut SchemaTypes,
) -> TypeNames {
    let names = names(resource);
    types.add(names.object.clone(), object(resource, version, None));
    types.add(names.list.clone(), list(resource, version, &names.object));
    names
}

/// The types for v2 of a resource whose CRD has this version.
pub(super) fn types(
    resource: &Resource,
    version: Option<&Value>,
    adjust: Adjust,
) -> (TypeNames, [(String, Value); 2]) {
    let names = names(resource);
    let object = (
        names.object.clone(),
        object(resource, version, Some(adjust)),
    );
    let list = (names.list.clone(), list(resource, version, &names.object));
    (names, [object, list])
}

fn names(resource: &Resource) -> TypeNames {
    let mut domain: Vec<&str> = resource.group.split('.').collect();
    domain.reverse();
    let prefix = format!("{}.{}", domain.join("."), resource.version);
    TypeNames {
        object: format!("{prefix}.{}", resource.kind),
        list: format!("{prefix}.{}", resource.list_kind),
        subresources: resource
            .subresources
            .iter()
            .map(|sub| {
                let own = format!("{prefix}.{}", resource.kind);
                let name = if sub.kind == "Scale" {
                    SCALE.to_owned()
                } else {
                    own
                };
                (sub.name.clone(), name)
            })
            .collect(),
    }
}

fn group_version_kind(resource: &Resource, kind: &str) -> Value {
    json!([{ "group": resource.group, "kind": kind, "version": resource.version }])
}

fn object(resource: &Resource, version: Option<&Value>, adjust: Option<Adjust>) -> Value {
    let written = version
        .and_then(|version| version.pointer("/schema/openAPIV3Schema"))
        .and_then(Value::as_object)
        .cloned();
    let adjusted = written.and_then(|mut schema| {
        let shows = adjust.is_none_or(|adjust| adjust(&mut schema));
        shows.then_some(schema)
    });
    let is_shown = adjusted.is_some();
    let anything = || [("type".to_owned(), "object".into())].into_iter().collect();
    let mut schema = adjusted.unwrap_or_else(anything);
    add_to_embedded(&mut schema, adjust.is_some(), 0);
    if is_shown {
        let meta = type_meta().into_iter();
        add_fields(
            &mut schema,
            meta.chain([("metadata".to_owned(), object_meta())]),
        );
    }
    let kind = group_version_kind(resource, &resource.kind);
    schema.insert("x-kubernetes-group-version-kind".to_owned(), kind);
    mutant!(
        TypesDoNotSayTheirKind,
        schema.remove("x-kubernetes-group-version-kind")
    );
    add_selectable(&mut schema, version);
    Value::Object(schema)
}

/// Says which fields a version lets clients select objects by; the type of lists says so too
/// (apiextensions-apiserver `pkg/controller/openapi/builder/builder.go`).
fn add_selectable(schema: &mut Map<String, Value>, version: Option<&Value>) {
    let fields = version.and_then(|version| version.get("selectableFields"));
    let Some(fields) = fields.and_then(Value::as_array) else {
        return;
    };
    let fields: Vec<Value> = fields
        .iter()
        .filter_map(|field| {
            let path = field.get("jsonPath")?.as_str()?;
            Some(json!({ "fieldPath": path.trim_start_matches('.') }))
        })
        .collect();
    schema.insert("x-kubernetes-selectable-fields".to_owned(), fields.into());
}

fn add_fields(schema: &mut Map<String, Value>, fields: impl Iterator<Item = (String, Value)>) {
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Value::Object(properties) = properties {
        properties.extend(fields);
    }
}

/// Resources inside a resource have what every kind has; not in v2 where anything goes.
fn add_to_embedded(schema: &mut Map<String, Value>, is_v2: bool, depth: usize) {
    if depth > 100 {
        return;
    }
    if let Some(Value::Object(fields)) = schema.get_mut("properties") {
        for field in fields.values_mut() {
            if let Value::Object(field) = field {
                add_to_embedded(field, is_v2, depth + 1);
            }
        }
    }
    for word in ["items", "additionalProperties"] {
        if let Some(Value::Object(below)) = schema.get_mut(word) {
            add_to_embedded(below, is_v2, depth + 1);
        }
    }
    let says =
        |schema: &Map<String, Value>, word: &str| schema.get(word) == Some(&Value::Bool(true));
    if says(schema, "x-kubernetes-int-or-string") && !is_v2 {
        let either = json!([{ "type": "integer" }, { "type": "string" }]);
        if !schema.contains_key("allOf") {
            schema.entry("anyOf").or_insert(either);
        }
    }
    let takes_any = is_v2 && says(schema, "x-kubernetes-preserve-unknown-fields");
    if !says(schema, "x-kubernetes-embedded-resource") || takes_any {
        return;
    }
    let api_version = format!(
        "apiVersion defines the versioned schema of this representation of an object. More info: \
         {CONVENTIONS}#resources"
    );
    let kind = format!(
        "kind is a string value representing the type of this object. In CamelCase. More info: \
         {CONVENTIONS}#types-kinds"
    );
    let fields = [
        (
            "apiVersion",
            json!({ "type": "string", "description": api_version }),
        ),
        ("kind", json!({ "type": "string", "description": kind })),
        ("metadata", object_meta()),
    ];
    let fields = fields.map(|(name, field)| (name.to_owned(), field));
    add_fields(schema, fields.into_iter());
    let required = schema.entry("required").or_insert_with(|| json!([]));
    if let Value::Array(required) = required {
        for name in ["kind", "apiVersion"] {
            if !required.iter().any(|known| known == name) {
                required.push(name.into());
            }
        }
    }
}

fn object_meta() -> Value {
    json!({
        "allOf": [{ "$ref": format!("{REFERENCE}{}", meta("ObjectMeta")) }],
        "description": format!("Standard object's metadata. More info: {CONVENTIONS}#metadata"),
    })
}

fn type_meta() -> [(String, Value); 2] {
    let api_version = format!(
        "APIVersion defines the versioned schema of this representation of an object. Servers should \
         convert recognized schemas to the latest internal value, and may reject unrecognized values. \
         More info: {CONVENTIONS}#resources"
    );
    let kind = format!(
        "Kind is a string value representing the REST resource this object represents. Servers may \
         infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. \
         More info: {CONVENTIONS}#types-kinds"
    );
    [("apiVersion", api_version), ("kind", kind)].map(|(name, text)| {
        (
            name.to_owned(),
            json!({ "type": "string", "description": text }),
        )
    })
}

fn list(resource: &Resource, version: Option<&Value>, object: &str) -> Value {
    let mut properties: Map<String, Value> = type_meta().into_iter().collect();
    properties.insert(
        "metadata".to_owned(),
        json!({
            "allOf": [{ "$ref": format!("{REFERENCE}{}", meta("ListMeta")) }],
            "description":
                format!("Standard list metadata. More info: {CONVENTIONS}#types-kinds"),
        }),
    );
    properties.insert(
        "items".to_owned(),
        json!({
            "description": format!("List of {}. More info: {CONVENTIONS}", resource.plural),
            "items": { "$ref": format!("{REFERENCE}{object}") },
            "type": "array",
        }),
    );
    let mut list = json!({
        "description": format!("{} is a list of {}", resource.list_kind, resource.kind),
        "properties": properties,
        "required": ["items"],
        "type": "object",
        "x-kubernetes-group-version-kind": group_version_kind(resource, &resource.list_kind),
    });
    if let Value::Object(list) = &mut list {
        add_selectable(list, version);
    }
    list
}
