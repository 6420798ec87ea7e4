//! Which built-in resources there are, as aggregated discovery lists them.

use std::sync::{Arc, LazyLock};

use serde::Deserialize;

use super::{data, types};
use crate::registry::{Column, LazySchema, Origin, Resource, Subresource};
use crate::schema::Schema;

/// The type of the options of a deletion.
pub(super) const DELETE_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";

/// What anyone who uses a version of a kind is warned of (`APILifecycleDeprecated`).
const DEPRECATED: [((&str, &str, &str), &str); 1] = [(
    ("", "v1", "endpoints"),
    "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
)];

static CATALOG: LazyLock<Vec<Group>> = LazyLock::new(|| {
    let text = data::unpack(data::RESOURCES);
    serde_json::from_str(&text).unwrap_or_default()
});

#[derive(Debug, Deserialize)]
struct Group {
    name: String,
    versions: Vec<Version>,
}

#[derive(Debug, Deserialize)]
struct Version {
    version: String,
    resources: Vec<Entry>,
}

/// What was captured of one resource.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry {
    resource: String,
    singular_resource: String,
    response_kind: ResponseKind,
    scope: String,
    verbs: Vec<String>,
    #[serde(default)]
    short_names: Vec<String>,
    #[serde(default)]
    categories: Vec<String>,
    #[serde(default)]
    subresources: Vec<SubEntry>,
    #[serde(default)]
    columns: Vec<TableColumn>,
    /// The type of the objects.
    #[serde(rename = "type")]
    pub(crate) type_name: String,
    /// The type of lists of them.
    #[serde(rename = "listType")]
    pub(crate) list_type_name: Option<String>,
    /// Tells clients when the stored version changes.
    pub(crate) storage_version_hash: Option<String>,
}

#[derive(Debug, Deserialize)]
struct SubEntry {
    /// Nothing for those that lead to a node.
    #[serde(rename = "type")]
    type_name: Option<String>,
    subresource: String,
    #[serde(rename = "responseKind")]
    response_kind: ResponseKind,
    verbs: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct ResponseKind {
    group: String,
    version: String,
    kind: String,
}

#[derive(Debug, Deserialize)]
struct TableColumn {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    format: String,
    description: String,
    priority: i32,
}

pub(super) fn resources() -> Vec<Arc<Resource>> {
    let mut resources = Vec::new();
    for group in CATALOG.iter() {
        for version in &group.versions {
            for entry in &version.resources {
                let storage = group.storage(&entry.resource);
                let resource = entry.resource(&group.name, &version.version, storage);
                resources.push(Arc::new(resource));
            }
        }
    }
    resources
}

/// What was captured of a resource.
pub(crate) fn entry(group: &str, version: &str, plural: &str) -> Option<&'static Entry> {
    let group = CATALOG.iter().find(|found| found.name == group)?;
    let version = group
        .versions
        .iter()
        .find(|found| found.version == version)?;
    let mut entries = version.resources.iter();
    entries.find(|found| found.resource == plural)
}

/// The type of a kind that bodies may have: of objects, of what is sent to subresources, and of options.
pub(crate) fn type_of_kind(group: &str, version: &str, kind: &str) -> Option<String> {
    match (group, version, kind) {
        // In every version of every group.
        (_, _, "DeleteOptions") => return Some(DELETE_OPTIONS.to_owned()),
        // Taken in both versions (kubernetes `pkg/registry/core/pod/storage/eviction.go`), which are the same.
        ("policy", "v1beta1", "Eviction") => return type_of_kind(group, "v1", kind),
        _ => {}
    }
    for found in CATALOG.iter() {
        for own in &found.versions {
            for entry in &own.resources {
                let is_own = found.name == group && own.version == version;
                if is_own && entry.response_kind.kind == kind {
                    return Some(entry.type_name.clone());
                }
                let mut parts = entry
                    .subresources
                    .iter()
                    .map(|sub| (sub, &sub.response_kind));
                let sub = parts.find(|(_, said)| {
                    (&*said.group, &*said.version, &*said.kind) == (group, version, kind)
                });
                if let Some((sub, _)) = sub {
                    return sub.type_name.clone();
                }
            }
        }
    }
    None
}

/// All kinds of objects and lists, and of what is sent to subresources: their versions, such as `apps/v1`, and
/// their types.
pub(crate) fn kinds() -> impl Iterator<Item = (String, &'static str, &'static str)> {
    let versions = CATALOG
        .iter()
        .flat_map(|group| group.versions.iter().map(move |version| (group, version)));
    versions.flat_map(|(group, version)| {
        let own = api_version(&group.name, &version.version);
        version
            .resources
            .iter()
            .flat_map(move |entry| entry.kinds(&own))
    })
}

fn api_version(group: &str, version: &str) -> String {
    match group {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    }
}

fn schema(resource: &Resource) -> Option<Schema> {
    let entry = entry(&resource.group, &resource.version, &resource.plural)?;
    Some(types::schema(&entry.type_name))
}

impl Group {
    /// The preferred version of a resource, in which it is kept.
    fn storage(&self, plural: &str) -> &str {
        let has = |version: &&Version| {
            version
                .resources
                .iter()
                .any(|found| found.resource == plural)
        };
        let preferred = self.versions.iter().find(has);
        preferred
            .map(|found| found.version.as_str())
            .unwrap_or_default()
    }
}

