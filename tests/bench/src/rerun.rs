//! The fourth workload: passes that change nothing, as fast as they come. What the machinery itself costs.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::json;

use crate::Workload;
use crate::arena::{Arena, plugin};
use crate::built::holder;
use crate::contestant::Contestant;
use crate::hold::Filled;
use crate::process::cpu;
use crate::results::Round;

/// What this is, and how it is told.
pub(crate) const WORKLOAD: Workload = Workload {
    name: "rerun",
    title: "A pass that changes nothing",
    about: "A controller holds 10,000 ConfigMaps of 2 KB. Each pass reads one of them, changes nothing, and asks for \
            its next pass after 100 ms. These are more passes than the machine can make. The peers call a function. \
            Windlass creates a new sandbox for each pass, gives it the object, and drops the sandbox.",
    figures: &["passes a second", "CPU of a pass, µs"],
    charts: &[("bench-rerun.svg", "CPU of a pass, µs")],
    minutes: 3,
    ..Workload::NONE
};

/// Who takes part.
pub(crate) const CONTESTANTS: [Contestant; 3] = [
    Contestant::ControllerRuntime,
    Contestant::KubeRs,
    Contestant::Windlass,
];

/// How long they run before anything is counted, and while it is.
const WARM: Duration = Duration::from_secs(5);
const COUNTED: Duration = Duration::from_secs(10);

/// Lets one contestant do it once.
///
/// # Errors
/// It did not come through.
pub(crate) async fn round(arena: &Arena, contestant: Contestant, filled: &Filled) -> Result<Round> {
    let words = vec![vec![WORKLOAD.name.to_owned()]];
    let namespace = filled.maps.clone();
    let mut stage = arena.stage(contestant, namespace, words, lay_out).await?;
    let running = stage
        .running
        .first_mut()
        .context("who makes passes has a process")?;
    tokio::time::sleep(WARM).await;
    let (began, passes, used) = (Instant::now(), running.passes().await?, cpu(running.id())?);
    tokio::time::sleep(COUNTED).await;
    let (took, passes) = (began.elapsed(), running.passes().await? - passes);
    let used = cpu(running.id())? - used;
    running.check()?;
    Ok(vec![
        ("passes a second", passes / took.as_secs_f64()),
        ("CPU of a pass, µs", used * 1e6 / passes),
    ])
}

fn lay_out(folder: &Path, namespace: &str) -> Result<usize> {
    let grant = |resource: &str, verbs: &[&str]| json!({ "apiGroups": [""], "resources": [resource], "verbs": verbs, "namespaces": [namespace] });
    // Every plugin asks for the status of its kind.
    let grants = json!([
        grant("configmaps", &["get", "list", "watch"]),
        grant("configmaps/status", &["patch"]),
    ]);
    plugin(folder, "bench-holder", &holder("again")?, &grants)?;
    Ok(1)
}
