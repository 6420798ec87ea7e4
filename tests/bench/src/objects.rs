//! How a host grows with the objects that it holds.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::json;

use crate::arena::{Arena, plugin};
use crate::built::holder;
use crate::contestant::Contestant;
use crate::ground::Ground;
use crate::hold::fill_maps;
use crate::process::memory;
use crate::results::Round;
use crate::{Curve, Workload};

/// What this is, and how it is told.
pub(crate) const WORKLOAD: Workload = Workload {
    name: "objects",
    title: "More objects",
    about: "A plugin watches ConfigMaps of 2 KB and does nothing about them: 1,000 to 100,000, on the embedded API \
            server. The host starts again each time. The memory is that of the host 5 s after its first list.",
    figures: &[
        "RSS with 1,000 objects, MiB",
        "RSS with 3,000 objects, MiB",
        "RSS with 10,000 objects, MiB",
        "RSS with 30,000 objects, MiB",
        "RSS with 100,000 objects, MiB",
        "time to sync 1,000 objects, s",
        "time to sync 3,000 objects, s",
        "time to sync 10,000 objects, s",
        "time to sync 30,000 objects, s",
        "time to sync 100,000 objects, s",
    ],
    curves: &[
        Curve {
            file: "bench-objects-memory.svg",
            title: "RSS in MiB, by objects",
            points: &[
                (1e3, "RSS with 1,000 objects, MiB"),
                (3e3, "RSS with 3,000 objects, MiB"),
                (1e4, "RSS with 10,000 objects, MiB"),
                (3e4, "RSS with 30,000 objects, MiB"),
                (1e5, "RSS with 100,000 objects, MiB"),
            ],
        },
        Curve {
            file: "bench-objects-sync.svg",
            title: "Time to sync in s, by objects",
            points: &[
                (1e3, "time to sync 1,000 objects, s"),
                (3e3, "time to sync 3,000 objects, s"),
                (1e4, "time to sync 10,000 objects, s"),
                (3e4, "time to sync 30,000 objects, s"),
                (1e5, "time to sync 100,000 objects, s"),
            ],
        },
    ],
    grows: true,
    minutes: 3,
    ..Workload::NONE
};

/// How many there are, one after the other.
const SIZES: [usize; 5] = [1_000, 3_000, 10_000, 30_000, 100_000];

const SETTLED: Duration = Duration::from_secs(5);

/// Lets hosts hold more and more: so many hundredths of that.
///
/// # Errors
/// It did not come through.
pub(crate) async fn round(contestant: Contestant, share: usize) -> Result<Round> {
    let arena = Arena::new(Ground::embedded().await?).await?;
    let namespace = arena.namespace().await?;
    let (mut filled, mut held, mut synced) = (0, Vec::new(), Vec::new());
    for size in SIZES.map(|size| size * share / 100) {
        fill_maps(&arena, &namespace, filled..size).await?;
        filled = size;
        let began = Instant::now();
        let stage = arena.stage(contestant, namespace.clone(), Vec::new(), lay_out);
        let mut stage = stage.await?;
        synced.push(began.elapsed().as_secs_f64());
        tokio::time::sleep(SETTLED).await;
        let running = stage.running.first_mut().context("it has a process")?;
        running.check()?;
        held.push(memory(running.id())?.rss);
    }
    let figures = WORKLOAD.figures.iter().copied();
    Ok(figures.zip(held.into_iter().chain(synced)).collect())
}

fn lay_out(folder: &Path, namespace: &str) -> Result<usize> {
    let grant = |resource: &str, verbs: &[&str]| json!({ "apiGroups": [""], "resources": [resource], "verbs": verbs, "namespaces": [namespace] });
    let grants = json!([
        grant("configmaps", &["get", "list", "watch"]),
        grant("configmaps/status", &["patch"]),
    ]);
    plugin(folder, "bench-holder", &holder("default")?, &grants)?;
    Ok(1)
}
