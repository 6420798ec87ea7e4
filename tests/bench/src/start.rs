//! The fifth workload: one object waits, and a controller is started.

use anyhow::{Context, Result};

use crate::Workload;
use crate::arena::Arena;
use crate::contestant::Contestant;
use crate::greet::{self, lay_out};
use crate::greetings::{Greetings, Step};
use crate::results::{Round, percentile};

/// What this is, and how it is told.
pub(crate) const WORKLOAD: Workload = Workload {
    name: "start",
    title: "From the start of a process to its first effect",
    about: "One object of the first workload exists before the controller starts. The time runs from the start of the \
            process until that object has its finalizer, its child and its status. It includes configuration, \
            discovery and the first lists. For Windlass, it also includes the Lease, and the plugin's compiled code \
            from the cache. A round is the median of 3 starts.",
    figures: &["start to first object ready, ms"],
    charts: &[("bench-start.svg", "start to first object ready, ms")],
    minutes: 2,
    ..Workload::NONE
};

/// Who takes part.
pub(crate) const CONTESTANTS: [Contestant; 3] = [
    Contestant::ControllerRuntime,
    Contestant::KubeRs,
    Contestant::Windlass,
];

/// Starts in a round.
const STARTS: usize = 3;

/// Lets one contestant do it once.
///
/// # Errors
/// It did not come through.
pub(crate) async fn round(arena: &Arena, contestant: Contestant) -> Result<Round> {
    let mut took = Vec::new();
    for _ in 0..STARTS {
        took.push(start(arena, contestant).await?);
    }
    let figure = WORKLOAD.figures.first().context("it has a figure")?;
    Ok(vec![(figure, percentile(&mut took, 50))])
}

/// How long one start took, in milliseconds.
async fn start(arena: &Arena, contestant: Contestant) -> Result<f64> {
    let namespace = arena.namespace().await?;
    let greetings = Greetings::new(&arena.judge, &namespace).await?;
    let early = ["early".to_owned()];
    greetings.make(&early).await?;
    let words = vec![vec![greet::WORKLOAD.name.to_owned()]];
    let mut stage = arena.stage(contestant, namespace, words, lay_out).await?;
    let running = stage
        .running
        .first_mut()
        .context("who is started has a process")?;
    let there = greetings.there(Step::Create, &early).await?;
    running.check()?;
    let there = there.first().context("there is one object")?;
    Ok(there.duration_since(running.began()).as_secs_f64() * 1e3)
}
