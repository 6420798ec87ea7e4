//! Which groups, versions and resources there are: the documents at `/api` and `/apis`.
//!
//! - Pure functions from the registry; CRDs are listed like built-in kinds.
//! - Built-in groups come first, in the order of the real server, then the others by name. The versions
//!   of a group stand in the order of Kubernetes: `v2`, `v1`, `v1beta1`.

mod versions;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::kinds::catalog;
use crate::registry::{Origin, Registry, Resource, Subresource};

pub use versions::{GroupVersions, groups, precedence};

/// `/api`: the versions of the core group. `address` is where the server is reached, as host and port.
pub fn core_versions(address: &str) -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{ "clientCIDR": "0.0.0.0/0", "serverAddress": address }],
    })
}

/// `/apis`: all groups but the core one.
pub fn group_list(registry: &Registry) -> Value {
    let groups = groups(registry);
    let named: Vec<Value> = groups
        .iter()
        .filter(|group| !group.name.is_empty())
        .map(group_value)
        .collect();
    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": named })
}

/// `/apis/GROUP`.
pub fn group(registry: &Registry, name: &str) -> Option<Value> {
    let groups = groups(registry);
    let mut named = groups.iter().filter(|group| !group.name.is_empty());
    let mut value = group_value(named.find(|group| group.name == name)?);
    put(&mut value, "kind", "APIGroup");
    put(&mut value, "apiVersion", "v1");
    Some(value)
}

fn group_value(group: &GroupVersions<'_>) -> Value {
    let version = |version: &&str| {
        let name = format!("{}/{version}", group.name);
        json!({ "groupVersion": name, "version": version })
    };
    let versions: Vec<Value> = group.versions.iter().map(version).collect();
    let preferred = versions.first().cloned();
    json!({ "name": group.name, "versions": versions, "preferredVersion": preferred })
}

/// `/apis/GROUP/VERSION`, and `/api/v1` for the empty group.
pub fn resource_list(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let resources = versions::resources(registry, group, version);
    let group_version = resources.first()?.api_version();
    let rows: Vec<Value> = resources
        .iter()
        .flat_map(|resource| {
            let own = std::iter::once(resource_row(resource));
            let subresources = resource.subresources.iter();
            own.chain(subresources.map(|sub| subresource_row(resource, sub)))
        })
        .collect();
    let mut list = json!({
        "kind": "APIResourceList", "groupVersion": group_version, "resources": rows,
    });
    // An old slip of the real server that clients know.
    if !group.is_empty() {
        put(&mut list, "apiVersion", "v1");
    }
    Some(list)
}

fn resource_row(resource: &Resource) -> Value {
    let mut row = Map::new();
    row.insert("name".to_owned(), resource.plural.as_str().into());
    row.insert("singularName".to_owned(), resource.singular.as_str().into());
    row.insert("namespaced".to_owned(), resource.namespaced.into());
    row.insert("kind".to_owned(), resource.kind.as_str().into());
    row.insert("verbs".to_owned(), verbs(resource));
    put_list(&mut row, "shortNames", &resource.short_names);
    put_list(&mut row, "categories", &resource.categories);
    if let Some(hash) = storage_version_hash(resource) {
        row.insert("storageVersionHash".to_owned(), hash.into());
    }
    Value::Object(row)
}

fn subresource_row(resource: &Resource, sub: &Subresource) -> Value {
    let mut row = json!({
        "name": format!("{}/{}", resource.plural, sub.name),
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": sub.kind,
        "verbs": sub.verbs,
    });
    if (&sub.group, &sub.version) != (&resource.group, &resource.version) {
        put(&mut row, "group", sub.group.as_str());
        put(&mut row, "version", sub.version.as_str());
    }
    row
}

/// The aggregated documents: at `/api` the core group, at `/apis` all others.
pub fn aggregated(registry: &Registry, core: bool) -> Value {
    let groups = groups(registry);
    let wanted = groups.iter().filter(|group| group.name.is_empty() == core);
    let items: Vec<Value> = wanted
        .map(|group| {
            let metadata = if core {
                json!({})
            } else {
                json!({ "name": group.name })
            };
            let version = |version: &&str| {
                let resources = versions::resources(registry, group.name, version);
                let resources: Vec<Value> = resources.iter().map(|found| entry(found)).collect();
                json!({ "version": version, "resources": resources, "freshness": "Current" })
            };
            let versions: Vec<Value> = group.versions.iter().map(version).collect();
            json!({ "metadata": metadata, "versions": versions })
        })
        .collect();
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    })
}

fn entry(resource: &Resource) -> Value {
    let subresources: Vec<Value> = resource
        .subresources
        .iter()
        .map(|sub| {
            let foreign = (&sub.group, &sub.version) != (&resource.group, &resource.version);
            json!({
                "subresource": sub.name,
                "responseKind": kind(resource, foreign, &sub.group, &sub.version, &sub.kind),
                "verbs": sub.verbs,
            })
        })
        .collect();
    let (group, version) = (&resource.group, &resource.version);
    let mut entry = Map::new();
    entry.insert("resource".to_owned(), resource.plural.as_str().into());
    entry.insert(
        "responseKind".to_owned(),
        kind(resource, false, group, version, &resource.kind),
    );
    let scope = if resource.namespaced {
        "Namespaced"
    } else {
        "Cluster"
    };
    entry.insert("scope".to_owned(), scope.into());
    entry.insert(
        "singularResource".to_owned(),
        resource.singular.as_str().into(),
    );
    entry.insert("verbs".to_owned(), verbs(resource));
    put_list(&mut entry, "shortNames", &resource.short_names);
    put_list(&mut entry, "categories", &resource.categories);
    if !subresources.is_empty() {
        entry.insert("subresources".to_owned(), subresources.into());
    }
    Value::Object(entry)
}

/// Built-in resources leave out the group and version that they are listed under.
fn kind(resource: &Resource, foreign: bool, group: &str, version: &str, kind: &str) -> Value {
    if foreign || resource.origin != Origin::BuiltIn {
        json!({ "group": group, "version": version, "kind": kind })
    } else {
        json!({ "group": "", "version": "", "kind": kind })
    }
}

/// The verbs of a custom resource, in the order in which discovery has them.
pub(crate) const CUSTOM_VERBS: [&str; 8] = [
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
];

/// Sorted for built-in kinds; in an order of its own for CRDs.
fn verbs(resource: &Resource) -> Value {
    if resource.origin == Origin::BuiltIn {
        return json!(resource.verbs);
    }
    let mut verbs: Vec<&String> = resource.verbs.iter().collect();
    verbs.sort_by_key(|verb| CUSTOM_VERBS.iter().position(|known| known == verb));
    json!(verbs)
}

/// Tells clients when the stored version changes.
fn storage_version_hash(resource: &Resource) -> Option<String> {
    let (group, version) = (&resource.group, &resource.version);
    if resource.origin == Origin::BuiltIn {
        let entry = catalog::resource(group, version, &resource.plural)?;
        return entry.storage_version_hash.clone();
    }
    let stored = format!("{group}/{}/{}", resource.storage, resource.kind);
    let hash = Sha256::digest(stored);
    Some(STANDARD.encode(hash.get(..8)?))
}

fn put(row: &mut Value, name: &str, value: impl Into<Value>) {
    if let Value::Object(row) = row {
        row.insert(name.to_owned(), value.into());
    }
}

fn put_list(row: &mut Map<String, Value>, name: &str, list: &[String]) {
    if !list.is_empty() {
        row.insert(name.to_owned(), json!(list));
    }
}

#[cfg(test)]
mod tests;
