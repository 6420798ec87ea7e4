//! The resources of the built-in kinds, made of what was captured of them.

use std::sync::Arc;

use crate::kinds::catalog::{self, CATALOG, CapturedColumn, CapturedResource, CapturedSubresource};
use crate::kinds::types;
use crate::registry::{Column, LazySchema, Origin, Resource, Subresource};
use crate::schema::Schema;

/// What anyone who uses a version of a kind is warned of (`APILifecycleDeprecated`).
const DEPRECATED: [((&str, &str, &str), &str); 1] = [(
    ("", "v1", "endpoints"),
    "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
)];

/// All built-in resources, in the order of discovery.
pub fn resources() -> Vec<Arc<Resource>> {
    let mut resources = Vec::new();
    for group in CATALOG.iter() {
        for version in &group.versions {
            for entry in &version.resources {
                let storage = group.storage(&entry.resource);
                let resource = resource(entry, &group.name, &version.version, storage);
                resources.push(Arc::new(resource));
            }
        }
    }
    resources
}

fn resource(entry: &CapturedResource, group: &str, version: &str, storage: &str) -> Resource {
    let subresources = entry.subresources.iter();
    Resource {
        group: group.to_owned(),
        version: version.to_owned(),
        plural: entry.resource.clone(),
        singular: entry.singular_resource.clone(),
        kind: entry.response_kind.kind.clone(),
        list_kind: format!("{}List", entry.response_kind.kind),
        short_names: entry.short_names.clone(),
        categories: entry.categories.clone(),
        namespaced: entry.scope == "Namespaced",
        verbs: entry.verbs.clone(),
        subresources: subresources
            .map(|sub| subresource(sub, group, version))
            .collect(),
        selectable: Vec::new(),
        storage: storage.to_owned(),
        kept: None,
        deprecated: DEPRECATED
            .iter()
            .find(|(of, _)| *of == (group, version, &*entry.resource))
            .map(|(_, warning)| (*warning).to_owned()),
        origin: Origin::BuiltIn,
        columns: entry.columns.iter().map(column).collect(),
        schema: LazySchema::new(schema),
    }
}

fn subresource(sub: &CapturedSubresource, group: &str, version: &str) -> Subresource {
    let kind = &sub.response_kind;
    let own = kind.version.is_empty();
    Subresource {
        name: sub.subresource.clone(),
        kind: kind.kind.clone(),
        group: if own { group } else { &kind.group }.to_owned(),
        version: if own { version } else { &kind.version }.to_owned(),
        verbs: sub.verbs.clone(),
    }
}

fn column(captured: &CapturedColumn) -> Column {
    Column {
        name: captured.name.clone(),
        kind: captured.kind.clone(),
        format: captured.format.clone(),
        description: captured.description.clone(),
        priority: captured.priority,
        path: String::new(),
    }
}

fn schema(resource: &Resource) -> Option<Schema> {
    let entry = catalog::resource(&resource.group, &resource.version, &resource.plural)?;
    Some(types::schema(&entry.type_name))
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
