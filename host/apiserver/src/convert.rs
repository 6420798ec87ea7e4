//! One stored form of an object, several versions on the wire.
//!
//! A custom resource is pruned and gets its defaults when it is read, as its definition wants it by then, and
//! is pruned once more in another version (apiextensions-apiserver `pkg/apiserver/customresource_handler.go`).
//! So an object that was created without its status, as the status subresource wants it, has the default of
//! `status` whenever it is read, and keeps it from the next write on.

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
        let had_status = object.get("status").is_some();
        tidy(&mut object, resource.kept.as_deref(), &resource.storage);
        // What was created without a status is kept without it.
        if let Some(fields) = object.as_object_mut().filter(|_| !had_status) {
            fields.remove("status");
        }
    }
    say_version(&mut object, &resource.stored_as());
    object
}

/// The object as it is read after it was kept: what a dry run answers.
pub fn as_read(object: Value, resource: &Resource) -> Value {
    to_served(to_stored(object, resource), resource)
}

/// Whether an object is kept as its definition wants it: reading it in the version in which it is kept would
/// change nothing.
pub fn is_settled(resource: &Resource, entry: &Entry) -> bool {
    let Some(kept) = &resource.kept else {
        return true;
    };
    entry.revision > kept.since && (entry.has_status || !defaults_status(kept, &resource.storage))
}

/// Whether objects in a version have a default where they have no `status`.
fn defaults_status(kept: &Kept, version: &str) -> bool {
    let schema = kept.schema(version).map(|schema| schema.view());
    let status = schema.and_then(|schema| schema.property("status"));
    status.is_some_and(|status| status.default().is_some())
}

fn version(object: &Value) -> &str {
    let said = object
        .get("apiVersion")
        .and_then(Value::as_str)
        .unwrap_or_default();
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
    use crate::store::{NamespacedName, Store, Write};

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

    fn with_status_defaults() -> Vec<Resource> {
        let version = |name: &str, phase: &str| {
            json!({ "name": name, "served": true, "storage": name == "v1",
                "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": { "type": "object", "properties": {
                    "status": { "type": "object", "default": { "phase": phase },
                        "properties": { "phase": { "type": "string" },
                            "deep": { "type": "string", "default": name } } } } } } })
        };
        let crd = json!({
            "metadata": { "name": "things.a.example.com", "uid": "u", "generation": 1,
                "resourceVersion": "1" },
            "spec": { "group": "a.example.com", "scope": "Namespaced", "names": { "kind": "Thing" },
                "versions": [version("v1", "one"), version("v2", "two")] },
            "status": { "acceptedNames": { "plural": "things", "kind": "Thing" },
                "conditions": [{ "type": "Established", "status": "True" }] },
        });
        crd::resources(&crd, &crd.to_string().into(), None)
    }

    #[test]
    fn an_object_without_its_status_is_kept_so_and_read_with_the_default() {
        let store = Store::default();
        let all = with_status_defaults();
        for resource in &all {
            let object = json!({ "apiVersion": resource.api_version(), "kind": "Thing" });
            let stored = to_stored(object.clone(), resource);
            assert_eq!(stored.get("status"), None, "{}", resource.version);
            let key = NamespacedName::new("", &resource.version);
            let written = store.write(&resource.place(), key, None, Write::Put(stored));
            let entry = written.unwrap();
            assert!(!is_settled(resource, &entry));
            // The default is that of the version in which it is kept.
            let want = json!({ "phase": "one", "deep": "v1" });
            assert_eq!(to_served(entry.value(), resource)["status"], want);
            assert_eq!(as_read(object, resource)["status"], want);
        }
        let written = json!({ "apiVersion": "a.example.com/v1", "kind": "Thing", "status": {} });
        let key = NamespacedName::new("", "c");
        let entry = store.write(&all[0].place(), key, None, Write::Put(written));
        assert!(is_settled(&all[0], &entry.unwrap()), "it has a status");
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
