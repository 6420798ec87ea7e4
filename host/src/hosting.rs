//! Keeps the plugins of a config folder running, through every change of the folder.
//!
//! ```text
//! folder ─> plan ─> asked for ─> admit: check, compile, describe, grants, smoke test ─> accepted
//!                                  └─ refused: the last good version runs on              │
//!                                     runner: swap, or a new controller in place of the old <┘
//! ```
//! - Decisions are pure, with tables as tests: `plan` for the folder, `rollout` for versions, `refusal` for when a
//!   version is tried again. The other files act on them.
//! - A version that is refused costs nothing: the one before it makes every pass.
//! - Calls in flight end on the code that they began with; no key is in two calls at once.

mod admissions;
mod admit;
mod carriers;
mod definitions;
mod dry_run;
mod last_good;
mod next_version;
mod plan;
mod plugin;
mod primaries;
mod quarantine;
mod refusal;
mod rollout;
mod runner;
mod smoke_test;
mod takeover;
mod version;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::sync::{mpsc, watch};
use windlass_code_cache::CodeCache;

pub(crate) use carriers::carriers;
pub use dry_run::{AdmittedVersion, DryRun, Returned};
pub use last_good::LastGood;
pub use primaries::UnservedPrimary;
pub use quarantine::Quarantine;

use crate::api::{Api, Discovery};
use crate::controller::{Archive, ControllerHandles};
use crate::events::Recorder;
use crate::informer::Informers;
use crate::lease::Times;
use crate::metrics::Metrics;
use crate::plugin::{HttpMeans, Sandboxes};
use crate::recording::FailureRecorder;
use crate::seams::{Seams, Task};
use crate::shutdown::{Phases, ShutdownPhase, advance, reached};
use crate::source::{Candidate, Folder, FolderWatch};
use plan::{
    EndStep, FolderStep, Lifecycle, Presence, StartStep, after_change, after_end, at_start,
    candidate,
};
use plugin::Ended;

/// What all plugins of a host share.
pub struct Host {
    /// Time, randomness and tasks.
    pub seams: Seams,
    /// Requests to the API server.
    pub api: Api,
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
    /// The name of this host.
    pub identity: String,
    /// The times of the leases.
    pub times: Times,
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
}

/// What a plugin is asked to be; none while its document cannot be read.
type Asked = watch::Receiver<Option<Arc<Candidate>>>;

/// A plugin that runs, or tries to.
struct Hosted {
    file: PathBuf,
    asked: watch::Sender<Option<Arc<Candidate>>>,
    phase: watch::Sender<ShutdownPhase>,
    lifecycle: Lifecycle,
}

impl Hosted {
    /// Asks it to be `candidate`, if that is anything new.
    fn update(&mut self, candidate: &Candidate) {
        self.file.clone_from(&candidate.document.file);
        self.asked.send_if_modified(|held| {
            let is_new = held.as_deref() != Some(candidate);
            if is_new {
                *held = Some(Arc::new(candidate.clone()));
            }
            is_new
        });
    }
}

/// A plugin's name, and how its task ended.
type End = (String, Result<Ended, tokio::task::JoinError>);

/// The plugins of a host.
struct Plugins {
    host: Arc<Host>,
    hosted: BTreeMap<String, Hosted>,
    tasks: FuturesUnordered<futures::future::BoxFuture<'static, End>>,
    folder: Folder,
    /// What is wrong with the folder, as it was said last.
    said: Vec<String>,
}

impl Host {
    /// Runs what the folder holds until the host is told to stop.
    ///
    /// # Errors
    /// A lease was lost.
    pub async fn run(
        self: Arc<Self>,
        watch: FolderWatch,
        folder: Folder,
        phase: &watch::Sender<ShutdownPhase>,
        phases: &Phases,
    ) -> anyhow::Result<()> {
        let mut plugins = Plugins {
            host: self,
            hosted: BTreeMap::new(),
            tasks: FuturesUnordered::new(),
            folder: Folder::default(),
            said: Vec::new(),
        };
        plugins.resume(&folder);
        plugins.follow(folder);
        // On a task of its own: a look that is dropped half-way would forget what is known.
        let (send, mut folders) = mpsc::channel(1);
        let watching = watch_on(watch, send);
        let _watching = plugins.host.seams.spawn.task(watching);
        let mut lost = None;
        while lost.is_none() {
            tokio::select! {
                biased;
                () = reached(phases, ShutdownPhase::Drain) => break,
                end = plugins.ended() => lost = plugins.take_end(end),
                folder = folders.recv() => match folder {
                    Some(folder) => plugins.follow(folder),
                    None => lost = Some("the watch of the config folder was lost".into()),
                },
            }
        }
        if lost.is_some() {
            // The host that has the lease now must not find us still writing.
            advance(phase, ShutdownPhase::Abort);
        }
        let lost = plugins.stop(phases, lost).await;
        match lost {
            Some(lost) => bail!("{lost}"),
            None => Ok(()),
        }
    }
}

/// Hands on what the folder holds, forever.
async fn watch_on(mut watch: FolderWatch, folders: mpsc::Sender<Folder>) {
    loop {
        let folder = watch.next().await;
        if folders.send(folder).await.is_err() {
            return;
        }
    }
}

