//! The roles and bindings that the real server makes for itself.

use std::time::Duration;

use serde_json::{Map, Value};
use windlass_controlplane::eventually;

use crate::server::Server;

/// How long a new cluster may take to put aggregated roles together.
const READY: Duration = Duration::from_secs(60);
/// They are complete when nothing has changed for this long.
const QUIET: Duration = Duration::from_secs(2);
const GROUP: &str = "/apis/rbac.authorization.k8s.io/v1";
const PLURALS: [&str; 4] = [
    "clusterroles",
    "clusterrolebindings",
    "roles",
    "rolebindings",
];

/// All of them, without what differs from cluster to cluster.
pub(crate) async fn capture(server: &Server) -> anyhow::Result<Value> {
    eventually(READY, "aggregated roles are complete", async || {
        let first = read(server).await?;
        tokio::time::sleep(QUIET).await;
        let complete = aggregated(&first) && read(server).await? == first;
        Ok(complete.then_some(Value::Array(first)))
    })
    .await
}

async fn read(server: &Server) -> anyhow::Result<Vec<Value>> {
    let mut all = Vec::new();
    for plural in PLURALS {
        let list = server
            .get(&format!("{GROUP}/{plural}"), "application/json")
            .await?;
        let kind = list["kind"]
            .as_str()
            .unwrap_or_default()
            .trim_end_matches("List");
        let items = list["items"].as_array().into_iter().flatten();
        let own = items.filter(|item| {
            item["metadata"]["labels"]["kubernetes.io/bootstrapping"] == "rbac-defaults"
        });
        all.extend(own.map(|item| slim(item, kind)));
    }
    Ok(all)
}

fn slim(item: &Value, kind: &str) -> Value {
    let mut item = item.clone();
    let kept = ["name", "namespace", "labels", "annotations"].into_iter();
    let kept =
        kept.filter_map(|field| Some((field.to_owned(), item["metadata"].get(field)?.clone())));
    item["metadata"] = Value::Object(kept.collect::<Map<_, _>>());
    item["kind"] = kind.into();
    item["apiVersion"] = "rbac.authorization.k8s.io/v1".into();
    item
}

/// Whether every aggregated role has rules.
fn aggregated(all: &[Value]) -> bool {
    let mut roles = all.iter().filter(|role| !role["aggregationRule"].is_null());
    roles.all(|role| {
        role["rules"]
            .as_array()
            .is_some_and(|rules| !rules.is_empty())
    })
}
