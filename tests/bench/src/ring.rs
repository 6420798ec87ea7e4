//! The second workload: many controllers. Each of a hundred has a kind of its own and copies its value to the next.
//!
//! The judge closes the ring: it gives the first hop a new value once the last one, which no controller looks at, has the
//! value before.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use futures::StreamExt;
use futures::stream::BoxStream;
use kube::api::{DynamicObject, Patch, PatchParams, WatchEvent, WatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::Workload;
use crate::arena::{Arena, Stage, plugin};
use crate::built::component;
use crate::contestant::{Contestant, Running};
use crate::kinds::definition;
use crate::process::{Memory, memory};
use crate::results::{Round, percentile};

/// What this is, and how it is told.
pub(crate) const WORKLOAD: Workload = Workload {
    name: "ring",
    title: "Many controllers",
    about: "Each of 100 controllers has a kind of its own, and copies the value of its object to the next object. The \
            peers' controllers share all memory of one process. Windlass runs 100 different plugins, each in a sandbox \
            and with a Lease of its own.",
    figures: &[
        "hop, p50, ms",
        "just turned: RSS, MiB",
        "just turned: PSS, MiB",
        "idle for two minutes: RSS, MiB",
        "idle for two minutes: PSS, MiB",
        "hop of the first turn after that, ms",
    ],
    charts: &[
        ("bench-ring.svg", "hop, p50, ms"),
        ("bench-ring-memory.svg", "idle for two minutes: PSS, MiB"),
    ],
    minutes: 8,
    ..Workload::NONE
};

/// Who takes part.
pub(crate) const CONTESTANTS: [Contestant; 6] = [
    Contestant::Floor,
    Contestant::ControllerRuntime,
    Contestant::KubeRs,
    Contestant::ControllerRuntimeMany,
    Contestant::KubeRsMany,
    Contestant::Windlass,
];

/// Who rests at the same time.
pub(crate) const AT_REST: [&[Contestant]; 2] = [
    &[
        Contestant::ControllerRuntime,
        Contestant::KubeRs,
        Contestant::Windlass,
    ],
    &[Contestant::ControllerRuntimeMany, Contestant::KubeRsMany],
];

/// How long a value may take around the ring.
const PATIENCE: Duration = Duration::from_secs(60);

/// Of all its kinds.
const GROUP: &str = "bench.windlass.dev";

/// The one object of each kind.
const HOP: &str = "hop";

/// How much of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Controllers.
    pub(crate) stations: usize,
    /// How often the ring turns.
    pub(crate) turns: usize,
    /// How long nothing happens until a contestant counts as idle.
    pub(crate) rest: Duration,
}

/// The kinds of a ring.
pub(crate) fn kinds(stations: usize) -> Vec<Value> {
    let value = json!({ "value": { "type": "string" } });
    let kinds = (0..=stations).map(kind);
    kinds.map(|kind| definition(GROUP, &kind, &value)).collect()
}

/// The figures of a ring that turns, and of one that has rested.
pub(crate) const TURNING: &[&str] = &[
    "hop, p50, ms",
    "just turned: RSS, MiB",
    "just turned: PSS, MiB",
];
pub(crate) const RESTING: &[&str] = &[
    "idle for two minutes: RSS, MiB",
    "idle for two minutes: PSS, MiB",
    "hop of the first turn after that, ms",
];

/// A ring with its controllers in their places.
pub(crate) struct Seated {
    stage: Stage,
    ring: Ring,
    _floor: Option<JoinSet<Result<()>>>,
}

/// Lets one contestant's ring turn.
///
/// # Errors
/// It did not come through.
pub(crate) async fn round(arena: &Arena, contestant: Contestant, size: Size) -> Result<Round> {
    let mut seated = Seated::new(arena, contestant, size).await?;
    let mut hops = Vec::new();
    for _ in 0..size.turns {
        hops.push(seated.ring.turn().await?);
    }
    let mut round = vec![("hop, p50, ms", percentile(&mut hops, 50))];
    if !seated.stage.running.is_empty() {
        let held = held(&seated.stage)?;
        round.push(("just turned: RSS, MiB", held.rss));
        round.push(("just turned: PSS, MiB", held.pss));
    }
    seated.check()?;
    Ok(round)
}

