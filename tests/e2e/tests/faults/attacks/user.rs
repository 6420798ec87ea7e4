//! What belongs to a user: objects that no attack may change.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use kube::api::ListParams;
use serde_json::json;
use windlass_e2e::Cluster;

/// The kinds that are looked at.
const KINDS: [&str; 4] = ["ConfigMap", "Secret", "Greeting", "Service"];

/// The versions of objects, by kind, namespace and name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Snapshot(BTreeMap<String, String>);

impl Snapshot {
    /// All that is in `other`; and in `home` all that no attacker may write.
    pub(crate) async fn of(home: &Cluster, other: &Cluster) -> Result<Self> {
        let mut all = BTreeMap::new();
        for cluster in [home, other] {
            for kind in KINDS {
                // The attackers are granted all verbs on ConfigMaps of this namespace.
                if kind == "ConfigMap" && cluster.namespace == home.namespace {
                    continue;
                }
                let api = cluster.api(kind, &cluster.namespace)?;
                for object in api.list(&ListParams::default()).await?.items {
                    let name = object.metadata.name.context("an object has a name")?;
                    let version = object.metadata.resource_version.unwrap_or_default();
                    let key = format!("{kind}/{}/{name}", cluster.namespace);
                    all.insert(key, version);
                }
            }
        }
        ensure!(!all.is_empty(), "a user has objects");
        Ok(Self(all))
    }
}

/// Makes the objects that attacks try to reach.
pub(crate) async fn settle(cluster: &Cluster) -> Result<()> {
    let port = json!([{ "port": 80 }]);
    let objects = [
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "victim", "labels": { "a": "b" } }, "data": { "a": "b" } }),
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "allowed" } }),
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "victim" }, "stringData": { "password": "hunter2-very-secret" } }),
        json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "allowed" }, "spec": { "ports": port } }),
        json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "victim" }, "spec": { "ports": port } }),
    ];
    for object in objects {
        cluster.create(object).await?;
    }
    Ok(())
}
