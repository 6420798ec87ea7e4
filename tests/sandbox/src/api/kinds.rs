//! The kinds that the API server serves, and its discovery documents.

use serde_json::{Value, json};

/// A kind that is served.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// `apps/v1`.
    pub api_version: &'static str,
    /// `Deployment`.
    pub kind: &'static str,
    /// `deployments`.
    pub plural: &'static str,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
}

const fn kind(
    api_version: &'static str,
    kind: &'static str,
    plural: &'static str,
    namespaced: bool,
) -> Kind {
    Kind {
        api_version,
        kind,
        plural,
        namespaced,
    }
}

/// What is served.
pub const KINDS: [Kind; 6] = [
    kind("v1", "Namespace", "namespaces", false),
    kind("v1", "ConfigMap", "configmaps", true),
    kind("v1", "Secret", "secrets", true),
    kind("apps/v1", "Deployment", "deployments", true),
    kind("events.k8s.io/v1", "Event", "events", true),
    kind("examples.windlass.dev/v1", "Greeting", "greetings", true),
];

/// What `/apis` answers.
pub(super) fn groups() -> Value {
    let versions = KINDS
        .iter()
        .filter_map(|kind| kind.api_version.split_once('/'));
    let groups: Vec<_> = versions
        .map(|(group, version)| {
            let version =
                json!({ "groupVersion": format!("{group}/{version}"), "version": version });
            json!({ "name": group, "versions": [version], "preferredVersion": version })
        })
        .collect();
    json!({ "apiVersion": "v1", "kind": "APIGroupList", "groups": groups })
}

/// What `/apis/apps/v1` answers.
pub(super) fn resources(api_version: &str) -> Value {
    let mut resources = Vec::new();
    for kind in KINDS.iter().filter(|kind| kind.api_version == api_version) {
        for (subresource, verbs) in [
            (
                "",
                ["get", "list", "watch", "create", "patch", "delete"].as_slice(),
            ),
            ("/status", ["get", "patch"].as_slice()),
        ] {
            resources.push(json!({
                "name": format!("{}{subresource}", kind.plural), "singularName": "",
                "kind": kind.kind, "namespaced": kind.namespaced, "verbs": verbs,
            }));
        }
    }
    json!({
        "apiVersion": "v1", "kind": "APIResourceList", "groupVersion": api_version,
        "resources": resources,
    })
}

/// A page of a list. Items carry neither version nor kind, as a server's do not.
pub(super) fn list(kind: &Kind, items: impl Iterator<Item = Value>, more: Option<String>) -> Value {
    let bare = |mut item: Value| {
        if let Value::Object(fields) = &mut item {
            fields.retain(|name, _| name != "apiVersion" && name != "kind");
        }
        item
    };
    json!({
        "apiVersion": kind.api_version, "kind": format!("{}List", kind.kind),
        "metadata": { "resourceVersion": "1", "continue": more.unwrap_or_default() },
        "items": items.map(bare).collect::<Vec<_>>(),
    })
}

/// What a delete answers once the object is gone.
pub(super) fn success() -> Value {
    json!({ "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Success" })
}
