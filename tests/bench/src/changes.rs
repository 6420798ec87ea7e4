//! How a host stands more and more changes a second.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use futures::StreamExt;
use futures::stream::BoxStream;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams, WatchEvent, WatchParams};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::arena::Arena;
use crate::contestant::{Contestant, Running};
use crate::course::greetings;
use crate::greet;
use crate::greetings::{Greetings, Step, kind};
use crate::ground::Ground;
use crate::process::cpu;
use crate::results::{Round, percentile};
use crate::{Curve, Workload};

/// What this is, and how it is told.
pub(crate) const WORKLOAD: Workload = Workload {
    name: "changes",
    title: "More changes",
    about: "There are 5,000 objects of the first workload. For ten seconds, 10 to 4,000 of them are changed each \
            second, even if the plugin cannot keep up. It writes a child and a status for each change. The time runs \
            from the change until its status is seen. The embedded API server, the host and the judge share two \
            processors. Where the line goes steeply up, both processors are busy, and further changes wait.",
    figures: &[
        "p99 at 10 changes a second, ms",
        "p99 at 30 changes a second, ms",
        "p99 at 100 changes a second, ms",
        "p99 at 300 changes a second, ms",
        "p99 at 1,000 changes a second, ms",
        "p99 at 2,000 changes a second, ms",
        "p99 at 4,000 changes a second, ms",
        "CPU of the host at 10 changes a second, processors",
        "CPU of the host at 30 changes a second, processors",
        "CPU of the host at 100 changes a second, processors",
        "CPU of the host at 300 changes a second, processors",
        "CPU of the host at 1,000 changes a second, processors",
        "CPU of the host at 2,000 changes a second, processors",
        "CPU of the host at 4,000 changes a second, processors",
        "done a second, of 4,000 changes",
    ],
    curves: &[
        Curve {
            file: "bench-changes-cpu.svg",
            title: "CPU of the host in processors, by changes a second",
            points: &[
                (10.0, "CPU of the host at 10 changes a second, processors"),
                (30.0, "CPU of the host at 30 changes a second, processors"),
                (100.0, "CPU of the host at 100 changes a second, processors"),
                (300.0, "CPU of the host at 300 changes a second, processors"),
                (1e3, "CPU of the host at 1,000 changes a second, processors"),
                (2e3, "CPU of the host at 2,000 changes a second, processors"),
                (4e3, "CPU of the host at 4,000 changes a second, processors"),
            ],
        },
        Curve {
            file: "bench-changes-p99.svg",
            title: "p99 in ms, by changes a second",
            points: &[
                (10.0, "p99 at 10 changes a second, ms"),
                (30.0, "p99 at 30 changes a second, ms"),
                (100.0, "p99 at 100 changes a second, ms"),
                (300.0, "p99 at 300 changes a second, ms"),
                (1e3, "p99 at 1,000 changes a second, ms"),
                (2e3, "p99 at 2,000 changes a second, ms"),
                (4e3, "p99 at 4,000 changes a second, ms"),
            ],
        },
    ],
    grows: true,
    minutes: 3,
    ..Workload::NONE
};

const RATES: [usize; 7] = [10, 30, 100, 300, 1_000, 2_000, 4_000];
const OBJECTS: usize = 5_000;

/// How long each rate is kept up, and how long what is left over may take.
const KEPT_UP: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_secs(60);

/// Changes more and more in a second: so many hundredths of that.
///
/// # Errors
/// It did not come through.
pub(crate) async fn round(contestant: Contestant, share: usize) -> Result<Round> {
    let arena = Arena::new(Ground::embedded().await?).await?;
    arena.apply(&[greetings()?]).await?;
    let namespace = arena.namespace().await?;
    let mut stage = arena
        .stage(contestant, namespace, Vec::new(), greet::lay_out)
        .await?;
    let running = stage.running.first_mut().context("it has a process")?;
    let objects = (OBJECTS * share / 100).max(10);
    let names: Vec<String> = (0..objects).map(|number| format!("one-{number}")).collect();
    let judge = Greetings::new(&arena.judge, &stage.namespace).await?;
    judge.all(Step::Create, &names, None).await?;
    let mut crowd = Crowd::new(&arena, &stage.namespace, names).await?;
    let (mut times, mut used, mut done) = (Vec::new(), Vec::new(), 0.0);
    for rate in RATES.map(|rate| (rate * share / 100).max(1)) {
        let kept_up = crowd.change(rate, running).await?;
        times.push(kept_up.p99);
        used.push(kept_up.cpu);
        done = kept_up.a_second;
    }
    let values = times.into_iter().chain(used).chain([done]);
    Ok(WORKLOAD.figures.iter().copied().zip(values).collect())
}

