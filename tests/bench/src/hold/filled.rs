//! The namespaces of objects that the contestants hold, and how they are filled.

use std::ops::Range;

use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt, stream};
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::arena::Arena;

/// So many requests of the judge are under way at once.
const AT_ONCE: usize = 16;

/// Where the objects are.
pub(crate) struct Filled {
    pub(super) empty: String,
    pub(crate) maps: String,
    pub(super) pods: String,
    pub(super) objects: usize,
}

/// Makes so many objects of each kind; no pods unless somebody is to hold them.
///
/// # Errors
/// The API server refused one.
pub(crate) async fn fill(arena: &Arena, objects: usize, with_pods: bool) -> Result<Filled> {
    let filled = Filled {
        empty: arena.namespace().await?,
        maps: arena.namespace().await?,
        pods: arena.namespace().await?,
        objects,
    };
    fill_maps(arena, &filled.maps, 0..objects).await?;
    if !with_pods {
        return Ok(filled);
    }
    let pods = api(&arena.judge, &filled.pods, "Pod");
    let all = stream::iter(0..objects).map(async |number| {
        let pod = serde_json::from_value(pod(number))?;
        let pod = pods.create(&by(), &pod).await?;
        let name = pod.metadata.name.context("a pod has a name")?;
        let by = PatchParams::apply("kubelet").force();
        pods.patch_status(&name, &by, &Patch::Apply(status()))
            .await?;
        anyhow::Ok(())
    });
    all.buffer_unordered(AT_ONCE).try_collect::<()>().await?;
    Ok(filled)
}

/// Makes the ConfigMaps of these numbers.
///
/// # Errors
/// The API server refused one.
pub(crate) async fn fill_maps(arena: &Arena, namespace: &str, numbers: Range<usize>) -> Result<()> {
    let maps = api(&arena.judge, namespace, "ConfigMap");
    let all = stream::iter(numbers).map(async |number| {
        let map = serde_json::from_value(config_map(number))?;
        maps.create(&by(), &map).await?;
        anyhow::Ok(())
    });
    all.buffer_unordered(AT_ONCE).try_collect().await
}

fn by() -> PostParams {
    PostParams {
        field_manager: Some("filler".into()),
        ..PostParams::default()
    }
}

fn api(client: &Client, namespace: &str, kind: &str) -> Api<DynamicObject> {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", kind));
    Api::namespaced_with(client.clone(), namespace, &kind)
}

fn config_map(number: usize) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": format!("map-{number}"), "labels": { "app": "held", "part": format!("{}", number % 100) } },
        "data": { "settings.yaml": format!("number: {number}\n").repeat(110) },
    })
}

/// What looks like a digest, and is another one for each number: nothing that can be packed (SplitMix64, Steele et al. 2014).
fn token(number: usize) -> String {
    let word = |at: u64| {
        let mut word = (number as u64 * 4 + at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        format!("{:016x}", word ^ (word >> 31))
    };
    (0..4).map(word).collect()
}

/// A pod as a Deployment makes it: of two containers, with what people put into them, some of it secret and so alike
/// nowhere else.
fn pod(number: usize) -> Value {
    let container = |name: &str| {
        let variables = (0..20).map(|at| {
            let value = match at % 4 {
                0 => token(number * 100 + at),
                _ => format!(
                    "https://service-{at}.team-{}.svc.cluster.local:8443/api",
                    number % 50
                ),
            };
            json!({ "name": format!("UPSTREAM_ADDRESS_{at}"), "value": value })
        });
        let probe = json!({ "httpGet": { "path": "/healthz", "port": 8080 }, "periodSeconds": 10 });
        json!({
            "name": name,
            "image": format!("registry.example.com/team-{}/{name}@sha256:{}", number % 50, token(number % 50)),
            "args": ["--listen=:8080", "--log-format=json", "--config=/etc/settings/settings.yaml"],
            "env": variables.collect::<Vec<_>>(),
            "ports": [{ "containerPort": 8080, "name": name }],
            "resources": {
                "requests": { "cpu": "100m", "memory": "128Mi" },
                "limits": { "memory": "256Mi" },
            },
            "livenessProbe": probe,
            "readinessProbe": probe,
            "volumeMounts": [{ "name": "settings", "mountPath": "/etc/settings" }],
        })
    };
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": format!("pod-{number}"),
            "labels": { "app": "held", "pod-template-hash": format!("{:x}", number % 100) },
            "annotations": { "checksum/config": token(number) },
        },
        "spec": {
            "containers": [container("server"), container("sidecar")],
            "volumes": [{ "name": "settings", "configMap": { "name": format!("map-{number}") } }],
        },
    })
}

fn status() -> Value {
    let condition = |kind: &str| json!({ "type": kind, "status": "True", "lastTransitionTime": "2026-11-21T09:30:00Z" });
    let kinds = ["Initialized", "Ready", "ContainersReady", "PodScheduled"];
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "status": {
            "phase": "Running",
            "podIP": "10.0.0.1",
            "startTime": "2026-11-21T09:30:00Z",
            "conditions": kinds.map(condition),
        },
    })
}
