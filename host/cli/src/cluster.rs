//! `windlass cluster`: a small cluster in one process, with simulated nodes.
//!
//! ```text
//! bundled plugins ─┐
//!                  ├─> host ──> API server ──> simulated nodes
//! folder ──────────┘        (no socket between them)
//! ```
//! - The API server is that of `windlass apiserver`, and the host that of `windlass run`. Clients such as kubectl use a port.
//! - A controller that runs as a plugin does not run in the API server.

mod bundle;
mod controllers;
mod flags;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use tokio::sync::mpsc;
use windlass_apiserver::options::{Node, Options};

use crate::apiserver::Embedded;
use crate::project;
use controllers::Bundled;
use windlass_base::screen::print;
use windlass_base::seams::{Seams, Task};
use windlass_base::shutdown::{self, ShutdownPhase, advance};
use windlass_base::text::counted;
use windlass_controller::metrics::PluginStage;
use windlass_host::admin::folder::{self, PortFile, RunningHost};
use windlass_host::admin::{self, BindAddress, Ports};
use windlass_host::hosting::{Host, Quarantine, Sources};
use windlass_host::runtime::{HostDependencies, identity, wire};
use windlass_kube::api::Api;
use windlass_kube::connect::ClusterFlags;
use windlass_kube::lease::Times;
use windlass_policy::source::{FolderWatch, Wanted};
use windlass_sandbox::{HttpMeans, ServerAddresses, code_cache, sandboxes};

pub use flags::LocalClusterFlags;

/// The namespace of the host's own Lease.
const NAMESPACE: &str = "kube-system";
/// How long passes may take to end.
const GRACE: Duration = Duration::from_secs(5);
/// How often the start is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// Runs a cluster until a signal comes.
///
/// # Errors
/// The port, the kubeconfig's file or the folder of plugins cannot be had, or a name of --without is not known.
pub async fn run(flags: LocalClusterFlags, threads: usize, seams: Seams) -> anyhow::Result<()> {
    let (phase, phases, _signals) =
        shutdown::listen(&seams).context("cannot listen for signals")?;
    let bundled = bundle::plugins()?;
    if bundled.is_empty() && flags.plugins.is_none() {
        tracing::warn!(
            "this program has no bundled plugins, so the controllers of its API server run; name a folder with --plugins, or build one with `make cluster-built`"
        );
    }
    let bundled = Bundled::new(bundled, &flags.without)?;
    let (watch, own) = match &flags.plugins {
        Some(folder) => FolderWatch::start(folder, &seams).map_err(|error| {
            let folder = folder.display();
            anyhow!(
                "cannot read the folder {folder}: {error}; name one that can be read with --plugins"
            )
        })?,
        None => (FolderWatch::nothing(), Wanted::default()),
    };
    let names = bundled.names(&own);
    let options = Options {
        node: Node::Full,
        nodes: flags.nodes,
        controllers: controllers::of_server(&names, &flags.without)?,
        ..Options::default()
    };
    let file = match flags.kubeconfig_out {
        Some(file) => file,
        None => std::path::absolute(project::own_folder(Path::new("."))?)?.join("kubeconfig"),
    };
    let server = Embedded::open(flags.port, file, options, &seams)?;
    let kubeconfig = server.kubeconfig().to_owned();
    let url = server.url();
    let api = Api::in_process(server.server().clone(), seams.clone());
    let _server = server.start(&seams);
    let servers = ServerAddresses::of(api.clone(), seams.clock).await;
    let name = identity(&seams);
    let means = HostDependencies {
        api,
        namespace: NAMESPACE.to_owned(),
        protected_namespace: None,
        cache: code_cache(flags.code_cache)?,
        last_good: None,
        quarantine: Quarantine::default(),
        sandboxes: sandboxes(threads, &seams)?,
        identity: name.clone(),
        times: Times::default(),
        grace: GRACE,
        failures: None,
        http: Some(HttpMeans::new(&seams, Arc::new(servers), BTreeMap::new())),
        registries: None,
        rolls_back: true,
    };
    let wired = wire(means, &seams);
    let ports = Ports {
        metrics: BindAddress::Nowhere,
        probes: BindAddress::Nowhere,
        status: flags.admin_bind_address,
    };
    let served = admin::serve(ports, wired.finder, wired.board, &seams).await?;
    let page = served.status.map(|address| format!("http://{address}"));
    // `windlass why` and `top` in this folder ask this host. Gone when this function ends.
    let _written = announce(&name, page.as_deref(), &kubeconfig);
    let host = wired.host;
    let wanted = bundled.with(own);
    let (send, all) = mpsc::channel(1);
    let _followed = follow(watch, bundled, send, &seams);
    let sources = Sources::folder(FolderWatch::by_hand(all), wanted);
    let started = host.clone();
    let nodes = flags.nodes;
    let _ready = seams.spawn.task(async move {
        started_all(&started, &names).await;
        let status = page.map(|page| format!(", status at {page}"));
        // Where nobody hears it, the cluster runs all the same.
        let _ = print(&format!(
            "the cluster at {url} has {} and {}{}\nexport KUBECONFIG={}",
            counted(nodes, "node"),
            counted(names.len(), "plugin"),
            status.unwrap_or_default(),
            kubeconfig.display()
        ));
    });
    let ended = host.run(sources, &phase, &phases).await;
    advance(&phase, ShutdownPhase::Drain);
    ended
}

/// Says which host the folder of the kubeconfig has, where that is the default one.
fn announce(host: &str, page: Option<&str>, kubeconfig: &Path) -> Option<PortFile> {
    let own = kubeconfig.parent()?;
    let cluster = ClusterFlags {
        kubeconfig: Some(kubeconfig.to_owned()),
        context: None,
        namespace: None,
    };
    let is_own = own.ends_with(".windlass");
    let host = RunningHost {
        name: host,
        url: page.filter(|_| is_own)?,
        cluster: &cluster,
        serves_cluster: true,
    };
    let folder = std::path::absolute(own).ok()?;
    folder::write(folder.parent()?, host).ok()
}

/// Adds the bundled plugins to what a folder holds, whenever that changes.
fn follow(
    mut watch: FolderWatch,
    bundled: Bundled,
    send: mpsc::Sender<Wanted>,
    seams: &Seams,
) -> Task {
    seams.spawn.task(async move {
        loop {
            let folder = watch.next().await;
            if send.send(bundled.with(folder)).await.is_err() {
                return;
            }
        }
    })
}

/// Waits until each plugin runs, or cannot.
async fn started_all(host: &Host, plugins: &BTreeSet<String>) {
    let is_done = |name: &String| {
        let stage = host.metrics.of(name).stage();
        stage.is_running() || matches!(stage, PluginStage::Refused(_) | PluginStage::Quarantined(_))
    };
    while !plugins.iter().all(is_done) {
        host.seams.clock.sleep(LOOK).await;
    }
}
