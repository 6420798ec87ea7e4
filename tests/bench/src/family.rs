//! Many objects with children, on the embedded API server and on a real control plane.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::Workload;
use crate::arena::{Arena, plugin};
use crate::built::component;
use crate::contestant::Contestant;
use crate::course::greetings;
use crate::greet::grants;
use crate::greetings::{Greetings, Step};
use crate::ground::Ground;
use crate::process::{memory, peak};
use crate::results::Round;

/// What this is, and how it is told.
pub(crate) const WORKLOAD: Workload = Workload {
    name: "family",
    title: "Many objects with children",
    about: "15,000 objects are created at once. Each gets a set of three children and a status, from a plugin with \
            eight workers. The API server is the embedded one, in a process of its own on the same two processors. The \
            last line is for 1,000 objects on a real API server with etcd. When all objects are done, the host is left \
            alone for 30 s. It then sends only the renewals of its session.",
    figures: &[
        "15,000 on the embedded server: a second",
        "15,000 on the embedded server: with children, a second",
        "15,000 on the embedded server: peak RSS of the host, MiB",
        "15,000 on the embedded server: settled RSS of the host, MiB",
        "15,000 on the embedded server: requests in 30 s of rest",
        "1,000 on a real control plane: sets a second",
    ],
    grows: true,
    minutes: 3,
    ..Workload::NONE
};

/// How many, and how many children each has.
const ON_EMBEDDED: usize = 15_000;
const ON_REAL: usize = 1_000;
const CHILDREN: f64 = 3.0;

/// How long they are left alone.
const REST: Duration = Duration::from_secs(30);

/// Makes them on either server: so many hundredths.
///
/// # Errors
/// It did not come through.
pub(crate) async fn round(contestant: Contestant, share: usize) -> Result<Round> {
    let embedded = made(
        Ground::embedded().await?,
        contestant,
        ON_EMBEDDED * share / 100,
        REST,
    );
    let embedded = embedded.await?;
    let real = made(
        Ground::real()?,
        contestant,
        ON_REAL * share / 100,
        Duration::ZERO,
    )
    .await?;
    let values = [
        embedded.a_second,
        embedded.a_second * (1.0 + CHILDREN),
        embedded.peak,
        embedded.settled,
        embedded.at_rest,
        real.a_second,
    ];
    Ok(WORKLOAD.figures.iter().copied().zip(values).collect())
}

struct Made {
    a_second: f64,
    peak: f64,
    settled: f64,
    at_rest: f64,
}

async fn made(
    ground: Ground,
    contestant: Contestant,
    count: usize,
    rest: Duration,
) -> Result<Made> {
    let arena = Arena::new(ground).await?;
    arena.apply(&[greetings()?]).await?;
    let namespace = arena.namespace().await?;
    let lay_out = |folder: &Path, namespace: &str| {
        let component = component("bench-family")?;
        plugin(folder, "bench-family", &component, &grants(namespace))?;
        Ok(1)
    };
    let mut stage = arena
        .stage(contestant, namespace, Vec::new(), lay_out)
        .await?;
    let greetings = Greetings::new(&arena.judge, &stage.namespace).await?;
    let names = |prefix: &str, count: usize| {
        let names = (0..count).map(|number| format!("{prefix}-{number}"));
        names.collect::<Vec<_>>()
    };
    greetings
        .all(Step::Create, &names("warm", 20), None)
        .await?;
    let began = Instant::now();
    greetings
        .all(Step::Create, &names("all", count), None)
        .await?;
    let took = began.elapsed();
    let running = stage.running.first_mut().context("it has a process")?;
    let requests = "windlass_api_requests_total";
    let before = running.metric(requests).await?;
    tokio::time::sleep(rest).await;
    let at_rest = running.metric(requests).await? - before;
    running.check()?;
    Ok(Made {
        a_second: count as f64 / took.as_secs_f64(),
        peak: peak(running.id())?,
        settled: memory(running.id())?.rss,
        at_rest,
    })
}
