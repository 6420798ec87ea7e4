//! The third workload: many objects that nobody does anything about. What each costs in memory, and all of them in time.

mod filled;

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result};
use serde_json::json;

use crate::Workload;
use crate::arena::{Arena, Stage, plugin};
use crate::built::holder;
use crate::contestant::{Contestant, Running};
use crate::process::{cpu, forget_peak, memory, peak};
use crate::results::Round;

pub(crate) use filled::{Filled, fill, fill_maps};

/// What this is, and how it is told.
pub(crate) const WORKLOAD: Workload = Workload {
    name: "hold",
    title: "What a cached object costs",
    about: "A controller watches 10,000 objects and does nothing about them. They are ConfigMaps of 2 KB, or pods of \
            12 KB, of which 5 KB are `managedFields`. The memory is that of the process 20 s after its first list, \
            less that of a process with an empty namespace. It is divided by the number of objects. Then the API \
            server is killed and started again, so all processes list once more. The peak is the most memory that a \
            process holds until 20 s later. A plugin that declares the fields that it reads holds only those.",
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

/// What a process holds now; its peak is counted again from here on.
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