impl Entry {
    /// The type of what is sent to a subresource.
    pub(crate) fn sub_type_name(&self, name: &str) -> Option<&str> {
        let mut all = self.subresources.iter();
        let found = all.find(|sub| sub.subresource == name)?;
        found.type_name.as_deref()
    }

    fn kinds(&'static self, own: &str) -> Vec<(String, &'static str, &'static str)> {
        let kind = self.response_kind.kind.as_str();
        let mut kinds = vec![(own.to_owned(), kind, self.type_name.as_str())];
        if let Some(list) = &self.list_type_name {
            let (_, kind) = list.rsplit_once('.').unwrap_or_default();
            kinds.push((own.to_owned(), kind, list));
        }
        for sub in &self.subresources {
            let said = &sub.response_kind;
            if let (Some(type_name), false) = (&sub.type_name, said.version.is_empty()) {
                let version = api_version(&said.group, &said.version);
                kinds.push((version, said.kind.as_str(), type_name));
            }
        }
        kinds
    }

    fn resource(&self, group: &str, version: &str, storage: &str) -> Resource {
        let subresources = self.subresources.iter();
        Resource {
            group: group.to_owned(),
            version: version.to_owned(),
            plural: self.resource.clone(),
            singular: self.singular_resource.clone(),
            kind: self.response_kind.kind.clone(),
            list_kind: format!("{}List", self.response_kind.kind),
            short_names: self.short_names.clone(),
            categories: self.categories.clone(),
            namespaced: self.scope == "Namespaced",
            verbs: self.verbs.clone(),
            subresources: subresources
                .map(|sub| sub.subresource(group, version))
                .collect(),
            selectable: Vec::new(),
            storage: storage.to_owned(),
            kept: None,
            deprecated: DEPRECATED
                .iter()
                .find(|(of, _)| *of == (group, version, &*self.resource))
                .map(|(_, warning)| (*warning).to_owned()),
            origin: Origin::BuiltIn,
            columns: self.columns.iter().map(TableColumn::column).collect(),
            schema: LazySchema::new(schema),
        }
    }
}

impl SubEntry {
    fn subresource(&self, group: &str, version: &str) -> Subresource {
        let kind = &self.response_kind;
        let own = kind.version.is_empty();
        Subresource {
            name: self.subresource.clone(),
            kind: kind.kind.clone(),
            group: if own { group } else { &kind.group }.to_owned(),
            version: if own { version } else { &kind.version }.to_owned(),
            verbs: self.verbs.clone(),
        }
    }
}

impl TableColumn {
    fn column(&self) -> Column {
        Column {
            name: self.name.clone(),
            kind: self.kind.clone(),
            format: self.format.clone(),
            description: self.description.clone(),
            priority: self.priority,
            path: String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Registry;

    #[test]
    fn built_in_resources_are_as_discovery_says() {
        let registry = Registry::new(resources());
        assert!(registry.all().len() > 45);
        let deployments = registry.find("apps", "v1", "deployments").unwrap();
        assert_eq!(deployments.short_names, ["deploy"]);
        assert_eq!(deployments.list_kind, "DeploymentList");
        let scale = deployments.subresource("scale").unwrap();
        assert_eq!(
            (scale.group.as_str(), scale.kind.as_str()),
            ("autoscaling", "Scale")
        );
        let status = deployments.subresource("status").unwrap();
        assert_eq!(
            (status.group.as_str(), status.version.as_str()),
            ("apps", "v1")
        );
        let pods = registry.find("", "v1", "pods").unwrap();
        let eviction = pods.subresource("eviction").unwrap();
        assert_eq!(
            (eviction.group.as_str(), eviction.kind.as_str()),
            ("policy", "Eviction")
        );
    }

    #[test]
    fn informers_of_the_control_plane_find_their_kinds() {
        let registry = Registry::new(resources());
        for (group, plural, parts) in [
            ("resource.k8s.io", "deviceclasses", &[][..]),
            ("resource.k8s.io", "resourceclaims", &["status"]),
            ("resource.k8s.io", "resourceclaimtemplates", &[]),
            ("resource.k8s.io", "resourceslices", &[]),
            ("networking.k8s.io", "servicecidrs", &["status"]),
            ("networking.k8s.io", "ipaddresses", &[]),
            ("flowcontrol.apiserver.k8s.io", "flowschemas", &["status"]),
            (
                "flowcontrol.apiserver.k8s.io",
                "prioritylevelconfigurations",
                &["status"],
            ),
            (
                "admissionregistration.k8s.io",
                "validatingadmissionpolicies",
                &["status"],
            ),
            (
                "admissionregistration.k8s.io",
                "validatingadmissionpolicybindings",
                &[],
            ),
        ] {
            let resource = registry.find(group, "v1", plural).unwrap();
            let found: Vec<&str> = { resource.subresources.iter() }
                .map(|part| part.name.as_str())
                .collect();
            assert_eq!(found, parts, "{plural}");
            let can = |verb: &str| resource.verbs.iter().any(|known| known == verb);
            assert!(can("list") && can("watch"), "{plural}");
        }
    }

    #[test]
    fn every_resource_has_a_schema() {
        for resource in resources() {
            let schema = resource.schema().unwrap();
            let view = schema.view();
            assert!(view.property("metadata").is_some(), "{}", resource.kind);
        }
    }
}
