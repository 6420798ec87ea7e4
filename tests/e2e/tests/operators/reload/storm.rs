//! Many versions, good and bad, while many objects change all the time.
//!
//! `WINDLASS_STORM=1000` makes so many swaps with as many objects, through the Plugin object.

mod failures;
mod history;
mod site;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail, ensure};
use futures::stream::{self, StreamExt, TryStreamExt};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use windlass_controlplane::eventually;
use windlass_e2e::{Cluster, DEADLINE, Line};
use windlass_sandbox_tests::handmade;

use crate::reload::relay::{component, text, until_said};
use failures::Failures;
use history::{History, mark};
use site::Site;

/// How much happens in a storm.
#[derive(Clone, Copy)]
struct Size {
    objects: usize,
    swaps: u32,
    /// Swaps before the memory counts: the allocator takes what it will ever need from these.
    warm: u32,
    /// How much the memory may grow, in percent.
    growth: u64,
}

/// What is put in place next.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Version {
    /// New code.
    Good,
    /// New configuration.
    Better,
    Trapping,
    Slow,
    /// It passes the smoke test, and fails then.
    Failing,
    Huge,
    Truncated,
    WrongWorld,
    WrongName,
    GrantsMissing,
}

const CYCLE: [Version; 10] = [
    Version::Good,
    Version::Trapping,
    Version::Better,
    Version::Slow,
    Version::Failing,
    Version::Huge,
    Version::Truncated,
    Version::WrongWorld,
    Version::WrongName,
    Version::GrantsMissing,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_change_is_lost_while_a_plugin_of_the_folder_is_swapped_a_hundred_times() -> Result<()> {
    let size = Size {
        objects: 300,
        swaps: 100,
        warm: 40,
        growth: 10,
    };
    storm(Site::folder("reload-storm").await?, size).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_change_is_lost_while_a_plugin_is_swapped_through_its_object() -> Result<()> {
    let long = std::env::var("WINDLASS_STORM").ok();
    let size = match long {
        Some(swaps) => Size {
            objects: swaps.parse()?,
            swaps: swaps.parse()?,
            warm: 90,
            growth: 5,
        },
        None => Size {
            objects: 100,
            swaps: 20,
            warm: 20,
            growth: 20,
        },
    };
    storm(Site::object("object-storm").await?, size).await
}

async fn storm(site: Site, size: Size) -> Result<()> {
    site.host.says("running").await?;
    let greet = |number: usize| {
        let cluster = &site.cluster;
        async move {
            cluster
                .greet(&format!("g-{number}"), json!({ "name": "n-0" }))
                .await
        }
    };
    stream::iter(0..size.objects)
        .map(greet)
        .buffer_unordered(8)
        .try_for_each(|_| async { Ok(()) })
        .await?;
    settled(&site.cluster, &vec![0; size.objects], "v1").await?;
    let over = AtomicBool::new(false);
    let history = History::record(&site.cluster).await?;
    let judged = futures::try_join!(history.judge(&site.cluster), async {
        let changing = change_all(&site.cluster, size.objects, &over);
        let swapping = async {
            let mut storm = Storm::over(&site);
            let before = storm.swap(size.warm).await?;
            let after = storm.swap(size.swaps).await?;
            over.store(true, Ordering::Relaxed);
            Ok((storm.version, before, after, storm.failing))
        };
        let (last, (version, before, after, failing)) = futures::try_join!(changing, swapping)?;
        settled(&site.cluster, &last, &version).await?;
        mark(&site.cluster).await?;
        println!("{} changes", last.iter().sum::<u32>());
        Ok((before, after, failing))
    });
    // The error stands before the log, which is long.
    let (calls, (before, after, failing)) = judged
        .map_err(|error| anyhow::anyhow!("{error:#}\nthe host's log:\n{:#?}", site.host.log()))?;
    println!("{calls} calls; resident memory: {before} KiB, then {after} KiB");
    // How many changes a call has in front of it is the machine's affair; each object has one call at least.
    ensure!(calls >= size.objects, "the history has {calls} calls only");
    ensure!(
        after <= before + before * size.growth / 100,
        "resident memory grew from {before} to {after} KiB in {} swaps",
        size.swaps
    );
    let failures = Failures::of(&site.host.log());
    println!("{failures}");
    failures.judge(&failing)
}

/// The versions put in place so far.
struct Storm<'a> {
    site: &'a Site,
    /// The last good version, and the component in it.
    version: String,
    variant: u32,
    tried: u32,
    /// Those that were made to fail.
    failing: Vec<String>,
    refusals: usize,
}

impl<'a> Storm<'a> {
    fn over(site: &'a Site) -> Self {
        Self {
            site,
            version: "v1".to_owned(),
            variant: 1,
            tried: 0,
            failing: Vec::new(),
            refusals: 0,
        }
    }

    /// Goes through the next versions, and waits for what becomes of each. Answers the least resident memory in the last
    /// round of them, in KiB: what a large component took is given back later.
    async fn swap(&mut self, versions: u32) -> Result<u64> {
        let mut memory = Vec::new();
        for _ in 0..versions {
            memory.push(resident(self.site.host.id())?);
            let next = CYCLE.iter().cycle().nth(self.tried as usize % CYCLE.len());
            let version = *next.context("a cycle goes on")?;
            self.tried += 1;
            let swapped = |line: &Line| line.message.contains("swapped");
            let swaps = self.site.host.count(swapped);
            self.put(version).await?;
            if matches!(version, Version::Good | Version::Better) {
                until_said(&self.site.host, swaps + 1, "swapped").await?;
                continue;
            }
            self.refusals += 1;
            self.refused(version).await?;
            self.put_back(version).await?;
            if version == Version::Failing {
                self.failing.push(self.newest());
                self.runs_again().await?;
            }
        }
        let last = memory.iter().rev().take(CYCLE.len()).min();
        last.copied().context("there are versions")
    }

    /// The name of the version that was put in place last.
    fn newest(&self) -> String {
        format!("v{}", self.tried + 1)
    }

    async fn put(&mut self, version: Version) -> Result<()> {
        let (site, tried) = (self.site, self.tried);
        let name = self.newest();
        let document = |fault: &str| text(&site.plugins, &name, fault);
        match version {
            Version::Good => {
                self.variant = tried + 1;
                site.component(&component(self.variant)?).await
            }
            Version::Better => {
                self.version.clone_from(&name);
                site.document(document("")).await
            }
            Version::Trapping => site.document(document("trap")).await,
            Version::Slow => site.document(document("slow")).await,
            Version::Failing => site.document(document("fail")).await,
            Version::Huge => site.component(&site.huge()?).await,
            Version::Truncated => {
                let whole = component(tried + 1)?;
                site.component(whole.split_at(whole.len() / 3).0).await
            }
            Version::WrongWorld => {
                let world = "package a:b; world plugin { export run: func(); }";
                site.component(&handmade::empty(world)?).await
            }
            Version::WrongName => site.document(site.mistaken(&name)).await,
            Version::GrantsMissing => {
                let mut fewer = document("");
                if let Some(Value::Array(grants)) = fewer.pointer_mut("/spec/grants") {
                    grants.pop();
                }
                site.document(fewer).await
            }
        }
    }

    async fn refused(&self, version: Version) -> Result<()> {
        eventually(DEADLINE, &format!("{version:?} is refused"), async || {
            let errors = (self.site.host).count(|line| line.field("level") == "ERROR");
            if errors >= self.refusals {
                return Ok(Some(()));
            }
            bail!("{errors} of {}", self.refusals)
        })
        .await
    }

    /// Waits until the last good version makes passes: an older one may have run meanwhile, whose trial was over.
    async fn runs_again(&self) -> Result<()> {
        let begin = format!("end {} ", self.version);
        let runs = |greeting: &Value| {
            let text = greeting.pointer("/status/text").and_then(Value::as_str);
            text.is_some_and(|text| text.starts_with(&begin))
        };
        let cluster = &self.site.cluster;
        let runs = cluster.until("Greeting", "g-0", "is of the last good version", runs);
        runs.await.map(drop)
    }

    /// Puts the last good version back: it is what it was, so no news.
    async fn put_back(&self, version: Version) -> Result<()> {
        if matches!(
            version,
            Version::Huge | Version::Truncated | Version::WrongWorld
        ) {
            return self.site.component(&component(self.variant)?).await;
        }
        let document = text(&self.site.plugins, &self.version, "");
        self.site.document(document).await
    }
}

/// Counts up `spec.name` of every object, a few at a time, until it is over; answers the last number of each.
async fn change_all(cluster: &Cluster, objects: usize, over: &AtomicBool) -> Result<Vec<u32>> {
    let mut round = 0;
    let api = cluster.api("Greeting", &cluster.namespace)?;
    let change = |object: usize, number: u32| {
        let api = api.clone();
        async move {
            let patch = Patch::Merge(json!({ "spec": { "name": format!("n-{number}") } }));
            let name = format!("g-{object}");
            api.patch(&name, &PatchParams::default(), &patch).await?;
            anyhow::Ok(())
        }
    };
    while !over.load(Ordering::Relaxed) || round < 5 {
        round += 1;
        stream::iter(0..objects)
            .map(|object| change(object, round))
            .buffer_unordered(4)
            .try_for_each(|()| async { Ok(()) })
            .await?;
    }
    Ok(vec![round; objects])
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

/// The resident memory of a process, in KiB.
fn resident(process: u32) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.context("a process has resident memory")?.parse()?)
}
