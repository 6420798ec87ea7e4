//! A hundred versions, good and bad, while three hundred objects change all the time.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail, ensure};
use futures::stream::{self, StreamExt, TryStreamExt};
use kube::api::{DynamicObject, Patch, PatchParams, WatchEvent, WatchParams};
use serde_json::{Value, json};
use windlass_controlplane::eventually;
use windlass_e2e::{Cluster, DEADLINE, Scene};
use windlass_sandbox_tests::handmade;

use crate::relay::{component, document, put, scene, text, until_said};

const OBJECTS: usize = 300;
const SWAPS: u32 = 100;
/// Swaps before the memory is measured.
const WARM: u32 = 40;

/// What lies in the folder next.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Version {
    /// New code.
    Good,
    /// New configuration.
    Better,
    Trapping,
    Slow,
    Truncated,
    WrongWorld,
    WrongName,
    GrantsMissing,
}

const CYCLE: [Version; 8] = [
    Version::Good,
    Version::Trapping,
    Version::Better,
    Version::Slow,
    Version::Truncated,
    Version::WrongWorld,
    Version::WrongName,
    Version::GrantsMissing,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_change_is_lost_while_a_plugin_is_swapped_a_hundred_times() -> Result<()> {
    let scene = scene("reload-storm", &[]).await?;
    scene.host.says("reconciling").await?;
    let numbers: Vec<usize> = (0..OBJECTS).collect();
    let greet = |number: usize| {
        let cluster = &scene.cluster;
        async move {
            cluster
                .greet(&format!("g-{number}"), json!({ "name": "n-0" }))
                .await
        }
    };
    stream::iter(numbers)
        .map(greet)
        .buffer_unordered(8)
        .try_for_each(|_| async { Ok(()) })
        .await?;
    settled(&scene.cluster, &vec![0; OBJECTS], "v1").await?;
    let over = AtomicBool::new(false);
    let history = History::record(&scene.cluster).await?;
    let (calls, (before, after)) = futures::try_join!(history.judge(&scene.cluster), async {
        let changing = change_all(&scene.cluster, &over);
        let swapping = async {
            let mut storm = Storm::over(&scene);
            // The allocator and the page cache take what they will ever need from the first dozens of swaps.
            storm.swap(WARM).await?;
            let before = resident(scene.host.id())?;
            storm.swap(SWAPS).await?;
            let after = resident(scene.host.id())?;
            over.store(true, Ordering::Relaxed);
            Ok((storm.version, before, after))
        };
        let (last, (version, before, after)) = futures::try_join!(changing, swapping)?;
        settled(&scene.cluster, &last, &version).await?;
        mark(&scene.cluster).await?;
        Ok((before, after))
    })?;
    // How many changes a call has in front of it is the machine's affair; each object has one call at least.
    assert!(calls >= OBJECTS, "the history has {calls} calls only");
    assert!(
        after <= before + before / 10,
        "resident memory grew from {before} to {after} KiB in {SWAPS} swaps"
    );
    let passes = scene.host.log();
    let failed: Vec<_> = passes
        .iter()
        .filter(|line| line.is_any_pass() && line.field("outcome") != "rest")
        .collect();
    assert!(failed.is_empty(), "no bad version made a pass: {failed:#?}");
    Ok(())
}

/// The versions put into the folder so far.
struct Storm<'a> {
    scene: &'a Scene,
    /// The last good version, and the component in it.
    version: String,
    variant: u32,
    tried: u32,
    swaps: usize,
    refusals: usize,
}

impl<'a> Storm<'a> {
    fn over(scene: &'a Scene) -> Self {
        Self {
            scene,
            version: "v1".to_owned(),
            variant: 1,
            tried: 0,
            swaps: 0,
            refusals: 0,
        }
    }

    /// Goes through the next versions, and waits for what becomes of each.
    async fn swap(&mut self, versions: u32) -> Result<()> {
        let from = self.tried as usize;
        for version in CYCLE
            .iter()
            .cycle()
            .skip(from % CYCLE.len())
            .take(versions as usize)
        {
            self.tried += 1;
            self.put(*version)?;
            if matches!(version, Version::Good | Version::Better) {
                self.swaps += 1;
                until_said(&self.scene.host, self.swaps, "swapped").await?;
            } else {
                self.refusals += 1;
                self.refused(*version).await?;
                self.mend(*version)?;
            }
        }
        Ok(())
    }

    fn put(&mut self, version: Version) -> Result<()> {
        let plugins = &self.scene.plugins;
        let folder = plugins.folder();
        let name = format!("v{}", self.tried + 1);
        match version {
            Version::Good => {
                self.variant = self.tried + 1;
                put(folder, "relay.wasm", &component(self.variant)?)
            }
            Version::Better => {
                self.version.clone_from(&name);
                document(plugins, &name, "")
            }
            Version::Trapping => document(plugins, &name, "trap"),
            Version::Slow => document(plugins, &name, "slow"),
            Version::Truncated => {
                let whole = component(self.tried + 1)?;
                put(folder, "relay.wasm", whole.split_at(whole.len() / 3).0)
            }
            Version::WrongWorld => {
                let world = "package a:b; world plugin { export run: func(); }";
                put(folder, "relay.wasm", &handmade::empty(world)?)
            }
            Version::WrongName => {
                let named = text(plugins, &name, "").to_string();
                let named = named.replace("\"relay\"", "\"Relay_2\"");
                put(folder, "relay.yaml", named.as_bytes())
            }
            Version::GrantsMissing => {
                let mut fewer = text(plugins, &name, "");
                if let Some(Value::Array(grants)) = fewer.pointer_mut("/spec/grants") {
                    grants.pop();
                }
                put(folder, "relay.yaml", fewer.to_string().as_bytes())
            }
        }
    }

