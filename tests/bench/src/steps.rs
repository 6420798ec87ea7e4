//! What the machinery costs by itself, without a cluster.

use std::collections::HashMap;

use anyhow::{Context, Result, bail, ensure};
use tokio::process::Command;

use crate::Workload;
use crate::built::program;
use crate::contestant::Contestant;
use crate::results::Round;

/// What this is, and how it is told.
pub(crate) const WORKLOAD: Workload = Workload {
    name: "steps",
    title: "The machinery by itself",
    about: "These are single steps in one thread, each done a thousand times. *Queue*: a key is added to the work \
            queue, taken and handed back, while the queue holds so many keys. The peer is controller-runtime's default \
            priority queue. The queue of Windlass also keeps why a key is there. *Dispatch*: a worker hands its key \
            back and takes the next, while 100,000 wait. The other steps are those of an object that a watch delivers. \
            `make bench-check` counts their instructions.",
    figures: &[
        "queue, 1 key, ns",
        "queue, 1,000 keys, ns",
        "queue, 100,000 keys, ns",
        "dispatch, 100,000 keys wait, ns",
        "next step of an object, ns",
        "store: take in an object, ns",
        "store: take in another version, ns",
        "tracked reads: who is woken, of 10,000, ns",
        "parse a pod of 8 KB, and strip it, ns",
        "grant check, ns",
    ],
    charts: &[("bench-queue.svg", "queue, 1,000 keys, ns")],
    minutes: 1,
    ..Workload::NONE
};

/// Who takes part.
pub(crate) const CONTESTANTS: [Contestant; 2] =
    [Contestant::ControllerRuntime, Contestant::Windlass];

/// Lets one contestant do its steps.
///
/// # Errors
/// Its program is not built, or does not say how long they took.
pub(crate) async fn round(contestant: Contestant) -> Result<Round> {
    let (path, words) = match contestant {
        Contestant::ControllerRuntime => ("target/bench/controller-runtime", &["queue"][..]),
        Contestant::Windlass => ("target/measured/instructions", &["--time", "--json"][..]),
        _ => bail!("{} has no steps", contestant.name()),
    };
    let output = Command::new(program(path)?).args(words).output().await?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{path}: {said}");
    let took: HashMap<String, f64> = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("{path} says {}", String::from_utf8_lossy(&output.stdout)))?;
    let known = WORKLOAD.figures.iter().copied();
    let round: Round = known
        .filter_map(|figure| {
            let name = figure.strip_suffix(", ns")?;
            Some((figure, *took.get(name)?))
        })
        .collect();
    ensure!(round.len() == took.len(), "{path} says {took:?}");
    Ok(round)
}
