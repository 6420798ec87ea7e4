//! Everything that the API server serves, in one look.
//!
//! - A server since Kubernetes 1.26 answers all of it in two requests (aggregated discovery). An older one is asked for each
//!   version of each group.
//! - A resource is there once: in the first version that has it, in the server's order of preference.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroupList, APIResourceList};
use kube::core::discovery::v2::{
    ACCEPT_AGGREGATED_DISCOVERY_V2, APIGroupDiscoveryList, APIResourceDiscovery,
};
use serde_json::Value;
use tokio::time::Instant;

use super::{Discovery, decode};
use crate::api::{ApiError, Request, Resource, api_path};

/// A kind that the API server serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedKind {
    /// What it is.
    pub resource: Resource,
    /// What can be done to its objects: `get`, `list`.
    pub verbs: Vec<String>,
}

/// All kinds that were served at some time, and when that was asked.
#[derive(Clone)]
pub(super) struct Catalog {
    kinds: Arc<[ServedKind]>,
    asked: Instant,
}

impl Discovery {
    /// All kinds that the server serves, as far as that is remembered and not older than `age`.
    pub fn remembered_catalog(&self, age: Duration) -> Option<Arc<[ServedKind]>> {
        let held = self.catalog.lock().clone()?;
        let is_fresh = self.clock.now().saturating_duration_since(held.asked) <= age;
        is_fresh.then_some(held.kinds)
    }

    /// All kinds that the server serves now, without subresources.
    ///
    /// # Errors
    /// The server could not be asked. Of a group whose own server does not answer there is what the API server remembers: it
    /// may be nothing.
    pub async fn catalog(&self) -> Result<Arc<[ServedKind]>, ApiError> {
        let asked = self.clock.now();
        let mut kinds = Vec::new();
        for root in ["/api", "/apis"] {
            let request = Request {
                accept: ACCEPT_AGGREGATED_DISCOVERY_V2,
                ..Request::get(root.to_owned())
            };
            let answer = self.api.send(request).await?;
            let is_aggregated =
                answer.get("kind").and_then(Value::as_str) == Some("APIGroupDiscoveryList");
            if is_aggregated {
                kinds.extend(aggregated(decode(answer)?));
            } else if root == "/api" {
                kinds.extend(self.each_version(vec!["v1".to_owned()]).await?);
            } else {
                let groups: APIGroupList = decode(answer)?;
                kinds.extend(self.each_version(versions(groups)).await?);
            }
        }
        let mut seen = BTreeSet::new();
        kinds.retain(|kind: &ServedKind| {
            let Resource { group, plural, .. } = &kind.resource;
            seen.insert((group.clone(), plural.clone()))
        });
        let by_name = |kind: &ServedKind| (kind.resource.api_version(), kind.resource.kind.clone());
        kinds.sort_by_key(by_name);
        let kinds: Arc<[ServedKind]> = kinds.into();
        let catalog = Catalog {
            kinds: kinds.clone(),
            asked,
        };
        *self.catalog.lock() = Some(catalog);
        Ok(kinds)
    }

    async fn each_version(&self, versions: Vec<String>) -> Result<Vec<ServedKind>, ApiError> {
        let mut kinds = Vec::new();
        for api_version in versions {
            let list: APIResourceList =
                match self.api.send(Request::get(api_path(&api_version))).await {
                    Ok(list) => decode(list)?,
                    // It went meanwhile.
                    Err(error) if error.code() == Some(404) => continue,
                    Err(error) => return Err(error),
                };
            let resources = list.resources.into_iter();
            let resources = resources.filter(|resource| !resource.name.contains('/'));
            kinds.extend(resources.map(|resource| ServedKind {
                resource: resource_of(
                    &api_version,
                    resource.kind,
                    resource.name,
                    resource.namespaced,
                ),
                verbs: resource.verbs,
            }));
        }
        Ok(kinds)
    }
}

