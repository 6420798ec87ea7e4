//! What every object has, whatever its kind: the types of `metadata`, and the fields that nobody owns.

use std::sync::{Arc, LazyLock};

use serde_json::json;

use super::set::Set;
use crate::schema::{Schema, SchemaNode, Types, View};

const METADATA: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

static RESOURCE: LazyLock<Schema> = LazyLock::new(|| {
    let text = json!({ "type": "string" });
    let number = json!({ "type": "integer" });
    let time = json!({ "type": "string", "format": "date-time" });
    let texts = json!({ "type": "object", "additionalProperties": text });
    let must = json!({ "type": "string", "default": "" });
    let owner = json!({
        "type": "object",
        "x-kubernetes-map-type": "atomic",
        "properties": {
            "apiVersion": must, "kind": must, "name": must, "uid": must,
            "controller": { "type": "boolean" }, "blockOwnerDeletion": { "type": "boolean" },
        },
    });
    let entry = json!({
        "type": "object",
        "properties": {
            "manager": text, "operation": text, "apiVersion": text, "time": time,
            "fieldsType": text, "fieldsV1": { "type": "object" }, "subresource": text,
        },
    });
    let metadata = json!({
        "type": "object",
        "properties": {
            "name": text, "generateName": text, "namespace": text, "selfLink": text, "uid": text,
            "resourceVersion": text, "generation": number, "creationTimestamp": time,
            "deletionTimestamp": time, "deletionGracePeriodSeconds": number,
            "labels": texts, "annotations": texts,
            "ownerReferences": {
                "type": "array", "items": owner,
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
            },
            "finalizers": { "type": "array", "items": text, "x-kubernetes-list-type": "set" },
            "managedFields": { "type": "array", "items": entry, "x-kubernetes-list-type": "atomic" },
        },
    });
    let resource = json!({
        "type": "object",
        "properties": { "apiVersion": text, "kind": text, "metadata": { "$ref": METADATA } },
    });
    let read = |schema| SchemaNode::parse(schema).unwrap_or_default();
    // A type with a name, so that nothing around it changes what it is.
    let types = Types::new([(METADATA.to_owned(), read(&metadata))].into());
    Schema::new(read(&resource), Arc::new(types))
});

static NOBODYS: LazyLock<Set> = LazyLock::new(|| {
    Set::of_fields([
        &["apiVersion"][..],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ])
});

/// An object of any kind: `apiVersion`, `kind` and `metadata`.
pub(super) fn resource() -> View<'static> {
    RESOURCE.view()
}

/// Fields that no one ever owns.
pub(super) fn nobodys() -> &'static Set {
    &NOBODYS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Kind, ListKind};

    #[test]
    fn metadata_merges_as_the_real_ones() {
        let metadata = resource().property("metadata").unwrap();
        let field = |name: &str| metadata.property(name).unwrap();
        assert_eq!(*field("finalizers").list(), ListKind::Set);
        let owners = field("ownerReferences");
        assert_eq!(*owners.list(), ListKind::Map(vec!["uid".to_owned()]));
        assert!(owners.items().unwrap().is_atomic_map());
        assert_eq!(*field("managedFields").list(), ListKind::Atomic);
        let label = field("labels").field("a").unwrap();
        assert_eq!(label.kind(), Some(Kind::String));
    }
}