    async fn refused(&self, version: Version) -> Result<()> {
        eventually(DEADLINE, &format!("{version:?} is refused"), async || {
            let errors = (self.scene.host).count(|line| line.field("level") == "ERROR");
            if errors >= self.refusals {
                return Ok(Some(()));
            }
            bail!("{errors} of {}", self.refusals)
        })
        .await
    }

    /// Puts the last good version back: it is what it was, so no news.
    fn mend(&self, version: Version) -> Result<()> {
        if matches!(version, Version::Truncated | Version::WrongWorld) {
            let folder = self.scene.plugins.folder();
            return put(folder, "relay.wasm", &component(self.variant)?);
        }
        document(&self.scene.plugins, &self.version, "")
    }
}

/// Counts up `spec.name` of every object, one after the other, until it is over; answers the last
/// number of each.
async fn change_all(cluster: &Cluster, over: &AtomicBool) -> Result<Vec<u32>> {
    let mut last = vec![0; OBJECTS];
    let api = cluster.api("Greeting", &cluster.namespace)?;
    let mut number = 0;
    while !over.load(Ordering::Relaxed) || number < OBJECTS * 5 {
        let object = number % OBJECTS;
        let held = last.get_mut(object).context("within")?;
        *held += 1;
        let patch = Patch::Merge(json!({ "spec": { "name": format!("n-{held}") } }));
        api.patch(&format!("g-{object}"), &PatchParams::default(), &patch)
            .await?;
        number += 1;
    }
    Ok(last)
}

/// Waits until every object shows its last number, seen by `version`.
async fn settled(cluster: &Cluster, last: &[u32], version: &str) -> Result<()> {
    let api = cluster.api("Greeting", &cluster.namespace)?;
    eventually(
        DEADLINE * 2,
        &format!("all is settled by {version}"),
        async || {
            let mut shown = BTreeMap::new();
            for greeting in api.list(&kube::api::ListParams::default()).await? {
                let text = greeting
                    .data
                    .pointer("/status/text")
                    .and_then(Value::as_str);
                shown.insert(
                    greeting.metadata.name.unwrap_or_default(),
                    text.unwrap_or_default().to_owned(),
                );
            }
            for (object, last) in last.iter().enumerate() {
                let want = format!("end {version} n-{last}");
                let held = shown.get(&format!("g-{object}"));
                ensure!(held == Some(&want), "g-{object} shows {held:?}, not {want}");
            }
            Ok(Some(()))
        },
    )
    .await
}

/// Something to end the history with: the last event is this change.
async fn mark(cluster: &Cluster) -> Result<()> {
    let api = cluster.api("Greeting", &cluster.namespace)?;
    let mark = Patch::Merge(json!({ "metadata": { "labels": { "history": "ends" } } }));
    api.patch("g-0", &PatchParams::default(), &mark).await?;
    Ok(())
}

/// Everything that the API server saw of the Greetings since a moment. It is read while it happens: the
/// server keeps little more than a minute of it.
struct History {
    since: String,
}

impl History {
    async fn record(cluster: &Cluster) -> Result<Self> {
        let api = cluster.api("Greeting", &cluster.namespace)?;
        let list = api.list(&kube::api::ListParams::default().limit(1)).await?;
        let since = list
            .metadata
            .resource_version
            .context("a list has a version")?;
        Ok(Self { since })
    }

    /// Reads the history up to the mark, and judges each object's: every call that began ended before
    /// the next one began, in the version in which it began. Answers how many calls there were.
    async fn judge(self, cluster: &Cluster) -> Result<usize> {
        let api = cluster.api("Greeting", &cluster.namespace)?;
        let parameters = WatchParams::default().disable_bookmarks();
        let mut events = api.watch(&parameters, &self.since).await?.boxed();
        let mut running: BTreeMap<String, (String, String)> = BTreeMap::new();
        let mut last: BTreeMap<String, String> = BTreeMap::new();
        let mut calls = 0;
        loop {
            let event = events
                .try_next()
                .await?
                .context("the watch ended before the mark")?;
            let WatchEvent::Modified(greeting) = event else {
                bail!("the history has something else in it: {event:?}");
            };
            let labels = greeting.metadata.labels.as_ref();
            if labels.is_some_and(|labels| labels.contains_key("history")) {
                return Ok(calls);
            }
            let name = greeting.metadata.name.clone().unwrap_or_default();
            let text = said(&greeting);
            if last.insert(name.clone(), text.clone()).as_ref() == Some(&text) {
                continue;
            }
            let words: Vec<&str> = text.split(' ').collect();
            match words.as_slice() {
                ["begin", version, number] => {
                    let begun = ((*version).to_owned(), (*number).to_owned());
                    let open = running.insert(name.clone(), begun);
                    ensure!(
                        open.is_none(),
                        "{name}: {text:?} while {open:?} had not ended"
                    );
                }
                ["end", version, number] => {
                    let open = running.remove(&name);
                    let fits = open
                        .as_ref()
                        .is_none_or(|(by, of)| by == version && of == number);
                    ensure!(fits, "{name}: {text:?} ended {open:?}");
                    calls += 1;
                }
                _ => bail!("{name}: {text:?}"),
            }
        }
    }
}

fn said(greeting: &DynamicObject) -> String {
    let text = greeting
        .data
        .pointer("/status/text")
        .and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

/// The resident memory of a process, in KiB.
fn resident(process: u32) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.context("a process has resident memory")?.parse()?)
}
