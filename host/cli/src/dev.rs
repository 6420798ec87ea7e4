//! `windlass dev`: a plugin at work while it is written, without a cluster.
//!
//! ```text
//! files ─> follow ─> make ─> version ─┐
//!             └> objects ─> server <──┴─ host ─> passes ─> news ─> terminal
//! ```
//! - The host is the one of `windlass run`, and the server that of `windlass apiserver`: what works here works
//!   there.
//! - Nothing that is wrong ends it but the first build: the last good version runs on.

mod apply;
mod attach;
mod flags;
mod follow;
mod grant;
mod http;
pub(crate) mod inputs;
mod keys;
mod names;
mod news;
mod objects;
mod plugins;
mod render;
mod session;
mod settled;
pub(crate) mod target;
mod tell;
mod verdict;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::sync::mpsc;
use windlass_apiserver::options::{Node, Options};

use crate::apiserver::Embedded;
use crate::project;
use attach::Attachment;
use names::Names;
use news::News;
use session::Session;
use target::Target;
use tell::Teller;
use windlass_base::screen::Tone;
use windlass_base::seams::{Seams, Task, time_zone, watch};
use windlass_base::shutdown::{self, Phases, ShutdownPhase, advance, reached};
use windlass_controller::recording::FailureRecorder;
use windlass_host::admin::folder::{self, PortFile, RunningHost};
use windlass_host::admin::{self, BindAddress, Ports};
use windlass_host::hosting::{Quarantine, Sources};
use windlass_host::runtime::{HostDependencies, Wired, identity, wire};
use windlass_kube::connect::ClusterFlags;
use windlass_kube::connect::connect;
use windlass_kube::lease::Times;
use windlass_policy::source::{FolderWatch, Wanted};
use windlass_sandbox::{HttpMeans, ServerAddresses, code_cache, sandboxes};

pub use flags::{DevFlags, RenderFlags};
pub use render::render;

/// How long passes may take to end.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// Runs targets until everything is settled, a signal or a key comes, or nobody listens any more.
///
/// # Errors
/// It cannot start, the first build fails; with `--once`, also that a pass has failed.
pub async fn run(flags: DevFlags, threads: usize, seams: Seams) -> anyhow::Result<()> {
    let targets = flags.targets.iter().map(|path| Target::open(path));
    let targets: Vec<Target> = targets.collect::<anyhow::Result<_>>()?;
    let attachment = Attachment::of(&flags, &targets)?;
    let zone = time_zone(flags.time_zone.as_deref());
    let teller = Teller::new(flags.output, seams.clock, zone);
    let (phase, phases, _signals) =
        shutdown::listen(&seams).context("cannot listen for signals")?;
    let own = targets
        .first()
        .context("name a project's folder or a component");
    let own = own.and_then(own_folder);
    let failures = failure_recorder(own.as_deref().ok(), &teller, &seams);
    let server = embedded(&flags, own, &seams)?;
    let kubeconfig = server.as_ref().map(|server| server.kubeconfig().to_owned());
    let cluster = ClusterFlags {
        kubeconfig: kubeconfig.clone().or(flags.kubeconfig.clone()),
        context: flags.context.clone(),
        namespace: None,
    };
    let teller = teller.of(&cluster);
    let _server = server.map(|server| {
        teller.print(&News::Serving { url: server.url() });
        server.start(&seams)
    });
    let local = http::local(&flags.http)?;
    let (mut api, mut namespace) = connect(&cluster, &seams).await?;
    if let (Some(attachment), Some(target)) = (attachment, targets.first()) {
        let plugin = target.document().name;
        api = attachment.api(&api);
        let named = flags.namespace.as_deref();
        namespace = attachment.namespace(&api, &plugin, named).await?;
        teller.hint(Tone::Warning, "Attached", &attachment.said(&plugin));
    }
    let name = identity(&seams);
    let servers = ServerAddresses::of(api.clone(), seams.clock).await;
    let means = HostDependencies {
        api,
        namespace,
        protected_namespace: None,
        cache: code_cache(flags.code_cache.clone())?,
        last_good: None,
        quarantine: Quarantine::default(),
        sandboxes: sandboxes(threads, &seams)?,
        identity: name.clone(),
        times: Times::default(),
        grace: GRACE,
        failures,
        http: Some(HttpMeans::new(&seams, Arc::new(servers), local)),
        registries: None,
        rolls_back: false,
    };
    let wired = wire(means, &seams);
    if attachment.is_some_and(|attachment| !attachment.dry_run) {
        wired.host.session.insist();
    }
    let ports = Ports {
        metrics: BindAddress::Nowhere,
        probes: BindAddress::Nowhere,
        status: flags.admin_bind_address,
    };
    let served = admin::serve(ports, wired.finder.clone(), wired.board.clone(), &seams).await?;
    let page = served.status.map(|address| format!("http://{address}"));
    // Gone when this function ends.
    let _written: Vec<PortFile> = match &page {
        Some(page) => announce(
            &targets,
            RunningHost {
                name: &name,
                url: page,
                cluster: &cluster,
                serves_cluster: kubeconfig.is_some(),
            },
        ),
        None => Vec::new(),
    };
    let (folders, held) = mpsc::channel(1);
    let host = run_host(&wired, held, &phase, &phases, &seams);
    let session = Session {
        wired,
        teller,
        names: Names::default(),
        folders,
        seams,
        page,
        own_server: kubeconfig.is_some(),
        attachment,
    };
    let work = session.work(&flags, targets, kubeconfig.as_deref());
    let ended = tokio::select! {
        biased;
        ended = work => ended,
        () = reached(&phases, ShutdownPhase::Drain) => Ok(()),
        () = session.teller.alone() => Ok(()),
    };
    advance(&phase, ShutdownPhase::Drain);
    let host = host.await.context("the host's task was lost")?;
    ended.and(host)
}

