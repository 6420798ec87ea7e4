//! Wires a host: from flags to running plugins, and back to nothing.

mod flags;
mod shares;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use windlass_code_cache::CodeCache;

use crate::admin::{self, Ports};
use crate::hosting::{Causes, Host, LastGood, Quarantine, Sources};
use crate::status::StatusCollector;
use crate::why::Finder;
pub use flags::RunFlags;
use windlass_base::memory::{Preparations, memory_limit};
use windlass_base::seams::{Seams, Task};
use windlass_base::shutdown;
use windlass_controller::controller::{Archive, ControllerHandles};
use windlass_controller::metrics::Metrics;
use windlass_controller::recording::FailureRecorder;
use windlass_kube::api::{Api, Discovery};
use windlass_kube::connect::connect;
use windlass_kube::crashes::Crashes;
use windlass_kube::events::Recorder;
use windlass_kube::informer::{Informers, Settings};
use windlass_kube::lease::{Session, Times};
use windlass_policy::rights::Rights;
use windlass_policy::source::{FolderWatch, PluginObjects, Wanted, unreadable};
use windlass_sandbox::{HttpMeans, Sandboxes, ServerAddresses, code_cache, sandboxes};

/// Where a pod has the name of its namespace.
const POD_NAMESPACE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/// Runs every plugin of the config folder, and of Plugin objects, until a signal comes.
///
/// # Errors
/// The host cannot start, or has lost a lease.
pub async fn run(flags: RunFlags, guest_threads: usize, seams: Seams) -> anyhow::Result<()> {
    let (watch, files) = match &flags.config {
        Some(config) => FolderWatch::start(config, &seams)
            .map_err(|error| anyhow!(unreadable(config, &error)))?,
        None => (FolderWatch::nothing(), Wanted::default()),
    };
    let times = flags.leases.times().map_err(anyhow::Error::msg)?;
    let cache = code_cache(flags.code_cache.clone())?;
    let last_good = flags.state_dir.as_deref().map(LastGood::open).transpose();
    let last_good =
        last_good.context("cannot use the state folder; name another one with --state-dir")?;
    let failures = flags
        .record_failures
        .clone()
        .map(|folder| FailureRecorder::open(folder, &seams))
        .transpose();
    let failures = failures
        .context("cannot use the folder for recordings; name another one with --record-failures")?;
    let sandboxes = sandboxes(guest_threads, &seams)?;
    sandboxes.limit(Some(flags.shares.maxima()));
    let state_dir = flags.state_dir.as_deref();
    let crashes = Crashes::open(state_dir, sandboxes.in_flight(), &seams)
        .context("cannot use the state folder; name another one with --state-dir")?;
    let _alive = crashes.keep_alive(&seams);
    let (api, namespace) = connect(&flags.cluster, &seams).await?;
    let servers = ServerAddresses::of(api.clone(), seams.clock).await;
    let ports = Ports {
        metrics: flags.metrics_bind_address,
        probes: flags.health_probe_bind_address,
        status: flags.admin_bind_address,
    };
    let means = HostDependencies {
        api,
        namespace,
        protected_namespace: flags.protected_namespace(Path::new(POD_NAMESPACE)),
        cache,
        last_good,
        quarantine: Quarantine::of(crashes),
        sandboxes,
        identity: flags.identity.clone().unwrap_or_else(|| identity(&seams)),
        times,
        grace: flags.graceful_shutdown_timeout,
        failures,
        http: Some(HttpMeans::new(&seams, Arc::new(servers), BTreeMap::new())),
        registries: Some(flags.registries.settings(&seams)?),
        rolls_back: true,
    };
    let wired = wire(means, &seams);
    wired.host.events.limit(flags.shares.events());
    let _served = admin::serve(ports, wired.finder, wired.board, &seams).await?;
    let (phase, phases, _signals) =
        shutdown::listen(&seams).context("cannot listen for signals")?;
    let host = wired.host;
    let objects = flags.plugin_objects.then(|| {
        // What is kept of them is the host's own.
        let account = host.sandboxes.accounts().of("");
        PluginObjects::watch(&host.informers, flags.plugin_selector.clone(), &account)
    });
    let sources = Sources {
        watch,
        files,
        objects,
    };
    host.run(sources, &phase, &phases).await?;
    tracing::info!("stopped");
    Ok(())
}

