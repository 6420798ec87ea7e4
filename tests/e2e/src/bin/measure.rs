//! `make bench`: memory of the idle host, and the time from apply to ready, one Greeting at a time.
//!
//! Uses the release build of the host. Figures are of this machine and this run.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use futures::{Stream, StreamExt};
use kube::api::{DynamicObject, WatchEvent, WatchParams};
use serde_json::{Value, json};
use windlass_e2e::{Account, Cluster, Host, Plugins, workspace};

/// How many Greetings are measured, after some to warm up.
const GREETINGS: usize = 300;
const WARM_UP: usize = 20;

#[tokio::main]
async fn main() -> Result<()> {
    let cluster = Cluster::new("measure").await?;
    let plugins = Plugins::new(&cluster.namespace)?.greeter()?;
    let binary = workspace().join("target/release/windlass");
    let kubeconfig = Account::new(&cluster.namespace, plugins.folder())?.kubeconfig()?;
    let host = Host::run_binary(
        &binary,
        plugins.folder(),
        &kubeconfig,
        &cluster.namespace,
        &[],
    )?;
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
            times.push(began.elapsed());
        }
    }
    times.sort();
    let percentile = |share: usize| {
        times
            .get(times.len() * share / 100)
            .copied()
            .unwrap_or_default()
    };
    let passes = host.count(|line| line.message == "pass");
    let failed = host.count(|line| line.message.starts_with("pass failed"));
    println!("greetings, one at a time       {GREETINGS}");
    println!(
        "apply to ready p50             {:.1} ms",
        millis(percentile(50))
    );
    println!(
        "apply to ready p99             {:.1} ms",
        millis(percentile(99))
    );
    println!("passes / failed                {passes} / {failed}");
    println!("host idle, one plugin loaded   {idle}");
    println!(
        "host after {:4} greetings      {}",
        WARM_UP + GREETINGS,
        memory(host.id())?
    );
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

/// Resident and proportional set size, as the kernel counts them.
fn memory(process: u32) -> Result<String> {
    let rollup = fs::read_to_string(format!("/proc/{process}/smaps_rollup"))?;
    let kib = |name: &str| {
        let line = rollup.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok())
            .unwrap_or(0.0)
    };
    Ok(format!(
        "RSS {:.1} MiB, PSS {:.1} MiB",
        kib("Rss:") / 1024.0,
        kib("Pss:") / 1024.0
    ))
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
