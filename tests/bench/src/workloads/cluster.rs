//! `windlass cluster` next to the servers that it stands for: how soon each is ready, and how much memory each has.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::json;
use tokio::task::JoinSet;
use windlass_controlplane::{ControlPlane, Guarded, client, eventually};
use windlass_nodes::{Nodes, Settings};

use crate::Workload;
use crate::built::{host, workspace};
use crate::contestant::Contestant;
use crate::process::{Memory, memory};
use crate::results::{Round, percentile};

/// What this is, and how it is told.
pub(crate) const WORKLOAD: Workload = Workload {
    name: "cluster",
    title: "A small cluster",
    about: "`windlass cluster` with three nodes and eight plugins, next to etcd, kube-apiserver and \
            kube-controller-manager. The nodes of the real servers are simulated too, and do not count. The memory is \
            that of all processes, 10 s after a Deployment has its three pods. Figures are medians of 3 starts.",
    figures: &[READY, DEPLOYED, FIRST, RSS, PSS],
    alone: true,
    minutes: 2,
    ..Workload::NONE
};

const READY: &str = "start until ready, s";
const DEPLOYED: &str = "start until a Deployment has its pods, s";
const FIRST: &str = "start until ready, plugins not compiled yet, s";
const RSS: &str = "RSS, MiB";
const PSS: &str = "PSS, MiB";

/// Who takes part.
pub(crate) const CONTESTANTS: [Contestant; 2] = [Contestant::ControlPlane, Contestant::Windlass];

/// Nodes of each cluster.
const NODES: u32 = 3;
/// How often each starts.
const STARTS: usize = 3;
/// How long a start may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long a cluster has its pods before the memory counts.
const SETTLED: Duration = Duration::from_secs(10);

/// What one start comes to.
struct Start {
    ready: f64,
    deployed: f64,
    memory: Memory,
}

/// Lets one contestant start.
///
/// # Errors
/// It did not come through.
pub(crate) async fn round(contestant: Contestant) -> Result<Round> {
    let mut starts = Vec::new();
    let mut round = Round::new();
    if contestant.is_ours() {
        // The host makes this folder, for its own user alone.
        let folder = tempfile::tempdir()?;
        let code = folder.path().join("code");
        round.push((FIRST, local(&code).await?.ready));
        for _ in 0..STARTS {
            starts.push(local(&code).await?);
        }
    } else {
        for _ in 0..STARTS {
            starts.push(real().await?);
        }
    }
    let mut middle = |figure, of: fn(&Start) -> f64| {
        let mut values: Vec<f64> = starts.iter().map(of).collect();
        round.push((figure, percentile(&mut values, 50)));
    };
    middle(READY, |start| start.ready);
    middle(DEPLOYED, |start| start.deployed);
    middle(RSS, |start| start.memory.rss);
    middle(PSS, |start| start.memory.pss);
    Ok(round)
}

/// Starts the real servers, and simulated nodes in this process.
async fn real() -> Result<Start> {
    let began = Instant::now();
    let plane = ControlPlane::start()?;
    let ready = began.elapsed();
    let settings = Settings {
        nodes: NODES,
        ..Settings::default()
    };
    let nodes = Nodes::register(plane.client().await?, settings).await?;
    let mut tasks = JoinSet::new();
    tasks.spawn(nodes.run());
    deploy(plane.client().await?).await?;
    let deployed = began.elapsed();
    tokio::time::sleep(SETTLED).await;
    start(ready, deployed, &plane.process_ids())
}

/// Starts `windlass cluster`, whose compiled code is in `code`.
async fn local(code: &Path) -> Result<Start> {
    let folder = tempfile::tempdir()?;
    let kubeconfig = folder.path().join("kubeconfig");
    let words = [
        "cluster".into(),
        format!("--nodes={NODES}").into(),
        "--plugins".into(),
        workspace().join("target/bundle").into(),
        "--kubeconfig-out".into(),
        kubeconfig.clone().into(),
        "--admin-bind-address=0".into(),
        "--code-cache".into(),
        code.into(),
    ];
    let began = Instant::now();
    let mut process = Guarded::start(&host()?, &words, folder.path())?;
    eventually(PATIENCE, "the cluster is ready", async || {
        let is_ready = process.log().contains("export KUBECONFIG=");
        let has_ended = process.exited()?.is_some();
        Ok((is_ready || has_ended).then_some(()))
    })
    .await
    .with_context(|| process.last_words())?;
    let ready = began.elapsed();
    let deployed = deploy(
        client(&kubeconfig)
            .await
            .with_context(|| process.last_words())?,
    );
    deployed.await.with_context(|| process.last_words())?;
    let deployed = began.elapsed();
    tokio::time::sleep(SETTLED).await;
    start(ready, deployed, &[process.id()])
}

fn start(ready: Duration, deployed: Duration, processes: &[u32]) -> Result<Start> {
    let mut sum = Memory::default();
    for process in processes {
        let one = memory(*process)?;
        sum.rss += one.rss;
        sum.pss += one.pss;
    }
    Ok(Start {
        ready: ready.as_secs_f64(),
        deployed: deployed.as_secs_f64(),
        memory: sum,
    })
}

/// Creates a Deployment, and waits until its pods are available.
async fn deploy(client: Client) -> Result<()> {
    let all: Api<Deployment> = Api::namespaced(client, "default");
    let labels = json!({ "app": "web" });
    let object = serde_json::from_value(json!({
        "metadata": { "name": "web" },
        "spec": {
            "replicas": 3,
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [{ "name": "web", "image": "web:1" }] },
            },
        },
    }))?;
    all.create(&PostParams::default(), &object).await?;
    eventually(PATIENCE, "the Deployment has its pods", async || {
        let status = all.get("web").await?.status;
        let available = status.and_then(|status| status.available_replicas);
        Ok((available == Some(3)).then_some(()))
    })
    .await
}