/// What a host is made with.
pub struct HostDependencies {
    /// The connection to the API server.
    pub api: Api,
    /// The namespace of the leases.
    pub namespace: String,
    /// The namespace of the host's own things, which no plugin reaches; none outside of a cluster.
    pub protected_namespace: Option<String>,
    /// Where compiled code is kept.
    pub cache: CodeCache,
    /// Where the last good versions are kept, if they are.
    pub last_good: Option<LastGood>,
    /// The plugins that may not run.
    pub quarantine: Quarantine,
    /// Where guests run.
    pub sandboxes: Arc<Sandboxes>,
    /// The name of the host.
    pub identity: String,
    /// The times of the leases.
    pub times: Times,
    /// How long passes may take to end.
    pub grace: Duration,
    /// Where failed passes are recorded, if they are.
    pub failures: Option<FailureRecorder>,
    /// What plugins send HTTP requests by; nothing if they cannot.
    pub http: Option<HttpMeans>,
    /// How components are fetched from registries; none are without it.
    pub registries: Option<windlass_registry::Settings>,
    /// Whether a version that fails its trial is rolled back: an author wants to see the newest one fail.
    pub rolls_back: bool,
}

/// A host, and who can be asked about it.
pub struct Wired {
    /// The host, which does not run yet.
    pub host: Arc<Host>,
    /// Why an object was reconciled or was not.
    pub finder: Finder,
    /// What each plugin does.
    pub board: StatusCollector,
    _recorder: Task,
}

/// Puts a host together.
pub fn wire(means: HostDependencies, seams: &Seams) -> Wired {
    let HostDependencies {
        api,
        namespace,
        protected_namespace,
        cache,
        last_good,
        quarantine,
        sandboxes,
        identity,
        times,
        grace,
        failures,
        http,
        registries,
        rolls_back,
    } = means;
    let metrics = Metrics::new(api.requests());
    let (handles, records) = (ControllerHandles::default(), Archive::default());
    let finder = Finder {
        metrics: metrics.clone(),
        handles: handles.clone(),
        api: api.clone(),
        leases: namespace.clone(),
        seams: seams.clone(),
    };
    let board = StatusCollector {
        host: identity.clone(),
        metrics: metrics.clone(),
        records: records.clone(),
        handles: handles.clone(),
        clock: seams.clock,
        began: seams.clock.now(),
    };
    let (events, recorder) = Recorder::start(api.clone(), seams, &identity);
    let session = Session::new(api.clone(), seams.clone(), &namespace, &identity, times);
    let discovery = Arc::new(Discovery::new(api.clone(), seams.clock));
    let settings = Settings::default();
    let informers = Informers::new(api.clone(), discovery.clone(), seams.clone(), settings);
    metrics.watches(&informers);
    metrics.limits(sandboxes.request_limiter());
    let host = Host {
        informers,
        discovery,
        grace,
        records,
        metrics,
        handles,
        failures,
        http,
        registries,
        causes: Causes::default(),
        rolls_back,
        seams: seams.clone(),
        rights: Rights::new(api.clone(), seams.clock),
        api,
        events,
        sandboxes,
        cache,
        last_good,
        quarantine,
        namespace,
        protected_namespace,
        preparations: Preparations::within(memory_limit(Path::new("/"))),
        session,
    };
    Wired {
        host: Arc::new(host),
        finder,
        board,
        _recorder: recorder,
    }
}

/// The host's name and something random: two hosts on one machine are two.
pub fn identity(seams: &Seams) -> String {
    let uname = rustix::system::uname();
    format!(
        "{}_{:016x}",
        uname.nodename().to_string_lossy(),
        seams.rng.number()
    )
}