/// What a rate comes to.
struct KeptUp {
    /// In milliseconds.
    p99: f64,
    /// Processors that the host has used.
    cpu: f64,
    /// How many changes were done in a second.
    a_second: f64,
}

/// Objects that are changed.
struct Crowd {
    api: Api<DynamicObject>,
    names: Vec<String>,
    waiting: Arc<Mutex<Waiting>>,
    /// So many changes are on their way at once; the others wait in their order.
    at_once: Arc<Semaphore>,
    /// No two changes are the same.
    changes: usize,
}

/// The changes whose end is yet to be seen.
#[derive(Default)]
struct Waiting {
    /// What the status of each object is to say, and since when.
    wanted: HashMap<String, (String, Instant)>,
    /// How long those took that are done, in milliseconds.
    took: Vec<f64>,
}

impl Crowd {
    async fn new(arena: &Arena, namespace: &str, names: Vec<String>) -> Result<Self> {
        let api = Api::namespaced_with(arena.judge.clone(), namespace, &kind());
        let params = WatchParams::default().timeout(290);
        let mut events = api.watch(&params, "0").await?.boxed();
        // What is there comes first, and takes longer to read than a change to be done.
        for _ in &names {
            events
                .next()
                .await
                .context("the judge's watch has ended")??;
        }
        let waiting = Arc::default();
        tokio::spawn(look(events, Arc::clone(&waiting)));
        Ok(Self {
            api,
            names,
            waiting,
            at_once: Arc::new(Semaphore::new(64)),
            changes: 0,
        })
    }

    /// Changes so many objects a second, whether or not those before are done.
    async fn change(&mut self, rate: usize, running: &mut Running) -> Result<KeptUp> {
        let count = rate * KEPT_UP.as_secs() as usize;
        let mut ticks = tokio::time::interval(Duration::from_secs(1) / u32::try_from(rate)?);
        let (began, before) = (Instant::now(), cpu(running.id())?);
        let mut asked = JoinSet::new();
        for name in self.names.iter().cycle().take(count) {
            ticks.tick().await;
            self.changes += 1;
            let value = format!("change {}", self.changes);
            let (api, name) = (self.api.clone(), name.clone());
            // A change before this one that is not done yet is overtaken, and never seen.
            let wanted = (format!("Hello, {value}!"), Instant::now());
            self.waiting.lock().wanted.insert(name.clone(), wanted);
            let at_once = Arc::clone(&self.at_once);
            asked.spawn(async move {
                let _turn = at_once.acquire().await;
                let patch = Patch::Merge(json!({ "spec": { "name": value } }));
                api.patch(&name, &PatchParams::default(), &patch).await
            });
        }
        while let Some(asked) = asked.join_next().await {
            asked??;
        }
        let patience = Instant::now() + PATIENCE;
        while !self.waiting.lock().wanted.is_empty() {
            ensure!(
                Instant::now() < patience,
                "{} changes are never done",
                self.waiting.lock().wanted.len()
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        running.check()?;
        let (took, used) = (began.elapsed().as_secs_f64(), cpu(running.id())? - before);
        let mut times = std::mem::take(&mut self.waiting.lock().took);
        Ok(KeptUp {
            cpu: used / took,
            a_second: times.len() as f64 / took,
            p99: percentile(&mut times, 99),
        })
    }
}

async fn look(
    mut events: BoxStream<'static, kube::Result<WatchEvent<DynamicObject>>>,
    waiting: Arc<Mutex<Waiting>>,
) {
    // A watch that breaks off shows in who waits for it.
    while let Some(Ok(event)) = events.next().await {
        let WatchEvent::Modified(object) = event else {
            continue;
        };
        let text = object
            .data
            .pointer("/status/text")
            .and_then(|text| text.as_str());
        let (Some(text), Some(name)) = (text, &object.metadata.name) else {
            continue;
        };
        let now = Instant::now();
        let mut waiting = waiting.lock();
        if let Some((_, since)) = waiting
            .wanted
            .get(name)
            .filter(|(wanted, _)| wanted == text)
        {
            let took = now.duration_since(*since).as_secs_f64() * 1e3;
            waiting.took.push(took);
            waiting.wanted.remove(name);
        }
    }
}
