//! Calls in fresh sandboxes: what one costs in each language, and what becomes of one that does not end.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use kube::Api;
use kube::api::{DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::Workload;
use crate::arena::{Arena, Stage, document, plugin_with};
use crate::built::{component, hello};
use crate::contestant::Contestant;
use crate::kinds::definition;
use crate::passes::after;
use crate::results::{Round, percentile};

/// What this is, and how it is told.
pub(crate) const WORKLOAD: Workload = Workload {
    name: "calls",
    title: "A call in a fresh sandbox",
    about: "This is the same plugin in five languages. *Nothing to do*: it reads its object and its configuration, and \
            returns. Otherwise it also reads another object, writes a line into the log, and applies a ConfigMap and a \
            status. Both exist already, so nothing is sent. Each call gets a new instance. The CPU time is that of the \
            call with all that its host does for it: the instance, the imports, and the decision to send nothing. \
            Calls run one at a time, and the figure is the median of 500. The last lines are a guest that spins, with \
            a budget of 100 ms of CPU time.",
    figures: &[
        "Rust, nothing to do, CPU µs",
        "JavaScript (QuickJS), nothing to do, CPU µs",
        "Go, nothing to do, CPU µs",
        "Python, nothing to do, CPU µs",
        "JavaScript (StarlingMonkey), nothing to do, CPU µs",
        "Rust, CPU µs",
        "JavaScript (QuickJS), CPU µs",
        "Go, CPU µs",
        "Python, CPU µs",
        "JavaScript (StarlingMonkey), CPU µs",
        "a guest that spins: CPU past its budget, p50, ms",
        "a guest that spins: CPU past its budget, most, ms",
    ],
    charts: &[],
    minutes: 2,
    ..Workload::NONE
};

/// Who takes part.
pub(crate) const CONTESTANTS: [Contestant; 1] = [Contestant::Windlass];

/// Each language, and the figures of calls with nothing to do and with something.
const LANGUAGES: [(&str, &str, &str); 5] = [
    ("rust", "Rust, nothing to do, CPU µs", "Rust, CPU µs"),
    (
        "quickjs",
        "JavaScript (QuickJS), nothing to do, CPU µs",
        "JavaScript (QuickJS), CPU µs",
    ),
    ("go", "Go, nothing to do, CPU µs", "Go, CPU µs"),
    ("python", "Python, nothing to do, CPU µs", "Python, CPU µs"),
    (
        "starlingmonkey",
        "JavaScript (StarlingMonkey), nothing to do, CPU µs",
        "JavaScript (StarlingMonkey), CPU µs",
    ),
];

/// Objects, and how often each is called about.
const OBJECTS: usize = 100;
const TIMES: usize = 5;

/// How often each is called about first, until nothing is left to write.
const SETTLES: usize = 3;

/// Objects about which a guest spins, and its budget in milliseconds.
const SPINS: usize = 20;
const BUDGET: f64 = 100.0;

const GROUP: &str = "examples.windlass.dev";

/// The kind that these plugins watch.
pub(crate) fn kind() -> Value {
    definition(GROUP, "Greeting", &json!({ "name": { "type": "string" } }))
}

/// Measures each language, and the guest that spins.
///
/// # Errors
/// It did not come through.
pub(crate) async fn round(arena: &Arena, contestant: Contestant) -> Result<Round> {
    let mut round = Vec::new();
    for (language, nothing, something) in LANGUAGES {
        let component = hello(language)?;
        // It has nothing to say with no word.
        for (figure, word) in [(nothing, ""), (something, "Ahoy")] {
            let took = calls(arena, contestant, &component, word).await;
            let mut took = took.with_context(|| language.to_owned())?;
            round.push((figure, percentile(&mut took, 50)));
        }
    }
    let mut past = spins(arena, contestant).await.context("hostile")?;
    let (middle, most) = (percentile(&mut past, 50), percentile(&mut past, 100));
    round.push(("a guest that spins: CPU past its budget, p50, ms", middle));
    round.push(("a guest that spins: CPU past its budget, most, ms", most));
    Ok(round)
}

/// The CPU time of calls that change nothing, in microseconds.
async fn calls(
    arena: &Arena,
    contestant: Contestant,
    component: &[u8],
    word: &str,
) -> Result<Vec<f64>> {
    let config = |swaps: usize| {
        let config = json!({ "word": word, "swaps": swaps.to_string() });
        json!({ "limits": { "concurrency": 1 }, "config": config })
    };
    let lay_out = |folder: &Path, namespace: &str| {
        plugin_with(folder, "hello", component, &grants(namespace), &config(0))?;
        Ok(1)
    };
    let mut stage = staged(arena, contestant, OBJECTS, lay_out).await?;
    let grants = grants(&stage.namespace);
    let mut took = Vec::new();
    // Another configuration makes every key run again. What the first calls wrote is there as soon as the host has seen it.
    for swaps in 1..=SETTLES + TIMES {
        document(stage.config.path(), "hello", &grants, &config(swaps))?;
        let running = stage.running.first_mut().context("it has a process")?;
        let (_, passes) = after(running, swaps, OBJECTS).await?;
        let sent = passes.iter().map(|pass| pass.number("requests"));
        let sent: f64 = sent.sum::<Result<f64>>()?;
        ensure!(
            swaps <= SETTLES || sent == 0.0,
            "passes that change nothing sent {sent} requests"
        );
        if swaps > SETTLES {
            let spent = passes
                .iter()
                .take(OBJECTS)
                .map(|pass| Ok(pass.number("cpu_ms")? * 1e3));
            took.extend(spent.collect::<Result<Vec<f64>>>()?);
        }
    }
    Ok(took)
}

/// By how much guests that spin overdrew their budget, in milliseconds.
async fn spins(arena: &Arena, contestant: Contestant) -> Result<Vec<f64>> {
    let lay_out = |folder: &Path, namespace: &str| {
        let more = json!({
            "limits": { "concurrency": 1, "cpu": format!("{BUDGET}ms") },
            "config": { "attack": "spin" },
        });
        let component = component("hostile")?;
        plugin_with(folder, "hostile", &component, &grants(namespace), &more)?;
        Ok(1)
    };
    let mut stage = staged(arena, contestant, SPINS, lay_out).await?;
    let running = stage.running.first_mut().context("it has a process")?;
    let (_, passes) = after(running, 0, SPINS).await?;
    let past = passes
        .iter()
        .map(|pass| Ok(pass.number("cpu_ms")? - BUDGET));
    past.collect()
}

/// A host that has made a pass over each of so many objects.
async fn staged(
    arena: &Arena,
    contestant: Contestant,
    objects: usize,
    lay_out: impl FnOnce(&Path, &str) -> Result<usize>,
) -> Result<Stage> {
    let namespace = arena.namespace().await?;
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(GROUP, "v1", "Greeting"));
    let greetings: Api<DynamicObject> =
        Api::namespaced_with(arena.judge.clone(), &namespace, &kind);
    for number in 0..objects {
        let greeting = json!({
            "apiVersion": format!("{GROUP}/v1"),
            "kind": "Greeting",
            "metadata": { "name": format!("greeting-{number}") },
            "spec": { "name": "Ada" },
        });
        let greeting = serde_json::from_value(greeting)?;
        greetings.create(&PostParams::default(), &greeting).await?;
    }
    let mut stage = arena
        .stage(contestant, namespace, Vec::new(), lay_out)
        .await?;
    let running = stage.running.first_mut().context("it has a process")?;
    after(running, 0, objects).await?;
    Ok(stage)
}

fn grants(namespace: &str) -> Value {
    let grant = |group: &str, resource: &str, verbs: &[&str]| json!({ "apiGroups": [group], "resources": [resource], "verbs": verbs, "namespaces": [namespace] });
    let child = ["get", "list", "watch", "create", "patch", "delete"];
    json!([
        grant(GROUP, "greetings", &["get", "list", "watch", "patch"]),
        grant(GROUP, "greetings/status", &["patch"]),
        grant("", "configmaps", &child),
    ])
}
