//! Keeps plugins running, through every change of what is asked for: by documents in files, and by Plugin objects.
//!
//! ```text
//! sources ─> plan ─> asked for ─> admit: check, compile, describe, grants, smoke test ─> accepted
//!                                  └─ refused: the last good version runs on              │
//!                                     runner: swap, or a new controller in place of the old <┘
//! ```
//! - Decisions are pure, with tables as tests: `plan` for what is asked for, `rollout` for versions, `refusal` for when a
//!   version is tried again. The other files act on them.
//! - A version that is refused costs nothing: the one before it makes every pass.
//! - Calls in flight end on the code that they began with; no key is in two calls at once.

mod admissions;
mod admit;
mod carriers;
mod configure;
mod definitions;
mod dry_run;
mod fetch;
mod last_good;
mod next_version;
mod object_status;
mod observing;
mod plan;
mod plugin;
mod plugins;
mod primaries;
mod quarantine;
mod refusal;
mod removal;
mod reversible;
mod rollback;
mod rollout;
mod roster;
mod runner;
mod selected;
mod smoke_test;
mod takeover;
mod trial;
mod version;
mod watch_rights;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use tokio::sync::mpsc;
use windlass_code_cache::CodeCache;

pub(crate) use carriers::carriers;
pub use dry_run::{AdmittedVersion, DryRun, Returned};
pub use fetch::Causes;
pub use last_good::LastGood;
pub use primaries::UnservedPrimary;
pub use quarantine::Quarantine;

use plugins::Plugins;
use removal::Removals;
use roster::Roster;
use windlass_base::memory::Preparations;
use windlass_base::seams::{Seams, Task, watch};
use windlass_base::shutdown::{Phases, ShutdownPhase, advance, reached};
use windlass_controller::controller::{Archive, ControllerHandles};
use windlass_controller::metrics::Metrics;
use windlass_controller::recording::FailureRecorder;
use windlass_kube::api::{Api, Discovery};
use windlass_kube::events::Recorder;
use windlass_kube::informer::Informers;
use windlass_kube::lease::Session;
use windlass_policy::manifest::PluginDocument;
use windlass_policy::rights::{PluginApi, Rights};
use windlass_policy::source::{
    Candidate, FolderWatch, ObjectWatch, PluginObjects, Wanted, unknown,
};
use windlass_sandbox::{HttpMeans, Sandboxes};

/// What all plugins of a host share.
pub struct Host {
    /// Time, randomness and tasks.
    pub seams: Seams,
    /// Requests to the API server, as the host itself: what a plugin causes goes by `api_for`.
    pub api: Api,
    /// What the service accounts of plugins may do.
    pub rights: Rights,
    /// What the API server serves.
    pub discovery: Arc<Discovery>,
    /// What the plugins watch.
    pub informers: Informers,
    /// Where Events go.
    pub events: Recorder,
    /// Where guests run.
    pub sandboxes: Arc<Sandboxes>,
    /// Where compiled code is kept.
    pub cache: CodeCache,
    /// Where the last good versions are kept, if they are.
    pub last_good: Option<LastGood>,
    /// The plugins that may not run.
    pub quarantine: Quarantine,
    /// The namespace of the leases.
    pub namespace: String,
    /// The namespace of the host's own things, which no plugin reaches; none outside of a cluster.
    pub protected_namespace: Option<String>,
    /// Room for components that are fetched, read and compiled.
    pub preparations: Preparations,
    /// By what others know that this host is alive.
    pub session: Session,
    /// How long passes may take to end when the host or a plugin stops.
    pub grace: Duration,
    /// What the newest passes of each plugin did.
    pub records: Archive,
    /// What is counted.
    pub metrics: Metrics,
    /// Where a controller is found by the name of its plugin.
    pub handles: ControllerHandles,
    /// Where failed passes are recorded, if they are.
    pub failures: Option<FailureRecorder>,
    /// What plugins send HTTP requests by; nothing if they cannot.
    pub http: Option<HttpMeans>,
    /// How components are fetched from registries; none are without it.
    pub registries: Option<windlass_registry::Settings>,
    /// Why sources could not be had, as far as only the log tells it.
    pub causes: Causes,
    /// Whether a version that fails its trial is rolled back: an author wants to see the newest one fail.
    pub rolls_back: bool,
}

/// Where it is said which plugins run.
pub struct Sources {
    /// The config folder.
    pub watch: FolderWatch,
    /// What it holds.
    pub files: Wanted,
    /// The Plugin objects, if they count.
    pub objects: Option<PluginObjects>,
}