/// The versions of all groups, the preferred one of each first.
fn versions(groups: APIGroupList) -> Vec<String> {
    let versions = groups.groups.into_iter().flat_map(|group| {
        let preferred = group.preferred_version.map(|version| version.group_version);
        let served = group.versions.into_iter();
        let mut versions: Vec<_> = served.map(|version| version.group_version).collect();
        versions.sort_by_key(|version| Some(version) != preferred.as_ref());
        versions
    });
    versions.collect()
}

fn aggregated(list: APIGroupDiscoveryList) -> Vec<ServedKind> {
    let mut kinds = Vec::new();
    for group in list.items {
        let name = group.metadata.and_then(|metadata| metadata.name);
        let name = name.unwrap_or_default();
        for served in group.versions {
            let version = served.version.unwrap_or_default();
            let api_version = match &*name {
                "" => version,
                group => format!("{group}/{version}"),
            };
            let resources = served.resources.into_iter();
            kinds.extend(resources.filter_map(|resource| of_aggregated(&api_version, resource)));
        }
    }
    kinds
}

/// A resource that says neither its name nor its kind has no objects: it is a group of subresources.
fn of_aggregated(api_version: &str, resource: APIResourceDiscovery) -> Option<ServedKind> {
    let kind = resource.response_kind?.kind;
    let kind = kind.filter(|kind| !kind.is_empty())?;
    let is_namespaced = resource.scope.as_deref() == Some("Namespaced");
    Some(ServedKind {
        resource: resource_of(api_version, kind, resource.resource?, is_namespaced),
        verbs: resource.verbs,
    })
}

fn resource_of(api_version: &str, kind: String, plural: String, namespaced: bool) -> Resource {
    let version = api_version.rsplit('/').next().unwrap_or(api_version);
    Resource {
        group: crate::api::group_of(api_version).to_owned(),
        version: version.to_owned(),
        kind,
        plural,
        namespaced,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names(kinds: &[ServedKind]) -> Vec<String> {
        let names = kinds.iter();
        names
            .map(|kind| {
                let Resource {
                    plural, namespaced, ..
                } = &kind.resource;
                let api_version = kind.resource.api_version();
                format!(
                    "{api_version} {plural} {namespaced} {}",
                    kind.verbs.join(",")
                )
            })
            .collect()
    }

    #[test]
    fn an_aggregated_list_is_read_in_its_order() {
        let resource = |plural: &str, kind: &str, scope: &str| {
            json!({
                "resource": plural, "scope": scope, "verbs": ["get", "list"],
                "responseKind": { "group": "", "version": "", "kind": kind },
            })
        };
        let list = json!({
            "kind": "APIGroupDiscoveryList",
            "items": [
                { "metadata": {}, "versions": [
                    { "version": "v1", "resources": [resource("pods", "Pod", "Namespaced")] },
                ] },
                { "metadata": { "name": "x.dev" }, "versions": [
                    { "version": "v2", "resources": [resource("things", "Thing", "Cluster")] },
                    { "version": "v1", "resources": [
                        resource("things", "Thing", "Cluster"), resource("nothing", "", "Cluster"),
                    ] },
                ] },
            ],
        });
        let kinds = aggregated(serde_json::from_value(list).unwrap());
        let want = [
            "v1 pods true get,list",
            "x.dev/v2 things false get,list",
            "x.dev/v1 things false get,list",
        ];
        assert_eq!(names(&kinds), want);
    }

    #[test]
    fn the_preferred_version_of_each_group_comes_first() {
        let version = |version: &str| json!({ "groupVersion": version, "version": "" });
        let groups = json!({ "groups": [{
            "name": "x.dev", "versions": [version("x.dev/v2"), version("x.dev/v1")],
            "preferredVersion": version("x.dev/v1"),
        }] });
        let versions = versions(serde_json::from_value(groups).unwrap());
        assert_eq!(versions, ["x.dev/v1", "x.dev/v2"]);
    }
}