/// Why the host must end, now that the task of the plugin `name` has ended so; nothing if it need not.
fn why_host_ends(name: &str, ended: &Result<Ended, tokio::task::JoinError>) -> Option<String> {
    match ended {
        Ok(Ended::Asked) => None,
        Ok(Ended::LostLease) => Some("leader election lost".to_owned()),
        Err(error) => Some(format!("the task of plugin {name} was lost: {error}")),
    }
}

impl Plugins {
    /// Starts what ran last from files that cannot be read now.
    fn resume(&mut self, folder: &Folder) {
        let kept = self.host.last_good.as_ref().map(LastGood::plugins);
        for (name, file) in kept.unwrap_or_default() {
            match at_start(Presence::of(&name, &file, folder)) {
                StartStep::Resume => self.start(name, file, None),
                StartStep::Forget => self.forget(&name),
                StartStep::Leave => {}
            }
        }
    }

    /// Makes what runs follow what the folder holds.
    fn follow(&mut self, folder: Folder) {
        self.say_problems(&folder);
        // What is gone stops before anything starts.
        for (name, hosted) in &mut self.hosted {
            let presence = Presence::of(name, &hosted.file, &folder);
            if after_change(hosted.lifecycle, presence) == FolderStep::Stop {
                hosted.lifecycle = Lifecycle::Stopping;
                tracing::info!(plugin = name, "its document is gone: stopping");
                advance(&hosted.phase, ShutdownPhase::Drain);
            }
        }
        for candidate in &folder.plugins {
            let hosted = self.hosted.get_mut(&candidate.document.name);
            let lifecycle = hosted.as_ref().map_or(Lifecycle::Absent, |it| it.lifecycle);
            let step = after_change(lifecycle, Presence::Asked);
            match (step, hosted) {
                (FolderStep::Start, _) => self.start_as(candidate),
                (FolderStep::Update, Some(hosted)) => hosted.update(candidate),
                (FolderStep::Update | FolderStep::Stop | FolderStep::Leave, _) => {}
            }
        }
        if self.hosted.is_empty() && folder.problems.is_empty() {
            tracing::info!(
                "there is no plugin yet: put a Plugin document (*.yaml) and its component into the config folder"
            );
        }
        self.folder = folder;
    }

    /// Says what is wrong, and what has become right again, once.
    fn say_problems(&mut self, folder: &Folder) {
        let problems: Vec<String> = folder.problems.iter().map(ToString::to_string).collect();
        for problem in problems
            .iter()
            .filter(|problem| !self.said.contains(problem))
        {
            tracing::error!("{problem}");
        }
        self.host.metrics.has_problems(&problems);
        self.said = problems;
    }

    fn start_as(&mut self, candidate: &Candidate) {
        let document = &candidate.document;
        let (name, file) = (document.name.clone(), document.file.clone());
        self.start(name, file, Some(Arc::new(candidate.clone())));
    }

    fn start(&mut self, name: String, file: PathBuf, candidate: Option<Arc<Candidate>>) {
        let (asked, to_be) = watch::channel(candidate);
        let (phase, phases) = watch::channel(ShutdownPhase::Run);
        let (host, plugin) = (self.host.clone(), name.clone());
        let task: Task<Ended> = self
            .host
            .seams
            .spawn
            .task(async move { host.host_plugin(&plugin, to_be, &phases).await });
        let named = name.clone();
        self.tasks
            .push(Box::pin(async move { (named, task.await) }));
        let hosted = Hosted {
            file,
            asked,
            phase,
            lifecycle: Lifecycle::Running,
        };
        self.hosted.insert(name, hosted);
    }

    /// The next plugin that has ended.
    async fn ended(&mut self) -> End {
        match self.tasks.next().await {
            Some(end) => end,
            None => std::future::pending().await,
        }
    }

    /// A plugin has ended; the answer is why the host must, if it must.
    fn take_end(&mut self, (name, ended): End) -> Option<String> {
        let hosted = self.hosted.remove(&name);
        if let Some(lost) = why_host_ends(&name, &ended) {
            return Some(lost);
        }
        let hosted = hosted?;
        let presence = Presence::of(&name, &hosted.file, &self.folder);
        match after_end(hosted.lifecycle, presence) {
            EndStep::StartAgain => {
                if let Some(candidate) = candidate(&name, &self.folder).cloned() {
                    self.start_as(&candidate);
                }
            }
            EndStep::Forget => self.forget(&name),
            EndStep::Leave => {}
        }
        None
    }

    fn forget(&self, name: &str) {
        self.host.records.forget(name);
        self.host.metrics.forget(name);
        self.host.handles.forget(name);
        self.host.events.forget(name);
        if let Some(last_good) = &self.host.last_good
            && let Err(error) = last_good.forget(name)
        {
            tracing::warn!(
                plugin = name,
                "cannot forget its last good version: {error}"
            );
        }
    }

    /// Stops everything, as far as the host's phase says; answers why the host must end badly, if so.
    async fn stop(mut self, phases: &Phases, mut lost: Option<String>) -> Option<String> {
        let relay = async {
            let mut phases = phases.clone();
            loop {
                let phase = *phases.borrow_and_update();
                for hosted in self.hosted.values() {
                    advance(&hosted.phase, phase);
                }
                if phases.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        let mut relay = pin!(relay);
        loop {
            let end = tokio::select! {
                biased;
                () = relay.as_mut() => None,
                end = self.tasks.next() => end,
            };
            let Some((name, ended)) = end else {
                return lost;
            };
            lost = why_host_ends(&name, &ended).or(lost);
        }
    }
}
