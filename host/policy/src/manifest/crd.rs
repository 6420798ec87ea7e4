//! Makes the CustomResourceDefinition of Plugin from the types that read a document, and compares it with the file that
//! is installed.

use std::fs;
use std::path::{Path, PathBuf};

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::spec::Spec;
use super::{API_VERSION, KIND};

/// The first lines of the file.
const HEAD: &str = "# Made from host/policy/src/manifest by `make crds`. Do not edit.\n";

/// An object with any fields.
pub(super) fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

/// What the crate windlass-egress reads.
pub(super) fn http(generator: &mut SchemaGenerator) -> Schema {
    let words = <Vec<String>>::json_schema(generator);
    json_schema!({
        "type": "object",
        "properties": {
            "allow": {
                "description": "The origins that may be asked.",
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["origin"],
                    "properties": {
                        "origin": { "description": "Scheme, host and port, such as https://api.example.com.", "type": "string" },
                        "methods": words,
                        "paths": words,
                    },
                    "x-kubernetes-preserve-unknown-fields": true,
                },
            },
            "acknowledge": words,
        },
    })
}

/// Which fields of a source go together.
pub(super) fn source_rules() -> Value {
    json!([
        {
            "rule": "has(self.oci) != has(self.configMap)",
            "message": "must name exactly one of oci and configMap",
        },
        {
            "rule": "has(self.oci) || !(has(self.interval) || has(self.pullSecret))",
            "message": "interval and pullSecret are only for oci",
        },
    ])
}

/// Which fields of an entry of `configFrom` go together.
pub(super) fn config_source_rules() -> Value {
    json!([{
        "rule": "has(self.configMap) != has(self.secret)",
        "message": "must name exactly one of configMap and secret",
    }])
}

/// A schema as Kubernetes takes it: structural, without what only JSON Schema knows.
fn structural(value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(structural),
        Value::Object(fields) => {
            // The values of a map have a schema.
            if !fields
                .get("additionalProperties")
                .is_some_and(Value::is_object)
            {
                fields.remove("additionalProperties");
            }
            fields.remove("format");
            fields.remove("title");
            // What is absent and what is null are the same in a document; the API server drops a null.
            fields.remove("nullable");
            // An enum whose values have descriptions.
            if let Some(Value::Array(one_of)) = fields.remove("oneOf") {
                let values =
                    one_of
                        .iter()
                        .flat_map(|one| match (one.get("enum"), one.get("const")) {
                            (Some(Value::Array(values)), _) => values.clone(),
                            (_, Some(value)) => vec![value.clone()],
                            _ => panic!("{one}"),
                        });
                let values: Vec<Value> = values.collect();
                fields.insert("type".into(), "string".into());
                fields.insert("enum".into(), values.into());
            }
            assert!(!fields.contains_key("anyOf"), "{fields:?}");
            if let Some(Value::String(text)) = fields.get_mut("description") {
                *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            }
            fields.values_mut().for_each(structural);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn status() -> Value {
    let text = |about: &str| json!({ "type": "string", "description": about });
    let number = json!({ "type": "integer", "format": "int64" });
    json!({
        "type": "object",
        "description": "How far the plugin is. Only the host writes it.",
        "properties": {
            "observedGeneration": number,
            "version": text("What the version that runs says its version is."),
            "digest": text("The digest of the component that runs."),
            "shortDigest": text("The beginning of that digest."),
            "lastGoodDigest": text("The digest of the last component that passed all checks and its trial."),
            "smokeTest": {
                "type": "object",
                "description": "What the newest version would do differently from the one before it, about some objects.",
                "properties": {
                    "digest": text("The digest of the component that was tested."),
                    "objects": number,
                    "differing": number,
                    "leftOut": number,
                    "differences": { "type": "array", "items": { "type": "string" } },
                },
            },
            "kind": text("The kinds that the plugin reconciles."),
            "primaries": {
                "description": "The kinds that the plugin reconciles, with their groups.",
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["apiVersion", "kind"],
                    "properties": { "apiVersion": { "type": "string" }, "kind": { "type": "string" } },
                },
            },
            "holder": text("The host that makes the plugin's passes."),
            "conditions": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
                "items": {
                    "type": "object",
                    "required": ["type", "status", "lastTransitionTime", "reason", "message"],
                    "properties": {
                        "type": { "type": "string", "maxLength": 316 },
                        "status": { "type": "string", "enum": ["True", "False", "Unknown"] },
                        "observedGeneration": number,
                        "lastTransitionTime": { "type": "string", "format": "date-time" },
                        "reason": { "type": "string", "maxLength": 1024 },
                        "message": { "type": "string", "maxLength": 32768 },
                    },
                },
            },
        },
    })
}

