//! The time from apply to ready, one Greeting at a time, and what the host then holds.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use futures::{Stream, StreamExt};
use kube::api::{DynamicObject, WatchEvent, WatchParams};
use serde_json::{Value, json};
use windlass_controlplane::table::{memory, row, spread};
use windlass_e2e::{Cluster, Plugins};

use crate::Bench;

/// How many Greetings are measured, after some to warm up.
const GREETINGS: usize = 300;
const WARM_UP: usize = 20;

pub(crate) async fn measure(bench: &Bench) -> Result<()> {
    let cluster = Cluster::new("latency").await?;
    let plugins = Plugins::new(&cluster.namespace)?.greeter()?;
    let host = bench.host(&cluster, &plugins)?;
    host.says("all lists are in").await?;
    let idle = memory(host.id())?;
    let greetings = cluster.api("Greeting", &cluster.namespace)?;
    // One watch for all: what opening one costs is not the host's.
    let watch = greetings
        .watch(&WatchParams::default().timeout(290), "0")
        .await?;
    let mut watch = Box::pin(watch);
    let mut times = Vec::new();
    for number in 0..WARM_UP + GREETINGS {
        let name = format!("greeting-{number}");
        let began = Instant::now();
        cluster.greet(&name, json!({ "name": "Ada" })).await?;
        until_ready(&mut watch, &name).await?;
        if number >= WARM_UP {
            times.push(millis(began.elapsed()));
        }
    }
    let passes = host.count(|line| line.message == "pass");
    let failed = host.count(|line| line.message.starts_with("pass failed"));
    spread("greetings, one at a time: apply to ready", times, "ms");
    row("passes / failed", format!("{passes} / {failed}"));
    row("host idle, one plugin loaded", idle);
    let after = format!("host after {} greetings", WARM_UP + GREETINGS);
    row(&after, memory(host.id())?);
    Ok(())
}

/// Waits until the watch shows that the Greeting is ready.
async fn until_ready(
    events: &mut (impl Stream<Item = kube::Result<WatchEvent<DynamicObject>>> + Unpin),
    name: &str,
) -> Result<()> {
    while let Some(event) = events.next().await.transpose()? {
        if let WatchEvent::Modified(greeting) = event
            && greeting.metadata.name.as_deref() == Some(name)
            && greeting.data.pointer("/status/conditions/0/status") == Some(&Value::from("True"))
        {
            return Ok(());
        }
    }
    bail!("{name} did not become ready")
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
