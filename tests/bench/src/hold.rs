//! The third workload: many objects that nobody does anything about. What each costs in memory, and all of them in time.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result};
use futures::{StreamExt, TryStreamExt, stream};
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::Workload;
use crate::arena::{Arena, Stage, plugin};
use crate::built::holder;
use crate::contestant::{Contestant, Running};
use crate::process::{cpu, forget_peak, memory, peak};
use crate::results::Round;

/// What this is, and how it is told.
pub(crate) const WORKLOAD: Workload = Workload {
    name: "hold",
    title: "What a cached object costs",
    about: "A controller watches 10,000 objects and does nothing about them: ConfigMaps of 2 KB, and pods of 12 KB, of which 5 \
            are `managedFields`. Memory is what the process holds 20 s after its first list, less what the same holds of an \
            empty namespace, by object. Then the API server is killed and started again, so that all of them have to list \
            once more: the peak of that is the most that a process ever held until 20 s later. A plugin that declares the \
            fields that it reads holds only those.",
    figures: &[
        "a ConfigMap, KiB of RSS",
        "a pod, KiB of RSS",
        "peak by settled RSS, pods",
        "peak by settled RSS, through a relist",
        PACE[0],
        PACE[1],
    ],
    charts: &[
        ("bench-hold-maps.svg", "a ConfigMap, KiB of RSS"),
        ("bench-hold-pods.svg", "a pod, KiB of RSS"),
    ],
    minutes: 6,
    ..Workload::NONE
};

/// What differs from one time to the next.
pub(crate) const PACE: [&str; 2] = ["time to sync 10,000 pods, s", "CPU until settled, pods, s"];

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

/// Lets all of them hold the same at the same time: none of them works when another is measured. The API server is
/// restarted in the end, so that all have to list again.
pub(crate) async fn all(
    arena: &Arena,
    all: &[Contestant],
    filled: &Filled,
) -> Vec<(Contestant, Result<Round>)> {
    let maps: Vec<_> = all
        .iter()
        .copied()
        .filter(|one| *one != Contestant::WindlassLean)
        .collect();
    let mut rounds: Vec<_> = all.iter().map(|one| (*one, Ok(Vec::new()))).collect();
    let each =
        |full: &Held, empty: &Held| (full.settled - empty.settled) * 1024.0 / filled.objects as f64;
    let empty = held(arena, &maps, "configmaps", &filled.empty, false).await;
    let full = held(arena, &maps, "configmaps", &filled.maps, false).await;
    add(&mut rounds, full, empty, |full, empty| {
        vec![("a ConfigMap, KiB of RSS", each(full, empty))]
    });
    let empty = held(arena, all, "pods", &filled.empty, false).await;
    let full = held(arena, all, "pods", &filled.pods, true).await;
    add(&mut rounds, full, empty, |full, empty| {
        let mut round = vec![
            ("a pod, KiB of RSS", each(full, empty)),
            ("peak by settled RSS, pods", full.peak / full.settled),
            (
                "peak by settled RSS, through a relist",
                full.relisted / full.settled,
            ),
        ];
        round.extend(full.pace());
        round
    });
    rounds
}

/// Lets all of them take in the pods once more: memory is the same each time, and time is not.
pub(crate) async fn again(
    arena: &Arena,
    all: &[Contestant],
    filled: &Filled,
) -> Vec<(Contestant, Result<Round>)> {
    let held = held(arena, all, "pods", &filled.pods, false).await;
    let round = |(contestant, held): (_, Result<Held>)| (contestant, held.map(|held| held.pace()));
    held.into_iter().map(round).collect()
}

/// Adds what each has come to, or why it has not.
fn add(
    rounds: &mut [(Contestant, Result<Round>)],
    full: HashMap<Contestant, Result<Held>>,
    mut empty: HashMap<Contestant, Result<Held>>,
    figures: impl Fn(&Held, &Held) -> Round,
) {
    for (contestant, full) in full {
        let Some(empty) = empty.remove(&contestant) else {
            continue;
        };
        let Some((_, round)) = rounds.iter_mut().find(|(one, _)| *one == contestant) else {
            continue;
        };
        match (full, empty, &mut *round) {
            (_, _, Err(_)) => {}
            (Ok(full), Ok(empty), Ok(round)) => round.extend(figures(&full, &empty)),
            (Err(error), ..) | (_, Err(error), _) => *round = Err(error),
        }
    }
}

/// What a process came to.
struct Held {
    /// MiB of RSS in the end.
    settled: f64,
    /// The most that it ever was.
    peak: f64,
    /// The most that it was when the API server was another one; 0 if it was not.
    relisted: f64,
    /// How long it took until its first list was in, in seconds.
    synced: f64,
    /// The CPU time that it has used, in seconds.
    cpu: f64,
}

impl Held {
    /// What [`PACE`] names.
    fn pace(&self) -> Round {
        PACE.into_iter().zip([self.synced, self.cpu]).collect()
    }
}

async fn held(
    arena: &Arena,
    all: &[Contestant],
    resource: &str,
    namespace: &str,
    relists: bool,
) -> HashMap<Contestant, Result<Held>> {
    let mut synced = Vec::new();
    for contestant in all.iter().copied() {
        let began = Instant::now();
        let words = ["hold", resource].map(str::to_owned).to_vec();
        let lay_out =
            |folder: &Path, namespace: &str| lay_out(folder, namespace, contestant, resource);
        let stage = arena.stage(contestant, namespace.to_owned(), vec![words], lay_out);
        let stage = stage.await.map(|stage| (stage, began.elapsed()));
        synced.push((contestant, stage));
    }
    tokio::time::sleep(SETTLED).await;
    let mut held = Vec::new();
    for (contestant, stage) in synced {
        let settled = stage.and_then(|(stage, synced)| {
            let settled = settled(&stage, synced)?;
            Ok((stage, settled))
        });
        held.push((contestant, settled));
    }
    if relists {
        let restarted = arena
            .ground
            .restart()
            .await
            .map_err(|error| format!("{error:#}"));
        tokio::time::sleep(SETTLED).await;
        for (_, held) in &mut held {
            if let Ok((stage, settled)) = held {
                let relisted = restarted
                    .clone()
                    .map_err(Error::msg)
                    .and_then(|()| relisted(stage));
                match relisted {
                    Ok(relisted) => settled.relisted = relisted,
                    Err(error) => *held = Err(error),
                }
            }
        }
    }
    let held = held.into_iter();
    held.map(|(contestant, held)| (contestant, held.map(|(_, held)| held)))
        .collect()
}

/// What a process holds now; its peak is counted anew from here on.
fn settled(stage: &Stage, synced: Duration) -> Result<Held> {
    let process = running(stage)?.id();
    let held = Held {
        settled: memory(process)?.rss,
        peak: peak(process)?,
        relisted: 0.0,
        synced: synced.as_secs_f64(),
        cpu: cpu(process)?,
    };
    forget_peak(process)?;
    Ok(held)
}

/// The peak since then.
fn relisted(stage: &mut Stage) -> Result<f64> {
    let process = stage
        .running
        .first_mut()
        .context("who holds has a process")?;
    process.check()?;
    peak(process.id())
}

fn running(stage: &Stage) -> Result<&Running> {
    stage.running.first().context("who holds has a process")
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
