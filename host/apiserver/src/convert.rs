//! One stored form of an object, several versions on the wire.
//!
//! A custom resource is pruned and gets its defaults when it is read, as its definition wants it by then, and
//! is pruned once more in another version (apiextensions-apiserver `pkg/apiserver/customresource_handler.go`).

use serde_json::Value;

use crate::builtin;
use crate::registry::{Kept, Origin, Resource};
use crate::schema::{Schema, default, prune};
use crate::store::Entry;

/// The object in the version of `resource`.
pub fn to_served(mut object: Value, resource: &Resource) -> Value {
    if resource.origin == Origin::BuiltIn {
        builtin::convert(&mut object, &resource.api_version());
        return object;
    }
    let version = version(&object).to_owned();
    tidy(&mut object, resource.kept.as_deref(), &version);
    if version != resource.version {
        pruned(&mut object, resource.schema());
    }
    say_version(&mut object, &resource.api_version());
    if let Some(object) = object.as_object_mut() {
        object.insert("kind".to_owned(), resource.kind.as_str().into());
    }
    object
}

/// The object as it is kept.
pub fn to_stored(mut object: Value, resource: &Resource) -> Value {
    if resource.origin == Origin::BuiltIn {
        builtin::convert(&mut object, &resource.stored_as());
        return object;
    }
    if resource.version != resource.storage {
        tidy(&mut object, resource.kept.as_deref(), &resource.storage);
    }
    say_version(&mut object, &resource.stored_as());
    object
}

/// Whether the definition of the object's kind has changed since the object was written.
pub fn is_stale(resource: &Resource, entry: &Entry) -> bool {
    let kept = resource.kept.as_ref();
    kept.is_some_and(|kept| entry.revision <= kept.since)
}

fn version(object: &Value) -> &str {
    let said = object.get("apiVersion").and_then(Value::as_str);
    let said = said.unwrap_or_default();
    said.rsplit('/').next().unwrap_or(said)
}

fn say_version(object: &mut Value, api_version: &str) {
    if let Some(object) = object.as_object_mut() {
        object.insert("apiVersion".to_owned(), api_version.into());
    }
}

fn tidy(object: &mut Value, kept: Option<&Kept>, version: &str) {
    let schema = kept.and_then(|kept| kept.schema(version));
    pruned(object, schema);
    if let Some(schema) = schema {
        default::default(object, schema.view());
    }
}

fn pruned(object: &mut Value, schema: Option<&Schema>) {
    if let Some(schema) = schema {
        prune::prune(object, schema.view(), true);
        default::drop_nulls(object, schema.view());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::crd;

    fn resources(generation: i64, before: Option<&Arc<Kept>>) -> Vec<Resource> {
        let version = |name: &str, storage: bool, fields: &Value| {
            json!({ "name": name, "served": true, "storage": storage,
                "deprecated": name == "v1beta1",
                "schema": { "openAPIV3Schema": { "type": "object", "properties": {
                    "spec": { "type": "object", "properties": fields } } } } })
        };
        let crd = json!({
            "metadata": { "name": "things.a.example.com", "uid": "u", "generation": generation,
                "resourceVersion": (generation * 10).to_string() },
            "spec": { "group": "a.example.com", "scope": "Namespaced", "names": { "kind": "Thing" },
                "versions": [
                    version("v1beta1", true, &json!({ "old": { "type": "string" },
                        "both": { "type": "string", "default": "d" } })),
                    version("v1", false, &json!({ "both": { "type": "string" }, "new": {} })),
                    version("v2", false, &json!({})),
                ] },
            "status": { "acceptedNames": { "plural": "things", "kind": "Thing" },
                "conditions": [{ "type": "Established", "status": "True" }] },
        });
        crd::resources(&crd, &crd.to_string().into(), before)
    }

    #[test]
    fn an_object_has_the_fields_that_its_version_and_the_kept_one_know() {
        let [beta, v1, _] = &resources(1, None)[..] else {
            panic!("three versions")
        };
        let object = json!({ "apiVersion": "a.example.com/v1", "kind": "Thing",
            "spec": { "new": "x", "both": "y" } });
        let stored = to_stored(object, v1);
        assert_eq!(stored["apiVersion"], "a.example.com/v1beta1");
        assert_eq!(stored["spec"], json!({ "both": "y" }));
        let kept = json!({ "apiVersion": "a.example.com/v1beta1", "kind": "Thing",
            "spec": { "old": "x", "gone": 1 } });
        assert_eq!(
            to_served(kept.clone(), beta)["spec"],
            json!({ "old": "x", "both": "d" })
        );
        assert_eq!(to_served(kept, v1)["spec"], json!({ "both": "d" }));
    }

    #[test]
    fn only_another_generation_of_a_definition_makes_objects_stale() {
        let first = resources(1, None);
        let before = first[0].kept.as_ref();
        let since = |resources: &[Resource]| resources[0].kept.as_ref().unwrap().since;
        assert_eq!(since(&resources(1, before)), 10);
        assert_eq!(since(&resources(2, before)), 20);
    }

    #[test]
    fn a_deprecated_version_names_the_best_one_that_is_not() {
        let all = resources(1, None);
        assert_eq!(
            all[0].deprecated.as_deref(),
            Some("a.example.com/v1beta1 Thing is deprecated; use a.example.com/v2 Thing")
        );
        assert_eq!(all[1].deprecated, None);
    }
}