fn definition() -> Value {
    let settings = SchemaSettings::openapi3().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut spec = settings
        .into_generator()
        .into_root_schema_for::<Spec>()
        .to_value();
    structural(&mut spec);
    let (group, version) = API_VERSION.split_once('/').unwrap();
    let ready = |field: &str| format!(".status.conditions[?(@.type==\"Ready\")].{field}");
    let column = |name: &str, path: String, priority: u8| json!({ "name": name, "type": "string", "jsonPath": path, "priority": priority });
    let status_of = |field: &str| format!(".status.{field}");
    let name = "self.metadata.name.size() <= 63 && !self.metadata.name.contains('.')";
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("plugins.{group}"),
            "labels": { "app.kubernetes.io/name": "windlass" },
        },
        "spec": {
            "group": group,
            "scope": "Cluster",
            "names": {
                "kind": KIND, "listKind": "PluginList", "plural": "plugins", "singular": "plugin",
                "shortNames": ["wp"], "categories": ["windlass"],
            },
            "versions": [{
                "name": version,
                "served": true,
                "storage": true,
                "subresources": { "status": {} },
                "additionalPrinterColumns": [
                    column("Kind", status_of("kind"), 0),
                    column("Version", status_of("version"), 0),
                    column("Digest", status_of("shortDigest"), 0),
                    column("Ready", ready("status"), 0),
                    column("Status", ready("reason"), 0),
                    { "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp" },
                    column("Source", ".spec.source.oci".into(), 1),
                    column("Last-Good", status_of("lastGoodDigest"), 1),
                    column("Holder", status_of("holder"), 1),
                ],
                "schema": { "openAPIV3Schema": {
                    "type": "object",
                    "description": "A plugin of Windlass: a component that reconciles objects, and what it may touch.",
                    "required": ["spec"],
                    "properties": {
                        "apiVersion": { "type": "string" },
                        "kind": { "type": "string" },
                        "metadata": { "type": "object" },
                        "spec": spec,
                        "status": status(),
                    },
                    "x-kubernetes-validations": [{
                        "rule": name,
                        "message": "metadata.name must be a DNS label of at most 63 characters",
                    }],
                } },
            }],
        },
    })
}

fn file() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap();
    root.join("deploy/crds/plugins.windlass.dev.yaml")
}

fn text() -> String {
    let yaml = serde_saphyr::to_string(&definition()).unwrap();
    format!("{HEAD}{yaml}")
}

#[test]
fn the_definition_is_made_from_the_types() {
    let held = fs::read_to_string(file()).unwrap_or_default();
    assert!(
        held == text(),
        "{} is old: run `make crds`",
        file().display()
    );
}

#[test]
fn every_field_of_a_document_is_in_the_definition() {
    let definition = definition();
    let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let spec: &Map<String, Value> = schema["properties"]["spec"]["properties"]
        .as_object()
        .unwrap();
    for field in super::page::fields::<Spec>() {
        assert!(spec.contains_key(&field), "{field}");
    }
    assert_eq!(spec["limits"]["properties"]["apiQPS"]["type"], "integer");
    assert!(
        !spec["source"]["properties"]
            .as_object()
            .unwrap()
            .contains_key("file")
    );
    assert_eq!(spec["crds"]["enum"], json!(["Install", "Check", "Ignore"]));
}

#[test]
#[ignore = "writes the definition: `make crds`"]
fn write_the_definition() {
    fs::create_dir_all(file().parent().unwrap()).unwrap();
    fs::write(file(), text()).unwrap();
}
