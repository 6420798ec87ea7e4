//! Which built-in resources there are, as aggregated discovery lists them.

use std::sync::LazyLock;

use serde::Deserialize;

use super::data;

/// The type of the options of a deletion.
pub(crate) const DELETE_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";

/// All groups.
pub(crate) static CATALOG: LazyLock<Vec<CapturedGroup>> = LazyLock::new(|| {
    let text = data::unpack(data::RESOURCES);
    serde_json::from_str(&text).unwrap_or_default()
});

#[derive(Debug, Deserialize)]
pub(crate) struct CapturedGroup {
    pub(crate) name: String,
    pub(crate) versions: Vec<CapturedVersion>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CapturedVersion {
    pub(crate) version: String,
    pub(crate) resources: Vec<CapturedResource>,
}

/// What was captured of one resource.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CapturedResource {
    pub(crate) resource: String,
    pub(crate) singular_resource: String,
    pub(crate) response_kind: ResponseKind,
    pub(crate) scope: String,
    pub(crate) verbs: Vec<String>,
    #[serde(default)]
    pub(crate) short_names: Vec<String>,
    #[serde(default)]
    pub(crate) categories: Vec<String>,
    #[serde(default)]
    pub(crate) subresources: Vec<CapturedSubresource>,
    #[serde(default)]
    pub(crate) columns: Vec<CapturedColumn>,
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
pub(crate) struct CapturedSubresource {
    /// Nothing for those that lead to a node.
    #[serde(rename = "type")]
    pub(crate) type_name: Option<String>,
    pub(crate) subresource: String,
    #[serde(rename = "responseKind")]
    pub(crate) response_kind: ResponseKind,
    pub(crate) verbs: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ResponseKind {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CapturedColumn {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) format: String,
    pub(crate) description: String,
    pub(crate) priority: i32,
}

/// What was captured of a resource.
pub(crate) fn resource(
    group: &str,
    version: &str,
    plural: &str,
) -> Option<&'static CapturedResource> {
    let group = CATALOG.iter().find(|found| found.name == group)?;
    let version = group
        .versions
        .iter()
        .find(|found| found.version == version)?;
    let mut resources = version.resources.iter();
    resources.find(|found| found.resource == plural)
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

impl CapturedGroup {
    /// The preferred version of a resource, in which it is kept.
    pub(crate) fn storage(&self, plural: &str) -> &str {
        let has = |version: &&CapturedVersion| {
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

impl CapturedResource {
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
}