/// Records failed passes in the folder that is this program's `own`. Where nothing may be written, plugins can be tried
/// all the same.
fn failure_recorder(own: Option<&Path>, teller: &Teller, seams: &Seams) -> Option<FailureRecorder> {
    let folder = own.map(|own| own.join("failures"));
    let failures = folder.and_then(|folder| FailureRecorder::open(folder, seams).ok());
    if failures.is_none() {
        let text = "failed passes are not recorded, since .windlass/failures cannot be made";
        teller.hint(Tone::Warning, "Replay", text);
    }
    failures
}

/// Each target's folder knows its host, where that can be written.
fn announce(targets: &[Target], host: RunningHost<'_>) -> Vec<PortFile> {
    let folders = targets.iter().map(Target::folder);
    folders
        .filter_map(|folder| folder::write(folder, host).ok())
        .collect()
}

/// The folder for what belongs to a target, and is nobody's to keep.
pub(crate) fn own_folder(target: &Target) -> anyhow::Result<PathBuf> {
    project::own_folder(target.folder())
}

/// The API server of this program, unless a cluster is named.
fn embedded(
    flags: &DevFlags,
    own: anyhow::Result<PathBuf>,
    seams: &Seams,
) -> anyhow::Result<Option<Embedded>> {
    if flags.kubeconfig.is_some() || flags.context.is_some() {
        return Ok(None);
    }
    let file = match &flags.kubeconfig_out {
        Some(file) => file.clone(),
        None => own?.join("kubeconfig"),
    };
    let options = Options {
        node: Node::Full,
        ..Options::default()
    };
    Ok(Some(Embedded::open(flags.port, file, options, seams)?))
}

fn run_host(
    wired: &Wired,
    folders: mpsc::Receiver<Wanted>,
    phase: &watch::Sender<ShutdownPhase>,
    phases: &Phases,
    seams: &Seams,
) -> Task<anyhow::Result<()>> {
    let (host, phase, phases) = (wired.host.clone(), phase.clone(), phases.clone());
    seams.spawn.task(async move {
        let watch = FolderWatch::by_hand(folders);
        host.run(Sources::folder(watch, Wanted::default()), &phase, &phases)
            .await
    })
}
