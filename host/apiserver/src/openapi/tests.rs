use super::*;
use crate::builtin;

fn none(_: &str, _: &str) -> Option<Value> {
    None
}

fn read(group: &str, version: &str) -> Value {
    let registry = Registry::new(builtin::resources());
    let text = document(&registry, group, version, &none).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn documents_have_what_kubectl_looks_for() {
    let apps = read("apps", "v1");
    let path = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}";
    let patch = &apps["paths"][path]["patch"];
    let kind = json!({ "group": "apps", "version": "v1", "kind": "Deployment" });
    assert_eq!(patch["x-kubernetes-group-version-kind"], kind);
    assert_eq!(patch["operationId"], "patchAppsV1NamespacedDeployment");
    let parameters = patch["parameters"].as_array().unwrap();
    assert!(
        parameters
            .iter()
            .any(|parameter| parameter["name"] == "fieldValidation")
    );
    let schemas = &apps["components"]["schemas"];
    let replicas = &schemas["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]["replicas"];
    let text = replicas["description"].as_str().unwrap();
    assert!(text.starts_with("Number of desired pods."), "{text}");
}

#[test]
fn no_document_refers_to_a_type_that_it_lacks() {
    fn check(value: &Value, schemas: &Value) {
        match value {
            Value::Object(words) => {
                if let Some(Value::String(name)) = words.get("$ref") {
                    let name = name.trim_start_matches(schemas::REFERENCE);
                    assert!(schemas.get(name).is_some(), "{name}");
                }
                words.values().for_each(|value| check(value, schemas));
            }
            Value::Array(parts) => parts.iter().for_each(|part| check(part, schemas)),
            _ => {}
        }
    }
    let registry = Registry::new(builtin::resources());
    for group in groups(&registry) {
        for version in group.versions {
            let document = read(group.name, version);
            check(&document, &document["components"]["schemas"]);
        }
    }
}

#[test]
fn schemas_of_crds_stand_as_written_with_what_every_kind_has() {
    let written = json!({
        "name": "v1",
        "schema": { "openAPIV3Schema": {
            "type": "object",
            "description": "A widget.",
            "properties": { "spec": { "type": "object", "properties": {
                "port": { "x-kubernetes-int-or-string": true },
                "inner": { "type": "object", "x-kubernetes-embedded-resource": true },
            } } },
        } },
        "selectableFields": [{ "jsonPath": ".spec.port" }],
    });
    let mut types = schemas::SchemaTypes::default();
    let resources = builtin::resources();
    let mut resources = resources.iter();
    let jobs = resources.find(|found| found.plural == "jobs").unwrap();
    let names = custom::add(jobs, Some(&written), &mut types);
    assert_eq!(names.object, "batch.v1.Job");
    let schemas: Value = serde_json::from_str(&types.text()).unwrap();
    let job = &schemas["batch.v1.Job"];
    assert_eq!(job["description"], "A widget.");
    assert_eq!(
        job["x-kubernetes-selectable-fields"],
        json!([{ "fieldPath": "spec.port" }])
    );
    let reference = format!("{}{}", schemas::REFERENCE, schemas::meta("ObjectMeta"));
    assert_eq!(
        job["properties"]["metadata"]["allOf"][0]["$ref"],
        reference.as_str()
    );
    assert!(schemas.get(schemas::meta("ObjectMeta")).is_some());
    let spec = &job["properties"]["spec"]["properties"];
    let either = json!([{ "type": "integer" }, { "type": "string" }]);
    assert_eq!(spec["port"]["anyOf"], either);
    assert_eq!(spec["inner"]["required"], json!(["kind", "apiVersion"]));
    assert_eq!(schemas["batch.v1.JobList"]["required"], json!(["items"]));
}

#[test]
fn the_urls_of_documents_change_with_the_crds() {
    let registry = Registry::new(builtin::resources());
    let index = index(&registry);
    let url = index["paths"]["apis/apps/v1"]["serverRelativeURL"]
        .as_str()
        .unwrap();
    let hash = url.strip_prefix("/openapi/v3/apis/apps/v1?hash=").unwrap();
    assert_eq!(hash.len(), 128);
    assert_ne!(hash, version_hash(&registry, "batch", "v1"));
    assert!(index["paths"].get("api/v1").is_some());
}
