use std::sync::Arc;

use super::*;
use crate::builtin;
use crate::crd;

fn definition() -> Value {
    json!({
        "metadata": { "name": "things.a.example.com", "uid": "u", "generation": 1 },
        "spec": { "group": "a.example.com", "scope": "Namespaced", "names": { "kind": "Thing" },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                "selectableFields": [{ "jsonPath": ".spec.port" }],
                "schema": { "openAPIV3Schema": {
                    "type": "object", "description": "A thing.", "required": ["spec"],
                    "properties": { "spec": { "type": "object", "required": ["may", "must"],
                        "properties": {
                            "port": { "x-kubernetes-int-or-string": true },
                            "may": { "type": "string", "nullable": true, "maxLength": 3 },
                            "must": { "type": "integer", "default": 1, "minimum": 1,
                                "anyOf": [{ "minimum": 2 }] },
                            "default": { "type": "string" },
                            "any": { "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                                "x-kubernetes-embedded-resource": true,
                                "properties": { "a": { "type": "string" } } },
                            "inner": { "type": "object", "x-kubernetes-embedded-resource": true },
                            "list": { "type": "array", "items": { "type": "object",
                                "x-kubernetes-preserve-unknown-fields": true } },
                        } } } } },
            }] },
        "status": {
            "acceptedNames": { "plural": "things", "kind": "Thing", "listKind": "ThingList" },
            "conditions": [{ "type": "Established", "status": "True" }] },
    })
}

fn registry(definition: &Value) -> Registry {
    let mut resources = builtin::resources();
    let json = definition.to_string().into();
    let custom = crd::resources(definition, &json, None);
    resources.extend(custom.into_iter().map(Arc::new));
    Registry::new(resources)
}

fn read(definition: &Value) -> Value {
    let crds = |_: &str, _: &str| definition.pointer("/spec/versions/0").cloned();
    let text = document(&registry(definition), &crds, DocumentFormat::Json);
    serde_json::from_slice(&text).unwrap()
}

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(words) => {
            if let Some(Value::String(reference)) = words.get("$ref") {
                found.push(reference.clone());
            }
            words.values().for_each(|value| references(value, found));
        }
        Value::Array(parts) => parts.iter().for_each(|part| references(part, found)),
        _ => {}
    }
}

#[test]
fn the_document_refers_only_to_what_it_has() {
    let document = read(&definition());
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > 1000);
    for reference in found {
        let pointer = reference.trim_start_matches('#');
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    let definitions = document["definitions"].as_object().unwrap();
    for word in ["allOf", "oneOf", "anyOf", "nullable"] {
        let has = |schema: &Value| schema.get(word).is_some();
        let mut all = definitions.iter();
        assert!(!all.any(|(_, schema)| has(schema)), "{word}");
    }
}

