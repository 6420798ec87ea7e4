//! Keeps the plugins of a config folder running, through every change of the folder.
//!
//! ```text
//! folder ─> plan ─> asked for ─> admit: check, compile, describe, grants, smoke test ─> accepted
//!                                  └─ refused: the last good version runs on              │
//!                                     reign: swap, or a new controller in place of the old <┘
//! ```
//! - A version that is refused costs nothing: the one before it makes every pass.
//! - Calls in flight end on the code that they began with; no key is in two calls at once.

mod admissions;
mod admit;
mod carriers;
mod dry_run;
mod last_good;
mod next_version;
mod plan;
mod plugin;
mod quarantine;
mod refusal;
mod runner;
mod smoke_test;
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
pub use dry_run::DryRun;
pub use last_good::LastGood;
pub use quarantine::Quarantine;

use crate::api::{Api, Discovery};
use crate::controller::{Archive, ControllerHandles};
use crate::events::Recorder;
use crate::informer::Informers;
use crate::lease::Times;
use crate::metrics::Metrics;
use crate::plugin::Sandboxes;
use crate::recording::FailureRecorder;
use crate::seams::{Either, Seams, Task, first};
use crate::shutdown::{Phases, ShutdownPhase, advance, reached};
use crate::source::{Candidate, Folder, FolderWatch};
use plan::plan;
use plugin::Ended;

/// What all plugins of a host share.
pub struct Host {
    /// Time, randomness and tasks.
    pub seams: Seams,
    /// The door to the API server.
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
    /// Where controllers are found by whoever asks.
    pub insights: ControllerHandles,
    /// Where failed passes are recorded, if they are.
    pub failures: Option<FailureRecorder>,
}

/// What a plugin is asked to be; none while its document cannot be read.
type Asked = watch::Receiver<Option<Arc<Candidate>>>;

/// A plugin that runs, or tries to.
struct Hosted {
    file: PathBuf,
    asked: watch::Sender<Option<Arc<Candidate>>>,
    phase: watch::Sender<ShutdownPhase>,
    /// Its document is gone, and it is told to stop.
    stopping: bool,
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
            let ended = first(reached(phases, ShutdownPhase::Drain), plugins.ended());
            match first(ended, folders.recv()).await {
                Either::Left(Either::Left(())) => break,
                Either::Left(Either::Right(end)) => lost = plugins.take_end(end),
                Either::Right(Some(folder)) => plugins.follow(folder),
                Either::Right(None) => {
                    lost = Some("the watch of the config folder was lost".into())
                }
            }
        }
        if lost.is_some() {
            // Whoever has the lease now must not find us still writing.
            advance(phase, ShutdownPhase::Abort);
        }
        let lost = plugins.stop(phases, lost).await;
        match lost {
            Some(lost) => bail!("{lost}"),
            None => Ok(()),
        }
    }
}

/// Hands on whatever the folder holds, for ever.
async fn watch_on(mut watch: FolderWatch, folders: mpsc::Sender<Folder>) {
    loop {
        let folder = watch.next().await;
        if folders.send(folder).await.is_err() {
            return;
        }
    }
}

impl Plugins {
    /// Starts what ran last from files that cannot be read now.
    fn resume(&mut self, folder: &Folder) {
        let kept = self.host.last_good.as_ref().map(LastGood::plugins);
        let kept: BTreeMap<String, PathBuf> = kept.unwrap_or_default().into_iter().collect();
        let gone = plan(&kept, folder).stop;
        // What cannot be read may hold any plugin, under another name than it had then.
        let unclear = folder
            .problems
            .iter()
            .any(|problem| problem.plugin.is_none());
        let asked = |name: &String| {
            let named = |candidate: &Candidate| candidate.document.name == *name;
            folder.plugins.iter().any(named)
        };
        for (name, file) in kept {
            if gone.contains(&name) {
                if !unclear {
                    self.forget(&name);
                }
            } else if !asked(&name) {
                self.start(name, file, None);
            }
        }
    }

    /// Makes what runs follow what the folder holds.
    fn follow(&mut self, folder: Folder) {
        self.say_problems(&folder);
        let running = self.hosted.iter();
        let running = running.map(|(name, hosted)| (name.clone(), hosted.file.clone()));
        let plan = plan(&running.collect(), &folder);
        for name in plan.stop {
            if let Some(hosted) = self.hosted.get_mut(&name)
                && !hosted.stopping
            {
                hosted.stopping = true;
                tracing::info!(plugin = name, "its document is gone: stopping");
                advance(&hosted.phase, ShutdownPhase::Drain);
            }
        }
        for candidate in plan.ask {
            let (name, file) = (
                candidate.document.name.clone(),
                candidate.document.file.clone(),
            );
            let candidate = Some(Arc::new(candidate));
            match self.hosted.get_mut(&name) {
                // Asked for again before it has stopped: it starts again when it has.
                Some(hosted) if hosted.stopping => {}
                Some(hosted) => {
                    hosted.file = file;
                    hosted.asked.send_if_modified(|held| {
                        let news = *held != candidate;
                        *held = candidate;
                        news
                    });
                }
                None => self.start(name, file, candidate),
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
            stopping: false,
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
        match ended {
            Ok(Ended::LostLease) => return Some("leader election lost".to_owned()),
            Err(error) => return Some(format!("the task of plugin {name} was lost: {error}")),
            Ok(Ended::Asked) => {}
        }
        if hosted.as_ref().is_some_and(|hosted| hosted.stopping) {
            let again = plan(&BTreeMap::new(), &self.folder).ask;
            let again = again.into_iter().find(|it| it.document.name == name);
            match again {
                Some(candidate) => {
                    let file = candidate.document.file.clone();
                    self.start(name, file, Some(Arc::new(candidate)));
                }
                None => {
                    let file = hosted.map(|hosted| hosted.file).unwrap_or_default();
                    let was = BTreeMap::from([(name.clone(), file)]);
                    if plan(&was, &self.folder).stop.contains(&name) {
                        self.forget(&name);
                    }
                }
            }
        }
        None
    }

    fn forget(&self, name: &str) {
        self.host.records.forget(name);
        self.host.metrics.forget(name);
        self.host.insights.forget(name);
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
        while let Either::Right(Some((name, ended))) =
            first(relay.as_mut(), self.tasks.next()).await
        {
            match ended {
                Ok(Ended::Asked) => {}
                Ok(Ended::LostLease) => lost = Some("leader election lost".to_owned()),
                Err(error) => lost = Some(format!("the task of plugin {name} was lost: {error}")),
            }
        }
        lost
    }
}