/// Lets the rings of contestants with processes rest, at the same time, and turn once more, one after the other.
pub(crate) async fn rest(
    arena: &Arena,
    all: &[Contestant],
    size: Size,
) -> Vec<(Contestant, Result<Round>)> {
    let mut seated = Vec::new();
    for contestant in all.iter().copied() {
        seated.push((contestant, Seated::new(arena, contestant, size).await));
    }
    tokio::time::sleep(size.rest).await;
    let mut rounds = Vec::new();
    for (contestant, seated) in seated {
        let round = async {
            let mut seated = seated?;
            let held = held(&seated.stage)?;
            let hop = seated.ring.turn().await?;
            seated.check()?;
            Ok(vec![
                ("idle for two minutes: RSS, MiB", held.rss),
                ("idle for two minutes: PSS, MiB", held.pss),
                ("hop of the first turn after that, ms", hop),
            ])
        };
        rounds.push((contestant, round.await));
    }
    rounds
}

impl Seated {
    /// The controllers are there, and the ring has turned a few times: what is made once is made.
    ///
    /// # Errors
    /// They do not become ready.
    pub(crate) async fn new(arena: &Arena, contestant: Contestant, size: Size) -> Result<Self> {
        let words = |first: usize, count: usize| {
            let numbers = [first, count].map(|number| number.to_string());
            [vec![WORKLOAD.name.to_owned()], numbers.to_vec()].concat()
        };
        let words = match contestant {
            Contestant::ControllerRuntimeMany | Contestant::KubeRsMany => {
                (0..size.stations).map(|own| words(own, 1)).collect()
            }
            _ => vec![words(0, size.stations)],
        };
        let lay_out = |folder: &Path, namespace: &str| lay_out(folder, namespace, size.stations);
        let stage = arena
            .stage(contestant, arena.namespace().await?, words, lay_out)
            .await?;
        let mut ring = Ring::new(&arena.judge, &stage.namespace, size.stations).await?;
        let floor = match contestant {
            Contestant::Floor => {
                let client = arena.ground.client().await?;
                Some(floor(&client, &stage.namespace, size.stations).await?)
            }
            _ => None,
        };
        for _ in 0..3 {
            ring.turn().await?;
        }
        Ok(Self {
            stage,
            ring,
            _floor: floor,
        })
    }

    /// Fails if a process has ended.
    ///
    /// # Errors
    /// One has.
    pub(crate) fn check(&mut self) -> Result<()> {
        self.stage.running.iter_mut().try_for_each(Running::check)
    }
}

/// What all processes of a contestant hold.
fn held(stage: &Stage) -> Result<Memory> {
    let mut held = Memory::default();
    for running in &stage.running {
        let one = memory(running.id())?;
        held.rss += one.rss;
        held.pss += one.pss;
    }
    Ok(held)
}

/// The judge's end of a ring.
pub(crate) struct Ring {
    first: Api<DynamicObject>,
    /// What becomes of the last hop.
    last: Events,
    turns: usize,
    hops: usize,
}

type Events = BoxStream<'static, kube::Result<WatchEvent<DynamicObject>>>;

impl Ring {
    /// The ring of so many stations in a namespace.
    ///
    /// # Errors
    /// The API server did not answer.
    pub(crate) async fn new(client: &Client, namespace: &str, stations: usize) -> Result<Self> {
        let last = hops(client, namespace, stations);
        Ok(Self {
            first: hops(client, namespace, 0),
            last: events(&last).await?,
            turns: 0,
            hops: stations,
        })
    }

    /// Sends a value around, and answers what a hop took, in milliseconds.
    ///
    /// # Errors
    /// It does not arrive.
    pub(crate) async fn turn(&mut self) -> Result<f64> {
        self.turns += 1;
        let value = format!("turn-{}", self.turns);
        let began = Instant::now();
        put(&self.first, 0, &value).await?;
        let arrives = async {
            while let Some(event) = self.last.next().await.transpose()? {
                if changed(&event) == Some(&value) {
                    return Ok(());
                }
            }
            bail!("the watch of the last hop ended")
        };
        let arrived = tokio::time::timeout(PATIENCE, arrives).await;
        arrived.with_context(|| format!("{value} has not come to the last hop"))??;
        Ok(began.elapsed().as_secs_f64() * 1e3 / self.hops as f64)
    }
}