impl Sources {
    /// A config folder, and nothing else.
    pub fn folder(watch: FolderWatch, files: Wanted) -> Self {
        Self {
            watch,
            files,
            objects: None,
        }
    }
}

/// What a plugin is asked to be; none while its document cannot be read.
type Asked = watch::Receiver<Option<Arc<Candidate>>>;

impl Host {
    /// Runs what the sources ask for until the host is told to stop.
    ///
    /// # Errors
    /// A lease was lost.
    pub async fn run(
        self: Arc<Self>,
        sources: Sources,
        phase: &watch::Sender<ShutdownPhase>,
        phases: &Phases,
    ) -> anyhow::Result<()> {
        let mut plugins = Plugins::new(self, sources.objects.is_some());
        let host = plugins.host.clone();
        let Sources {
            watch,
            files,
            objects,
        } = sources;
        let mut files = files;
        let mut by_objects = match objects {
            Some(_) => unknown(),
            None => Wanted::default(),
        };
        let wanted = Wanted::together(files.clone(), by_objects.clone());
        plugins.resume(&wanted);
        plugins.follow(wanted.clone());
        // On tasks of their own: a look that is dropped half-way would forget what is known.
        let (send, mut folders) = mpsc::channel(1);
        let _watching = host.seams.spawn.task(watch_on(watch, send));
        let (send, mut object_news) = mpsc::channel(1);
        let (tell, told) = watch::channel(wanted);
        let roster = plugins.roster.clone();
        let _followed = objects.map(|objects| host.follow_objects(objects, told, roster, send));
        let session = host.session.clone();
        let kept = session.clone();
        // Who writes nothing has no session.
        let keeps = !host.api.is_read_only();
        let keeping = host.seams.spawn.task(async move {
            if keeps {
                kept.keep().await;
            }
        });
        let mut lost = None;
        while lost.is_none() {
            tokio::select! {
                biased;
                () = reached(phases, ShutdownPhase::Drain) => break,
                end = plugins.ended() => lost = plugins.take_end(end),
                news = folders.recv() => match news {
                    Some(news) => files = news,
                    None => lost = Some("the watch of the config folder was lost".into()),
                },
                news = object_news.recv(), if plugins.has_objects => match news {
                    Some(news) => by_objects = news,
                    None => lost = Some("the watch of Plugin objects was lost".into()),
                },
            }
            let wanted = Wanted::together(files.clone(), by_objects.clone());
            if wanted != plugins.wanted {
                tell.send_replace(wanted.clone());
                plugins.follow(wanted);
            }
        }
        if lost.is_some() {
            // The host that has the lease now must not find us still writing.
            advance(phase, ShutdownPhase::Abort);
        }
        let lost = plugins.stop(phases, lost).await;
        drop(keeping);
        if let Some(lost) = lost {
            // Others wait until it has expired: what it still holds may have been written a moment ago.
            bail!("{lost}");
        }
        if keeps {
            session.end().await;
        }
        Ok(())
    }
}

/// Hands on what the folder holds, forever.
async fn watch_on(mut watch: FolderWatch, folders: mpsc::Sender<Wanted>) {
    loop {
        let folder = watch.next().await;
        if folders.send(folder).await.is_err() {
            return;
        }
    }
}

impl Host {
    /// Requests to the API server on behalf of the plugin of `document`: as its service account, if it names one.
    fn api_for(&self, document: &PluginDocument) -> PluginApi {
        let account = document.service_account.as_ref();
        PluginApi::of(&self.api, account, &self.rights)
    }

    /// Follows Plugin objects, says how far each plugin is, and removes those that are deleted.
    fn follow_objects(
        self: &Arc<Self>,
        objects: PluginObjects,
        wanted: watch::Receiver<Wanted>,
        roster: Roster,
        news: mpsc::Sender<Wanted>,
    ) -> (Task<()>, [Task<Infallible>; 2]) {
        let follow = ObjectWatch::new(objects.clone(), self.seams.clock);
        let (removals, watched) = (Removals::default(), objects.clone());
        let (publisher, remover, said) = (self.clone(), self.clone(), removals.clone());
        let known = roster.clone();
        let publish = async move { publisher.publish_status(objects, wanted, known, said).await };
        let remove = async move { remover.remove_plugins(watched, roster, removals).await };
        let spawn = &self.seams.spawn;
        let follow = spawn.task(follow_on(follow, news));
        (follow, [spawn.task(publish), spawn.task(remove)])
    }
}

/// Hands on what Plugin objects ask for, forever.
async fn follow_on(mut watch: ObjectWatch, wanted: mpsc::Sender<Wanted>) {
    loop {
        let news = watch.next().await;
        if wanted.send(news).await.is_err() {
            return;
        }
    }
}
