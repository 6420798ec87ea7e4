//! Kubernetes' own controllers of Deployments and ReplicaSets next to the same controllers as plugins: `make bench-workloads`.

mod audit;
pub(crate) mod cluster;
mod controllers;
mod deployments;
mod touched;

use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::task::JoinSet;
use windlass_controlplane::ControlPlane;
use windlass_nodes::{Nodes, Settings};

use crate::Workload;
use crate::contestant::Contestant;
use crate::process::memory;
use crate::results::Round;
use controllers::{Controllers, LEFT_OUT};
use deployments::Deployments;

/// What this is, and how it is told.
pub(crate) const WORKLOAD: Workload = Workload {
    name: "workloads",
    title: "Deployments and ReplicaSets, by plugins and by kube-controller-manager",
    about: "Ten Deployments are created, get another image, and are scaled to 0. Each contestant has an API server of \
            its own, with simulated nodes. The other controllers run in a kube-controller-manager that is not measured.",
    figures: &[
        PODS,
        "create: until all pods are available, s",
        "rollout: until all pods are replaced, s",
        "scale to 0: until all pods are gone, s",
        "CPU of all three, s",
        "requests",
        "requests that were answered with 409",
        "requests that were answered with 429",
        "RSS with all pods, MiB",
        "peak RSS, MiB",
        "CPU after a change of a ReplicaSet that needs no write, ms",
        "of that, the pass of the ReplicaSet, ms",
    ],
    alone: true,
    minutes: 40,
    ..Workload::NONE
};

const PODS: &str = "pods";

/// Who takes part.
pub(crate) const CONTESTANTS: [Contestant; 4] = [
    Contestant::KubeControllerManager,
    Contestant::Windlass,
    Contestant::KubeControllerManagerDefault,
    Contestant::WindlassDefault,
];

/// How long the cluster is left alone between two steps.
const QUIET: Duration = Duration::from_secs(5);

/// How much there is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Simulated nodes.
    pub(crate) nodes: u32,
    /// Deployments.
    pub(crate) deployments: usize,
    /// Pods of each.
    pub(crate) replicas: usize,
    /// Pods of each for kube-controller-manager with its default limits, which makes 20 a second.
    pub(crate) few: usize,
}

/// Lets one contestant do it once.
///
/// # Errors
/// It did not come through.
pub(crate) async fn round(contestant: Contestant, size: Size) -> Result<Round> {
    let replicas = match contestant {
        Contestant::KubeControllerManagerDefault => size.few,
        _ => size.replicas,
    };
    let plane = ControlPlane::start_with_controllers(LEFT_OUT)?;
    let settings = Settings {
        nodes: size.nodes,
        ..Settings::default()
    };
    let nodes = Nodes::register(plane.client().await?, settings).await?;
    let mut tasks = JoinSet::new();
    tasks.spawn(nodes.run());
    let namespace = plane.namespace("bench").await?;
    let mut controllers = Controllers::start(contestant, &plane).await?;
    let client = plane.client().await?;
    let deployments = Deployments::new(client.clone(), &namespace, size.deployments);

    let began = Instant::now();
    let before = controllers.cpu()?;
    deployments.create(replicas).await?;
    deployments.complete(replicas, &mut controllers).await?;
    let created = began.elapsed();
    tokio::time::sleep(QUIET).await;
    let held = memory(controllers.id())?.rss;
    let mut cpu = controllers.cpu()? - before;

    let touched = touched::measure(&client, &namespace, &mut controllers).await?;

    let before = controllers.cpu()?;
    let began = Instant::now();
    deployments.change_image().await?;
    deployments.complete(replicas, &mut controllers).await?;
    let rolled_out = began.elapsed();
    tokio::time::sleep(QUIET).await;

    let began = Instant::now();
    deployments.scale_to_none().await?;
    deployments.complete(0, &mut controllers).await?;
    deployments.gone(&mut controllers).await?;
    let scaled = began.elapsed();
    tokio::time::sleep(QUIET).await;
    cpu += controllers.cpu()? - before;

    let peak = controllers.peak()?;
    let requests = audit::requests(&plane, controllers.user())?;
    eprintln!("{}", requests.told());
    let pods = (size.deployments * replicas) as f64;
    let values = [
        Some(pods),
        Some(created.as_secs_f64()),
        Some(rolled_out.as_secs_f64()),
        Some(scaled.as_secs_f64()),
        Some(cpu),
        Some(requests.all() as f64),
        Some(requests.answered(409) as f64),
        Some(requests.answered(429) as f64),
        Some(held),
        Some(peak),
        Some(touched.process),
        touched.pass,
    ];
    let figures = WORKLOAD.figures.iter().copied().zip(values);
    Ok(figures
        .filter_map(|(figure, value)| Some((figure, value?)))
        .collect())
}