/// Stations that are nothing but a watch and a write.
async fn floor(client: &Client, namespace: &str, stations: usize) -> Result<JoinSet<Result<()>>> {
    let mut all = JoinSet::new();
    for own in 0..stations {
        let next = own + 1;
        let api = hops(client, namespace, next);
        let mut events = events(&hops(client, namespace, own)).await?;
        all.spawn(async move {
            while let Some(event) = events.next().await.transpose()? {
                if let Some(value) = changed(&event) {
                    put(&api, next, value).await?;
                }
            }
            Ok(())
        });
    }
    Ok(all)
}

async fn events(api: &Api<DynamicObject>) -> Result<Events> {
    let params = WatchParams::default().timeout(290);
    Ok(api.watch(&params, "0").await?.boxed())
}

/// The value that a hop has now.
fn changed(event: &WatchEvent<DynamicObject>) -> Option<&str> {
    match event {
        WatchEvent::Added(hop) | WatchEvent::Modified(hop) => {
            hop.data.pointer("/spec/value")?.as_str()
        }
        WatchEvent::Deleted(_) | WatchEvent::Bookmark(_) | WatchEvent::Error(_) => None,
    }
}

async fn put(api: &Api<DynamicObject>, number: usize, value: &str) -> Result<()> {
    let hop = json!({
        "apiVersion": format!("{GROUP}/v1"),
        "kind": kind(number),
        "metadata": { "name": HOP },
        "spec": { "value": value },
    });
    let by = PatchParams::apply("ring").force();
    api.patch(HOP, &by, &Patch::Apply(&hop)).await?;
    Ok(())
}

fn hops(client: &Client, namespace: &str, number: usize) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk(GROUP, "v1", &kind(number));
    Api::namespaced_with(client.clone(), namespace, &ApiResource::from_gvk(&kind))
}

fn kind(number: usize) -> String {
    format!("Hop{number:04}")
}

/// A plugin for each station, none of which has code in common with another.
///
/// # Errors
/// The component is not built, or the file system said no.
pub(crate) fn lay_out(folder: &Path, namespace: &str, stations: usize) -> Result<usize> {
    let built = component("bench-station")?;
    for own in 0..stations {
        let next = own + 1;
        let component = with(
            &with(&built, "HopThis", &kind(own))?,
            "HopNext",
            &kind(next),
        )?;
        let grant = |number: usize, part: &str, verbs: &[&str]| {
            let resource = format!("{}s{part}", kind(number).to_lowercase());
            json!({
                "apiGroups": [GROUP],
                "resources": [resource],
                "verbs": verbs,
                "namespaces": [namespace],
            })
        };
        let grants = json!([
            grant(own, "", &["get", "list", "watch"]),
            grant(own, "/status", &["patch"]),
            grant(next, "", &["create", "patch"]),
        ]);
        plugin(folder, &plugin_name(own), &component, &grants)?;
    }
    Ok(stations)
}

/// The name of the plugin that is this station.
pub(crate) fn plugin_name(number: usize) -> String {
    format!("station-{number:04}")
}

/// A component with another word in the place of one that is in its data once.
fn with(component: &[u8], word: &str, other: &str) -> Result<Vec<u8>> {
    ensure!(
        word.len() == other.len(),
        "{other} is not as long as {word}"
    );
    let windows = component.windows(word.len()).enumerate();
    let places = windows.filter_map(|(place, window)| (window == word.as_bytes()).then_some(place));
    let places: Vec<usize> = places.collect();
    let [place] = places[..] else {
        bail!("the component holds {word} {} times", places.len());
    };
    let mut patched = component.to_vec();
    patched.splice(place..place + word.len(), other.bytes());
    Ok(patched)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_replaced_where_it_is_there_once() {
        assert_eq!(
            with(b"a HopThis b", "HopThis", "Hop0041").unwrap(),
            b"a Hop0041 b"
        );
        assert!(with(b"HopThis HopThis", "HopThis", "Hop0041").is_err());
        assert!(with(b"nothing", "HopThis", "Hop0041").is_err());
    }
}
