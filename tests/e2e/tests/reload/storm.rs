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
    // One swap before the count begins: both generations of code have been in memory.
    document(&scene.plugins, "v2", "")?;
    until_said(&scene.host, 1, "swapped").await?;
    settled(&scene.cluster, &vec![0; OBJECTS], "v2").await?;
    let before = resident(scene.host.id())?;
    let history = History::record(&scene.cluster).await?;

    let over = AtomicBool::new(false);
    let (last, swapped) = futures::join!(change_all(&scene.cluster, &over), async {
        let swapped = swap_all(&scene).await;
        over.store(true, Ordering::Relaxed);
        swapped
    });
    let (last, version) = (last?, swapped?);
    settled(&scene.cluster, &last, &version).await?;
    let after = resident(scene.host.id())?;
    let calls = history.judge(&scene.cluster).await?;
    assert!(calls > OBJECTS * 5, "the history has {calls} calls only");
    assert!(
        after <= before + before / 10,
        "resident memory grew from {before} to {after} KiB"
    );
    let passes = scene.host.log();
    let failed: Vec<_> = passes
        .iter()
        .filter(|line| line.is_any_pass() && line.field("outcome") != "rest")
        .collect();
    assert!(failed.is_empty(), "no bad version made a pass: {failed:#?}");
    Ok(())
}

/// Swaps through the versions; answers the last good one.
async fn swap_all(scene: &Scene) -> Result<String> {
    let (mut version, mut variant) = ("v2".to_owned(), 1);
    let (mut swaps, mut refusals) = (1, 0);
    let folder = scene.plugins.folder();
    for (number, bad) in (0..SWAPS).zip(CYCLE.into_iter().cycle()) {
        let next = format!("v{}", number + 3);
        match bad {
            Version::Good => {
                variant = number + 2;
                put(folder, "relay.wasm", &component(variant)?)?;
            }
            Version::Better => {
                document(&scene.plugins, &next, "")?;
                version.clone_from(&next);
            }
            Version::Trapping => document(&scene.plugins, &next, "trap")?,
            Version::Slow => document(&scene.plugins, &next, "slow")?,
            Version::Truncated => {
                let whole = component(number + 2)?;
                put(folder, "relay.wasm", whole.split_at(whole.len() / 3).0)?;
            }
            Version::WrongWorld => {
                let world = "package a:b; world plugin { export run: func(); }";
                put(folder, "relay.wasm", &handmade::empty(world)?)?;
            }
            Version::WrongName => {
                let named = text(&scene.plugins, &next, "").to_string();
                put(
                    folder,
                    "relay.yaml",
                    named.replace("\"relay\"", "\"Relay_2\"").as_bytes(),
                )?;
            }
            Version::GrantsMissing => {
                let mut fewer = text(&scene.plugins, &next, "");
                if let Some(Value::Array(grants)) = fewer.pointer_mut("/spec/grants") {
                    grants.pop();
                }
                put(folder, "relay.yaml", fewer.to_string().as_bytes())?;
            }
        }
        if matches!(bad, Version::Good | Version::Better) {
            swaps += 1;
            until_said(&scene.host, swaps, "swapped").await?;
            continue;
        }
        refusals += 1;
        eventually(DEADLINE, &format!("{bad:?} is refused"), async || {
            let errors = scene.host.count(|line| line.field("level") == "ERROR");
            if errors >= refusals {
                return Ok(Some(()));
            }
            bail!("{errors} of {refusals}")
        })
        .await?;
        // Mended, it is what it was: no news.
        if matches!(bad, Version::Truncated | Version::WrongWorld) {
            put(folder, "relay.wasm", &component(variant)?)?;
        } else {
            document(&scene.plugins, &version, "")?;
        }
    }
    Ok(version)
}

/// Counts up `spec.name` of every object, one after the other, until it is over; answers the last
/// number of each.
async fn change_all(cluster: &Cluster, over: &AtomicBool) -> Result<Vec<u32>> {
    let mut last = vec![0; OBJECTS];
    let api = cluster.api("Greeting", &cluster.namespace)?;
    let mut number = 0;
    while !over.load(Ordering::Relaxed) || number < OBJECTS {
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

/// Everything that the API server saw of the Greetings since a moment.
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

    /// Reads the history up to now, and judges each object's: every call that began ended before the
    /// next one began, in the version in which it began. Answers how many calls there were.
    async fn judge(self, cluster: &Cluster) -> Result<usize> {
        let api = cluster.api("Greeting", &cluster.namespace)?;
        let end = Self::record(cluster).await?.since;
        // Something to end with: the last event is this change.
        let mark = Patch::Merge(json!({ "metadata": { "labels": { "mark": end } } }));
        api.patch("g-0", &PatchParams::default(), &mark).await?;
        let parameters = WatchParams::default();
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
            if greeting
                .metadata
                .labels
                .as_ref()
                .is_some_and(|labels| labels.get("mark") == Some(&end))
            {
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
