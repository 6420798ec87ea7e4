//! The time from the rename of a file to the first call of the version that it brings.
//!
//! Three ends are measured from the rename: the host's line `swapped`; the begin of the first pass
//! after it (when its log line was written, less `elapsed_ms`); and the first write of that pass, as a
//! watch sees it, which is also the API server's and etcd's time.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use jiff::Timestamp;
use kube::api::{DynamicObject, WatchEvent, WatchParams};
use serde_json::{Value, json};
use windlass_controlplane::table::spread;
use windlass_e2e::variant::{Draft, component, put, relay};
use windlass_e2e::{Cluster, DEADLINE, Host, Line, Plugins, eventually};

use crate::Bench;

/// Swaps of each sort.
const SWAPS: u32 = 40;

/// How long the host is left alone before each.
const QUIET: Duration = Duration::from_millis(100);

pub(crate) async fn measure(bench: &Bench) -> Result<()> {
    let cluster = Cluster::new("swaps").await?;
    let plugins = Plugins::new(&cluster.namespace)?;
    put(plugins.folder(), "relay.wasm", &component(1)?)?;
    put(plugins.folder(), "relay.yaml", &document(&plugins, 0))?;
    let host = bench.host(&cluster, &plugins)?;
    cluster.greet("ada", json!({ "name": "Ada" })).await?;
    let ended = |ada: &Value| said(ada.pointer("/status/text")).starts_with("end ");
    cluster
        .until("Greeting", "ada", "is relayed", ended)
        .await?;
    let mut scene = Scene {
        bench,
        cluster,
        plugins,
        host,
        swaps: 0,
    };
    let config = |number| Ok(("relay.yaml", number));
    scene.swaps("new config", config).await?;
    // Both are compiled from the second swap on.
    let compiled = |number: u32| Ok(("relay.wasm", 2 - number % 2));
    scene.swap("relay.wasm", 2).await?;
    scene.swaps("code that is compiled", compiled).await?;
    let new = |number: u32| Ok(("relay.wasm", number + 10));
    scene.swaps("new code, to be compiled", new).await
}

struct Scene<'a> {
    bench: &'a Bench,
    cluster: Cluster,
    plugins: Plugins,
    host: Host,
    /// How often it was swapped so far.
    swaps: usize,
}

/// Milliseconds from the rename.
struct Times {
    swapped: f64,
    begun: f64,
    seen: f64,
}

impl Scene<'_> {
    async fn swaps(
        &mut self,
        what: &str,
        next: impl Fn(u32) -> Result<(&'static str, u32)>,
    ) -> Result<()> {
        let mut times = Vec::new();
        for number in 1..=SWAPS {
            let (file, variant) = next(number)?;
            times.push(self.swap(file, variant).await?);
        }
        let of = |end: fn(&Times) -> f64| times.iter().map(end).collect::<Vec<_>>();
        spread(
            &format!("{what}: rename to swapped"),
            of(|it| it.swapped),
            "ms",
        );
        spread(
            &format!("{what}: rename to first call"),
            of(|it| it.begun),
            "ms",
        );
        spread(
            &format!("{what}: rename to write seen"),
            of(|it| it.seen),
            "ms",
        );
        Ok(())
    }

    async fn swap(&mut self, file: &str, variant: u32) -> Result<Times> {
        let content = match file {
            "relay.yaml" => document(&self.plugins, variant),
            _ => component(variant)?,
        };
        let draft = Draft::write(self.bench.scratch(), file, &content)?;
        let greetings = self.cluster.api("Greeting", &self.cluster.namespace)?;
        let version = greetings.get("ada").await?.metadata.resource_version;
        let version = version.context("an object has a version")?;
        let parameters = WatchParams::default().timeout(290);
        let mut events = greetings.watch(&parameters, &version).await?.boxed();
        tokio::time::sleep(QUIET).await;
        let renamed = Timestamp::now();
        draft.put(self.plugins.folder())?;
        let begun = tokio::time::timeout(DEADLINE, until(&mut events, "begin "));
        let begun = begun.await.map_err(Into::into).flatten();
        begun.with_context(|| format!("the log ends with {:#?}", self.host.log().last()))?;
        let seen = Timestamp::now();
        until(&mut events, "end ").await?;
        self.swaps += 1;
        let (swapped, pass) = self.lines().await?;
        let since = |moment: Timestamp| moment.duration_since(renamed).as_secs_f64() * 1e3;
        let elapsed = pass.fields.get("elapsed_ms").and_then(Value::as_f64);
        Ok(Times {
            swapped: since(time(&swapped)?),
            begun: since(time(&pass)?) - elapsed.context("a pass takes time")?,
            seen: since(seen),
        })
    }

    /// The line of the last swap, and of the first pass after it.
    async fn lines(&self) -> Result<(Line, Line)> {
        eventually(DEADLINE, "the swap is logged", async || {
            let log = self.host.log();
            let swaps = log.iter().enumerate();
            let mut swaps = swaps.filter(|(_, line)| line.message.starts_with("swapped"));
            let Some((place, swapped)) = swaps.nth(self.swaps - 1) else {
                bail!("there are fewer than {} swaps", self.swaps);
            };
            let pass = log.iter().skip(place).find(|line| line.is_any_pass());
            Ok(pass.map(|pass| (swapped.clone(), pass.clone())))
        })
        .await
    }
}

fn document(plugins: &Plugins, version: u32) -> Vec<u8> {
    let version = format!("v{version}");
    relay(plugins, "relay", &version, "").to_string().into()
}

/// Waits until the relay's next write is seen that starts so.
async fn until(
    events: &mut BoxStream<'_, kube::Result<WatchEvent<DynamicObject>>>,
    start: &str,
) -> Result<()> {
    while let Some(event) = events.try_next().await? {
        if let WatchEvent::Modified(ada) = event
            && said(ada.data.pointer("/status/text")).starts_with(start)
        {
            return Ok(());
        }
    }
    bail!("the watch ended before a write that starts with {start:?}")
}

fn said(text: Option<&Value>) -> &str {
    text.and_then(Value::as_str).unwrap_or_default()
}

/// When the line was written.
fn time(line: &Line) -> Result<Timestamp> {
    Ok(line.field("timestamp").parse()?)
}
