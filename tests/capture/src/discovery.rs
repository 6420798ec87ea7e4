//! Groups, versions and resources, in the order the real server lists them.

use std::collections::BTreeSet;

use anyhow::Context;
use serde_json::{Map, Value, json};

use crate::selection;
use crate::server::Server;
use crate::types::Types;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";
/// Types that belong to no resource: what discovery, deletes, patches, watches and refusals are made of.
const META: [&str; 8] = [
    "APIGroup",
    "APIGroupList",
    "APIResourceList",
    "APIVersions",
    "DeleteOptions",
    "Patch",
    "Status",
    "WatchEvent",
];

/// Groups as aggregated discovery has them, less what is not served, and with more about each resource:
/// `type` and `listType` (their types in OpenAPI), `storageVersionHash` and `columns` (of its Table).
pub(crate) async fn capture(server: &Server, types: &Types) -> anyhow::Result<Value> {
    let mut groups = Vec::new();
    for root in ["/api", "/apis"] {
        let found = server.get(root, AGGREGATED).await?;
        for group in found["items"].as_array().context("no groups")? {
            let name = group["metadata"]["name"].as_str().unwrap_or_default();
            if !selection::serves_group(name) {
                continue;
            }
            let mut versions = Vec::new();
            for version in group["versions"].as_array().context("no versions")? {
                versions.push(self::version(server, types, name, version).await?);
            }
            groups.push(json!({ "name": name, "versions": versions }));
        }
    }
    Ok(groups.into())
}

async fn version(
    server: &Server,
    types: &Types,
    group: &str,
    found: &Value,
) -> anyhow::Result<Value> {
    let version = found["version"].as_str().context("no version")?;
    let base = match group {
        "" => format!("/api/{version}"),
        _ => format!("/apis/{group}/{version}"),
    };
    let legacy = server.get(&base, "application/json").await?;
    let mut resources = Vec::new();
    for resource in found["resources"].as_array().context("no resources")? {
        let plural = resource["resource"].as_str().context("no plural")?;
        if !selection::serves(plural) {
            continue;
        }
        let mut resource = resource.as_object().context("no resource")?.clone();
        name_types(&mut resource, types, group, version)?;
        let mut legacy = legacy["resources"].as_array().into_iter().flatten();
        let legacy = legacy.find(|legacy| legacy["name"] == plural);
        if let Some(hash) = legacy.and_then(|legacy| legacy.get("storageVersionHash")) {
            resource.insert("storageVersionHash".to_owned(), hash.clone());
        }
        let verbs = resource["verbs"].as_array().into_iter().flatten();
        if verbs.clone().any(|verb| verb == "list") {
            let table = server.get(&format!("{base}/{plural}"), TABLE).await?;
            resource.insert("columns".to_owned(), table["columnDefinitions"].clone());
        }
        resources.push(Value::Object(resource));
    }
    Ok(json!({ "version": version, "resources": resources }))
}

/// Adds the names of types.
fn name_types(
    resource: &mut Map<String, Value>,
    types: &Types,
    group: &str,
    version: &str,
) -> anyhow::Result<()> {
    let kind = resource["responseKind"]["kind"]
        .as_str()
        .context("no kind")?;
    let of_kind = |group: &str, version: &str, kind: &str| {
        let name = types.of_kind((group, version, kind));
        name.map(str::to_owned)
            .with_context(|| format!("{group}/{version} {kind} has no type"))
    };
    let own = of_kind(group, version, kind)?;
    let list = of_kind(group, version, &format!("{kind}List")).ok();
    let plural = resource["resource"].as_str().unwrap_or_default().to_owned();
    if let Some(subresources) = resource
        .get_mut("subresources")
        .and_then(Value::as_array_mut)
    {
        for sub in subresources {
            let name = sub["subresource"].as_str().unwrap_or_default();
            if selection::leads_to_node(&format!("{plural}/{name}")) {
                continue;
            }
            let kind = &sub["responseKind"];
            let text = |word: &str| kind[word].as_str().unwrap_or_default();
            let (group, version) = match (text("group"), text("version")) {
                ("", "") => (group, version),
                said => said,
            };
            sub["type"] = of_kind(group, version, text("kind"))?.into();
        }
    }
    resource.insert("type".to_owned(), own.into());
    if let Some(list) = list {
        resource.insert("listType".to_owned(), list.into());
    }
    Ok(())
}

/// The types that the groups need.
pub(crate) fn roots(groups: &Value) -> BTreeSet<String> {
    let meta = META
        .iter()
        .map(|name| format!("io.k8s.apimachinery.pkg.apis.meta.v1.{name}"));
    let mut roots: BTreeSet<String> = meta.collect();
    collect(groups, &mut roots);
    roots
}

fn collect(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match (name.as_str(), value) {
                    ("columns", _) => {}
                    ("type" | "listType", Value::String(name)) => {
                        into.insert(name.clone());
                    }
                    _ => collect(value, into),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, into)),
        _ => {}
    }
}
