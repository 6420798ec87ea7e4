//! The third workload: many objects that nobody does anything about. What each costs in memory, and all of them in time.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt, stream};
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::Workload;
use crate::arena::{Arena, plugin};
use crate::built::holder;
use crate::contestant::Contestant;
use crate::process::{cpu, memory, peak};
use crate::results::Round;

/// What this is, and how it is told.
pub(crate) const WORKLOAD: Workload = Workload {
    name: "hold",
    title: "What a cached object costs",
    about: "A controller watches 10,000 objects and does nothing about them: ConfigMaps of 2 KB, and pods of 9 KB, all with \
            `managedFields`. Memory is what the process holds 20 s after its first list, less what the same holds of an \
            empty namespace, by object. A plugin that declares the fields that it reads holds only those.",
    figures: &[
        "a ConfigMap, KiB of RSS",
        "a pod, KiB of RSS",
        "peak by settled RSS, pods",
        "time to sync 10,000 pods, s",
        "CPU until settled, pods, s",
    ],
    charts: &[
        ("bench-hold-maps.svg", "a ConfigMap, KiB of RSS"),
        ("bench-hold-pods.svg", "a pod, KiB of RSS"),
    ],
};

/// Who takes part.
pub(crate) const CONTESTANTS: [Contestant; 6] = [
    Contestant::ControllerRuntime,
    Contestant::ControllerRuntimeLean,
    Contestant::KubeRs,
    Contestant::KubeRsLean,
    Contestant::Windlass,
    Contestant::WindlassLean,
];

/// How long after its first list a process counts as settled.
const SETTLED: Duration = Duration::from_secs(20);

/// So many requests of the judge are under way at once.
const AT_ONCE: usize = 16;

/// Where the objects are.
pub(crate) struct Filled {
    empty: String,
    pub(crate) maps: String,
    pods: String,
    objects: usize,
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
    let maps = api(&arena.judge, &filled.maps, "ConfigMap");
    let pods = api(&arena.judge, &filled.pods, "Pod");
    let all = stream::iter(0..objects).map(async |number| {
        let by = PostParams {
            field_manager: Some("filler".into()),
            ..PostParams::default()
        };
        maps.create(&by, &serde_json::from_value(config_map(number))?)
            .await?;
        if !with_pods {
            return Ok(());
        }
        let pod = pods
            .create(&by, &serde_json::from_value(pod(number))?)
            .await?;
        let name = pod.metadata.name.context("a pod has a name")?;
        let by = PatchParams::apply("kubelet").force();
        pods.patch_status(&name, &by, &Patch::Apply(status()))
            .await?;
        anyhow::Ok(())
    });
    all.buffer_unordered(AT_ONCE).try_collect::<()>().await?;
    Ok(filled)
}

/// Lets one contestant do it once.
///
/// # Errors
/// It did not come through.
pub(crate) async fn round(arena: &Arena, contestant: Contestant, filled: &Filled) -> Result<Round> {
    let mut round = Vec::new();
    let each = |settled: f64, empty: f64| (settled - empty) * 1024.0 / filled.objects as f64;
    let lean = contestant == Contestant::WindlassLean;
    if !lean {
        let empty = held(arena, contestant, "configmaps", &filled.empty).await?;
        let full = held(arena, contestant, "configmaps", &filled.maps).await?;
        round.push(("a ConfigMap, KiB of RSS", each(full.settled, empty.settled)));
    }
    let empty = held(arena, contestant, "pods", &filled.empty).await?;
    let full = held(arena, contestant, "pods", &filled.pods).await?;
    round.extend([
        ("a pod, KiB of RSS", each(full.settled, empty.settled)),
        ("peak by settled RSS, pods", full.peak / full.settled),
        ("time to sync 10,000 pods, s", full.synced),
        ("CPU until settled, pods, s", full.cpu),
    ]);
    Ok(round)
}

/// What a process came to.
struct Held {
    /// MiB of RSS in the end.
    settled: f64,
    /// The most that it ever was.
    peak: f64,
    /// How long it took until its first list was in, in seconds.
    synced: f64,
    /// The CPU time that it has used, in seconds.
    cpu: f64,
}

async fn held(
    arena: &Arena,
    contestant: Contestant,
    resource: &str,
    namespace: &str,
) -> Result<Held> {
    let words = ["hold", resource].map(str::to_owned).to_vec();
    let began = Instant::now();
    let lay_out = |folder: &Path, namespace: &str| lay_out(folder, namespace, contestant, resource);
    let stage = arena.stage(contestant, namespace.to_owned(), vec![words], lay_out);
    let mut stage = stage.await?;
    let synced = began.elapsed().as_secs_f64();
    tokio::time::sleep(SETTLED).await;
    let running = stage
        .running
        .first_mut()
        .context("who holds has a process")?;
    running.check()?;
    Ok(Held {
        settled: memory(running.id())?.rss,
        peak: peak(running.id())?,
        synced,
        cpu: cpu(running.id())?,
    })
}

fn lay_out(
    folder: &Path,
    namespace: &str,
    contestant: Contestant,
    resource: &str,
) -> Result<usize> {
    let features = match (resource, contestant) {
        ("configmaps", _) => "default",
        (_, Contestant::WindlassLean) => "pods,lean",
        _ => "pods",
    };
    let grant = |part: &str, verbs: &[&str]| {
        json!({
            "apiGroups": [""],
            "resources": [format!("{resource}{part}")],
            "verbs": verbs,
            "namespaces": [namespace],
        })
    };
    // Every plugin asks for the status of its kind.
    let grants = json!([
        grant("", &["get", "list", "watch"]),
        grant("/status", &["patch"]),
    ]);
    plugin(folder, "bench-holder", &holder(features)?, &grants)?;
    Ok(1)
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

/// A pod as a Deployment makes it: of two containers, with what people put into them.
fn pod(number: usize) -> Value {
    let container = |name: &str| {
        let variables = (0..20).map(|at| {
            let value = format!(
                "https://service-{at}.team-{}.svc.cluster.local:8443/api",
                number % 50
            );
            json!({ "name": format!("UPSTREAM_ADDRESS_{at}"), "value": value })
        });
        let probe = json!({ "httpGet": { "path": "/healthz", "port": 8080 }, "periodSeconds": 10 });
        json!({
            "name": name,
            "image": format!("registry.example.com/team-{}/{name}:v1.{number}.0", number % 50),
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
            "annotations": { "checksum/config": format!("{number:064x}") },
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