/// What `api/openapi-spec/swagger.json` of Kubernetes 1.36 has.
#[test]
fn built_in_types_are_those_of_the_real_server() {
    let document = read(&definition());
    let of = |name: &str| &document["definitions"][name];
    let either = of("io.k8s.apimachinery.pkg.util.intstr.IntOrString");
    assert_eq!(
        (&either["type"], &either["format"]),
        (&json!("string"), &json!("int-or-string"))
    );
    assert_eq!(either.get("oneOf"), None);
    let pod = of("io.k8s.api.core.v1.Pod");
    let meta = &pod["properties"]["metadata"];
    assert_eq!(
        meta["$ref"],
        "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    );
    assert!(
        meta["description"]
            .as_str()
            .unwrap()
            .starts_with("Standard object's metadata.")
    );
    assert_eq!(meta.get("default"), None);
    let kind = json!([{ "group": "", "kind": "Pod", "version": "v1" }]);
    assert_eq!(pod["x-kubernetes-group-version-kind"], kind);
    let port = &of("io.k8s.api.core.v1.ContainerPort")["properties"]["protocol"];
    assert_eq!(port.get("default"), None);
}

#[test]
fn built_in_paths_are_those_of_the_real_server() {
    let document = read(&definition());
    let item = &document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments"];
    let shared = |name: &str| json!({ "$ref": format!("#/parameters/{name}") });
    assert_eq!(item["parameters"][1], shared("pretty"));
    assert_eq!(item["parameters"][0]["name"], "namespace");
    let post = &item["post"];
    assert_eq!(post["operationId"], "createAppsV1NamespacedDeployment");
    assert_eq!(post["description"], "create a Deployment");
    assert_eq!(post["tags"], json!(["apps_v1"]));
    assert_eq!(post["consumes"], json!(["*/*"]));
    let names = ["dryRun", "fieldManager", "fieldValidation"].map(shared);
    assert_eq!(post["parameters"].as_array().unwrap()[1..], names);
    let body = json!({ "in": "body", "name": "body", "required": true,
        "schema": { "$ref": "#/definitions/io.k8s.api.apps.v1.Deployment" } });
    assert_eq!(post["parameters"][0], body);
    assert_eq!(post["responses"]["202"]["description"], "Accepted");
    let list = &item["get"]["responses"]["200"]["schema"];
    assert_eq!(
        *list,
        json!({ "$ref": "#/definitions/io.k8s.api.apps.v1.DeploymentList" })
    );
    let one = &document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"];
    assert_eq!(one["get"].get("parameters"), None, "no empty list");
    let patch = &one["patch"];
    assert_eq!(patch["parameters"][2], shared("fieldManager-of-patches"));
    assert_eq!(document["parameters"]["pretty"]["in"], "query");
    assert_eq!(document["parameters"]["limit"]["type"], "integer");
}

#[test]
fn types_of_definitions_say_what_kubectl_can_read() {
    let document = read(&definition());
    let thing = &document["definitions"]["com.example.a.v1.Thing"];
    assert_eq!(thing["description"], "A thing.");
    let selectable = json!([{ "fieldPath": "spec.port" }]);
    assert_eq!(thing["x-kubernetes-selectable-fields"], selectable);
    let list = &document["definitions"]["com.example.a.v1.ThingList"];
    assert_eq!(list["x-kubernetes-selectable-fields"], selectable);
    let spec = &thing["properties"]["spec"];
    assert_eq!(
        spec["required"],
        json!(["must"]),
        "what may be null need not be there"
    );
    let fields = &spec["properties"];
    assert_eq!(
        fields["port"],
        json!({ "x-kubernetes-int-or-string": true })
    );
    assert_eq!(fields["may"], json!({ "maxLength": 3 }));
    assert_eq!(fields["must"], json!({ "type": "integer", "minimum": 1 }));
    assert_eq!(
        fields["default"],
        json!({ "type": "string" }),
        "a field of that name"
    );
    assert_eq!(
        fields["any"],
        json!({ "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-embedded-resource": true })
    );
    let inner = &fields["inner"];
    assert_eq!(inner["required"], json!(["kind", "apiVersion"]));
    let meta = "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    assert_eq!(inner["properties"]["metadata"]["$ref"], meta);
    let item = json!({ "x-kubernetes-preserve-unknown-fields": true });
    assert_eq!(fields["list"], json!({ "type": "array", "items": item }));
    let list = &document["definitions"]["com.example.a.v1.ThingList"]["properties"]["items"];
    assert_eq!(
        list["items"]["$ref"],
        "#/definitions/com.example.a.v1.Thing"
    );
    let status = "/apis/a.example.com/v1/namespaces/{namespace}/things/{name}/status";
    let get = &document["paths"][status]["get"];
    assert_eq!(get["operationId"], "readAExampleComV1NamespacedThingStatus");
    assert_eq!(get["description"], "read status of the specified Thing");
    assert_eq!(
        get["parameters"],
        json!([{ "$ref": "#/parameters/resourceVersion" }])
    );
}

#[test]
fn a_definition_that_takes_anything_has_no_fields() {
    let mut definition = definition();
    let schema = "/spec/versions/0/schema/openAPIV3Schema";
    let schema = definition.pointer_mut(schema).unwrap();
    schema["x-kubernetes-preserve-unknown-fields"] = true.into();
    let document = read(&definition);
    let thing = &document["definitions"]["com.example.a.v1.Thing"];
    let kind = json!([{ "group": "a.example.com", "kind": "Thing", "version": "v1" }]);
    let want = json!({
        "type": "object",
        "x-kubernetes-group-version-kind": kind,
        "x-kubernetes-selectable-fields": [{ "fieldPath": "spec.port" }],
    });
    assert_eq!(*thing, want);
}

#[test]
fn the_etag_changes_with_the_definitions() {
    let mut other = definition();
    other["metadata"]["generation"] = 2.into();
    let (one, two) = (etag(&registry(&definition())), etag(&registry(&other)));
    assert_ne!(one, two);
    assert_eq!(one, etag(&registry(&definition())));
    assert_ne!(one, etag(&Registry::new(builtin::resources())));
}
