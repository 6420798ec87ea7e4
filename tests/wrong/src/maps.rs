//! ConfigMaps, which stand for everything that an operator makes.

use serde_json::Value;
use windlass_sdk::{ChildrenQuery, Cluster, Failure, Manifest, Object, ObjectRef};

/// A text in an object; empty if there is none.
pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    let found = object.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_default()
}

/// The name of a ConfigMap beside its owner.
pub(crate) fn config_map<S, T>(owner: &Object<S, T>, name: impl Into<String>) -> ObjectRef {
    ObjectRef {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        name: name.into(),
        ..owner.reference()
    }
}

/// The ConfigMaps of an owner with a label, by name.
pub(crate) fn children<S, T>(
    owner: &Object<S, T>,
    cluster: &dyn Cluster,
    is: &str,
) -> Result<Vec<Value>, Failure> {
    let namespace = owner.metadata.namespace.as_deref().unwrap_or_default();
    let query = ChildrenQuery::all("v1", "ConfigMap").in_namespace(namespace);
    let mut children: Vec<Value> = cluster.list_children(&query)?;
    children.retain(|child| text(child, "/metadata/labels/is") == is);
    children.sort_by_key(|child| text(child, "/metadata/name").to_owned());
    Ok(children)
}

/// Makes a ConfigMap of the owner, or changes it. What somebody else has made stays as it is.
pub(crate) fn put<S, T>(
    owner: &Object<S, T>,
    cluster: &dyn Cluster,
    mut map: Manifest,
) -> Result<(), Failure> {
    let target = config_map(owner, map.metadata.name.clone());
    let Some(found) = cluster.find::<Value>(&target)? else {
        cluster.create(map)?;
        return Ok(());
    };
    if !is_owned(owner, &found) {
        let text = format!("{target} belongs to somebody else");
        return Err(Failure::transient(text));
    }
    if found.get("data") != map.fields.get("data") {
        // Only this one, and not another one of that name.
        text(&found, "/metadata/uid").clone_into(&mut map.metadata.uid);
        cluster.apply(map)?;
    }
    Ok(())
}

/// Whether the object belongs to this owner.
pub(crate) fn is_owned<S, T>(owner: &Object<S, T>, object: &Value) -> bool {
    text(object, "/metadata/ownerReferences/0/uid") == owner.metadata.uid
}
