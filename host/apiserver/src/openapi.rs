//! What kinds look like, for clients: the documents at `/openapi/v3`, one per group version, and the one at
//! `/openapi/v2`.
//!
//! - Types and texts of built-in kinds are those of the real server; a document is put together from their
//!   lines as text, so that no more than a type at a time is in memory as values.
//! - CRDs stand there as they were written, with what the server adds to every kind.
//! - Paths say what requests each resource takes, with the real server's parameters; those that watch by the
//!   old paths, and those to proxies and streams, are left out.

mod custom;
mod parameters;
mod paths;
mod schemas;
pub mod v2;

use std::fmt::Write;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha512};

use crate::discovery::groups;
use crate::kinds::data;
use crate::registry::{Origin, Registry, Resource};

/// The version of Kubernetes that documents are of.
pub const KUBERNETES: &str = "v1.36.4";

/// The version that the document in v2 names.
pub(crate) const MINOR: &str = "1.36";

/// Hands out `spec.versions[i]` of a CRD: takes its name and the version's.
pub type CrdVersion<'a> = &'a dyn Fn(&str, &str) -> Option<Value>;

/// The same for every run of one build: built-in types do not change.
static BUILT_IN: LazyLock<String> = LazyLock::new(|| hash(&[data::TYPES]));

/// `/openapi/v3`: where the document of each group version is. The URLs change with what is there; no
/// document is made for it, and no definition read.
pub fn index(registry: &Registry) -> Value {
    let mut paths = Map::new();
    for group in groups(registry) {
        for version in group.versions {
            let place = place(group.name, version);
            let hash = version_hash(registry, group.name, version);
            let url = format!("/openapi/v3/{place}?hash={hash}");
            paths.insert(place, json!({ "serverRelativeURL": url }));
        }
    }
    json!({ "paths": paths })
}

/// The path of a group version, which is also its place in the index: `api/v1`, `apis/apps/v1`.
fn place(group: &str, version: &str) -> String {
    if group.is_empty() {
        format!("api/{version}")
    } else {
        format!("apis/{group}/{version}")
    }
}

/// What the URL of a document carries; also its `ETag`, in quotes. The same as long as the document is.
pub fn version_hash(registry: &Registry, group: &str, version: &str) -> String {
    let mut parts = vec![format!("{} {group}/{version}", *BUILT_IN)];
    for resource in of_version(registry, group, version) {
        parts.push(resource.plural.clone());
        if let Some(kept) = &resource.kept {
            let (uid, generation) = &kept.definition;
            let (kind, list) = (&resource.kind, &resource.list_kind);
            parts.push(format!(
                "{kind} {list} {uid} {generation} {}",
                resource.verbs.len()
            ));
        }
    }
    let parts: Vec<&[u8]> = parts.iter().map(String::as_bytes).collect();
    hash(&parts)
}

fn hash(parts: &[&[u8]]) -> String {
    let mut hash = Sha512::new();
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    let mut text = String::new();
    for byte in hash.finalize() {
        let _ = write!(text, "{byte:02X}");
    }
    text
}

fn of_version<'a>(
    registry: &'a Registry,
    group: &'a str,
    version: &'a str,
) -> impl Iterator<Item = &'a Resource> + Clone {
    let all = registry.all().iter().map(AsRef::as_ref);
    all.filter(move |resource: &&Resource| resource.group == group && resource.version == version)
}

/// The document of a group version, as JSON text; nothing if there is no such version.
pub fn document(
    registry: &Registry,
    group: &str,
    version: &str,
    crds: CrdVersion<'_>,
) -> Option<String> {
    let resources = of_version(registry, group, version);
    let first = resources.clone().next()?;
    let info = if first.origin == Origin::BuiltIn {
        json!({ "title": "Kubernetes", "version": KUBERNETES })
    } else {
        json!({ "title": "Kubernetes CRD Swagger", "version": "v0.1.0" })
    };
    let mut types = schemas::SchemaTypes::default();
    let mut all = Map::new();
    let base = format!("/{}", place(group, version));
    for resource in resources {
        let names = match &resource.origin {
            Origin::BuiltIn => schemas::built_in_names(resource)?,
            Origin::Custom { crd, .. } => {
                custom::add(resource, crds(crd, version).as_ref(), &mut types)
            }
        };
        names.all().for_each(|name| types.want(name));
        paths::add(resource, &names, &base, &mut all);
    }
    let paths = Value::Object(all);
    let schemas = types.text();
    Some(format!(
        "{{\"openapi\":\"3.0.0\",\"info\":{info},\"paths\":{paths},\"components\":{{\"schemas\":{schemas}}}}}"
    ))
}

#[cfg(test)]
mod tests;
