//! How a host grows with its plugins.

use std::path::Path;

use anyhow::{Context, Result};

use crate::arena::Arena;
use crate::contestant::Contestant;
use crate::ground::Ground;
use crate::process::memory;
use crate::results::{Round, percentile};
use crate::ring::{Ring, kinds, lay_out};
use crate::{Curve, Workload};

/// What this is, and how it is told.
pub(crate) const WORKLOAD: Workload = Workload {
    name: "plugins",
    title: "More plugins",
    about: "This is the ring of above with 1 to 300 plugins, on the embedded API server. No two plugins have the same \
            code, and each has a kind, an informer and a Lease of its own. The time to ready runs from the start of \
            the process until every plugin has its Lease and its first list. The compiled code is in the cache.",
    figures: &[
        "PSS with 1 plugin, MiB",
        "PSS with 10 plugins, MiB",
        "PSS with 30 plugins, MiB",
        "PSS with 100 plugins, MiB",
        "PSS with 300 plugins, MiB",
        "start to all ready with 1 plugin, s",
        "start to all ready with 10 plugins, s",
        "start to all ready with 30 plugins, s",
        "start to all ready with 100 plugins, s",
        "start to all ready with 300 plugins, s",
        "hop with 1 plugin, p50, ms",
        "hop with 10 plugins, p50, ms",
        "hop with 30 plugins, p50, ms",
        "hop with 100 plugins, p50, ms",
        "hop with 300 plugins, p50, ms",
    ],
    curves: &[
        Curve {
            file: "bench-plugins-memory.svg",
            title: "PSS in MiB, by plugins",
            points: &[
                (1.0, "PSS with 1 plugin, MiB"),
                (10.0, "PSS with 10 plugins, MiB"),
                (30.0, "PSS with 30 plugins, MiB"),
                (100.0, "PSS with 100 plugins, MiB"),
                (300.0, "PSS with 300 plugins, MiB"),
            ],
        },
        Curve {
            file: "bench-plugins-start.svg",
            title: "Start to all ready in s, by plugins",
            points: &[
                (1.0, "start to all ready with 1 plugin, s"),
                (10.0, "start to all ready with 10 plugins, s"),
                (30.0, "start to all ready with 30 plugins, s"),
                (100.0, "start to all ready with 100 plugins, s"),
                (300.0, "start to all ready with 300 plugins, s"),
            ],
        },
    ],
    grows: true,
    minutes: 3,
    ..Workload::NONE
};

const SIZES: [usize; 5] = [1, 10, 30, 100, 300];

/// How often each ring turns.
const TURNS: usize = 10;

/// Lets rings of more and more plugins turn: so many hundredths of that.
///
/// # Errors
/// It did not come through.
pub(crate) async fn round(contestant: Contestant, share: usize) -> Result<Round> {
    let arena = Arena::new(Ground::embedded().await?).await?;
    let sizes = SIZES.map(|size| (size * share / 100).max(1));
    arena
        .apply(&kinds(sizes.into_iter().max().unwrap_or(1)))
        .await?;
    let (mut held, mut ready, mut hops) = (Vec::new(), Vec::new(), Vec::new());
    for size in sizes {
        let lay_out = |folder: &Path, namespace: &str| lay_out(folder, namespace, size);
        // The first host compiles the plugins; the second one finds their code.
        let warm = arena.stage(contestant, arena.namespace().await?, Vec::new(), lay_out);
        drop(warm.await?);
        let namespace = arena.namespace().await?;
        let mut stage = arena
            .stage(contestant, namespace, Vec::new(), lay_out)
            .await?;
        let mut ring = Ring::new(&arena.judge, &stage.namespace, size).await?;
        let running = stage.running.first_mut().context("it has a process")?;
        ready.push(
            running
                .ready()
                .duration_since(running.began())
                .as_secs_f64(),
        );
        ring.turn().await?;
        let mut took = Vec::new();
        for _ in 0..TURNS {
            took.push(ring.turn().await?);
        }
        running.check()?;
        hops.push(percentile(&mut took, 50));
        held.push(memory(running.id())?.pss);
    }
    let values = held.into_iter().chain(ready).chain(hops);
    Ok(WORKLOAD.figures.iter().copied().zip(values).collect())
}
