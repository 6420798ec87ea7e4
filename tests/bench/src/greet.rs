//! The first workload: a real controller. Each of a thousand objects gets a finalizer, a child by server-side apply and
//! a status; all are made at once, changed at once and deleted at once. Then a hundred live one after the other.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::Workload;
use crate::arena::{Arena, Stage, plugin};
use crate::built::component;
use crate::contestant::Contestant;
use crate::floor::Floor;
use crate::greetings::{Greetings, Step};
use crate::process::{cpu, peak};
use crate::requests::served_at_rest;
use crate::results::{Round, percentile};

/// What this is, and how it is told.
pub(crate) const WORKLOAD: Workload = Workload {
    name: "greet",
    title: "A real controller",
    about: "Each of 1,000 objects gets a finalizer, a child by server-side apply, and a status. All are created at \
            once, changed at once and deleted at once, with eight workers. Then 100 more live one after the other. An \
            ideal controller sends 7 requests for each object: three when it is created, two when it is changed, and \
            two when it is deleted.",
    figures: &[
        "whole cycle, s",
        "create, p99, ms",
        "change, p99, ms",
        "delete, p99, ms",
        "requests per object, all at once",
        "requests per object, one at a time",
        "one at a time, create to ready, p50, ms",
        "CPU of the controller, s",
        "peak RSS, MiB",
    ],
    charts: &[
        ("bench-greet.svg", "whole cycle, s"),
        ("bench-greet-memory.svg", "peak RSS, MiB"),
    ],
    minutes: 17,
    ..Workload::NONE
};

/// Who takes part.
pub(crate) const CONTESTANTS: [Contestant; 6] = [
    Contestant::Floor,
    Contestant::ControllerRuntime,
    Contestant::ControllerRuntimeLean,
    Contestant::KubeRs,
    Contestant::KubeRsLean,
    Contestant::Windlass,
];

/// How much of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Objects at once.
    pub(crate) crowd: usize,
    /// Objects one after the other.
    pub(crate) queue: usize,
}

/// Requests of the judge itself for each object: it makes it, changes it and deletes it.
const OWN: f64 = 3.0;

/// Lets one contestant do it once.
///
/// # Errors
/// It did not come through.
pub(crate) async fn round(arena: &Arena, contestant: Contestant, size: Size) -> Result<Round> {
    let mut stage = arena
        .stage(
            contestant,
            arena.namespace().await?,
            vec![vec![WORKLOAD.name.to_owned()]],
            lay_out,
        )
        .await?;
    let greetings = Greetings::new(&arena.judge, &stage.namespace).await?;
    let floor = match contestant {
        Contestant::Floor => {
            let client = arena.ground.client().await?;
            Some(Floor::start(&client, &stage.namespace))
        }
        _ => None,
    };
    let measured = measure(arena, &greetings, floor.as_ref(), &stage, size).await;
    for running in &mut stage.running {
        running.check()?;
    }
    measured
}

async fn measure(
    arena: &Arena,
    greetings: &Greetings,
    floor: Option<&Floor>,
    stage: &Stage,
    size: Size,
) -> Result<Round> {
    // Connections are made, and what is made once is made.
    live(greetings, floor, &names("warm", 20)).await?;
    let running = stage.running.first();
    let used = || running.map(|running| cpu(running.id())).transpose();
    let (before, cpu_before) = (served_at_rest(&arena.judge).await?, used()?);
    let began = Instant::now();
    let [mut create, mut change, mut delete] =
        live(greetings, floor, &names("all", size.crowd)).await?;
    let whole = began.elapsed().as_secs_f64();
    let cpu_after = used()?;
    let between = served_at_rest(&arena.judge).await?;
    let mut alone = Vec::new();
    for name in names("one", size.queue) {
        let [create, ..] = live(greetings, floor, &[name]).await?;
        alone.extend(create);
    }
    let after = served_at_rest(&arena.judge).await?;
    let per_object = |from: u64, to: u64, objects: usize| (to - from) as f64 / objects as f64 - OWN;
    let mut round = vec![
        ("whole cycle, s", whole),
        ("create, p99, ms", percentile(&mut create, 99)),
        ("change, p99, ms", percentile(&mut change, 99)),
        ("delete, p99, ms", percentile(&mut delete, 99)),
        (
            "requests per object, all at once",
            per_object(before, between, size.crowd),
        ),
        (
            "requests per object, one at a time",
            per_object(between, after, size.queue),
        ),
        (
            "one at a time, create to ready, p50, ms",
            percentile(&mut alone, 50),
        ),
    ];
    if let (Some(before), Some(after), Some(running)) = (cpu_before, cpu_after, running) {
        round.push(("CPU of the controller, s", after - before));
        round.push(("peak RSS, MiB", peak(running.id())?));
    }
    Ok(round)
}

/// Takes objects through all that is done to them, and answers what each step took for each.
async fn live(
    greetings: &Greetings,
    floor: Option<&Floor>,
    names: &[String],
) -> Result<[Vec<f64>; 3]> {
    let mut took = Vec::new();
    for step in Step::ALL {
        let step_took = greetings.all(step, names, floor).await;
        took.push(step_took.with_context(|| format!("{step:?}"))?);
    }
    let took: Result<[Vec<f64>; 3], _> = took.try_into();
    took.ok().context("there are three steps")
}

fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count)
        .map(|number| format!("{prefix}-{number}"))
        .collect()
}

/// Lays out its plugin.
///
/// # Errors
/// It is not built, or the file system said no.
pub(crate) fn lay_out(folder: &Path, namespace: &str) -> Result<usize> {
    let component = component("bench-greeter")?;
    plugin(folder, "bench-greeter", &component, &grants(namespace))?;
    Ok(1)
}

/// What its plugin may do; so may the one that makes families.
pub(crate) fn grants(namespace: &str) -> Value {
    let grant = |group: &str, resource: &str, verbs: &[&str]| json!({ "apiGroups": [group], "resources": [resource], "verbs": verbs, "namespaces": [namespace] });
    let own = ["get", "list", "watch", "patch"];
    let child = ["get", "list", "watch", "create", "patch", "delete"];
    json!([
        grant("bench.windlass.dev", "greetings", &own),
        grant("bench.windlass.dev", "greetings/status", &["patch"]),
        grant("", "configmaps", &child),
    ])
}
