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
mod definitions;
mod dry_run;
mod fetch;
mod last_good;
mod next_version;
mod object_status;
mod plan;
mod plugin;
mod primaries;
mod quarantine;
mod refusal;
mod removal;
mod rollout;
mod roster;
mod runner;
mod smoke_test;
mod takeover;
mod version;

use std::collections::BTreeMap;
use std::convert::Infallible;
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
use crate::lease::Session;
use crate::manifest::Origin;
use crate::metrics::Metrics;
use crate::plugin::{HttpMeans, Sandboxes};
use crate::recording::FailureRecorder;
use crate::seams::{Seams, Task};
use crate::shutdown::{Phases, ShutdownPhase, advance, reached};
use crate::source::{Candidate, FolderWatch, ObjectWatch, PluginObjects, Wanted, unknown};
use plan::{
    EndStep, FolderStep, Lifecycle, Presence, StartStep, after_change, after_end, at_start,
    candidate,
};
use plugin::Ended;
use removal::Removals;
use roster::Roster;

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

/// A plugin that runs, or tries to.
struct Hosted {
    origin: Origin,
    asked: watch::Sender<Option<Arc<Candidate>>>,
    phase: watch::Sender<ShutdownPhase>,
    lifecycle: Lifecycle,
}

impl Hosted {
    /// Asks it to be `candidate`, if that is anything new.
    fn update(&mut self, candidate: &Candidate) {
        self.origin.clone_from(&candidate.document.origin);
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
    wanted: Wanted,
    /// What is wrong with it, as it was said last.
    said: Vec<String>,
    /// Whether Plugin objects count.
    has_objects: bool,
    roster: Roster,
}

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
        let mut plugins = Plugins {
            host: self,
            hosted: BTreeMap::new(),
            tasks: FuturesUnordered::new(),
            wanted: Wanted::default(),
            said: Vec::new(),
            has_objects: sources.objects.is_some(),
            roster: Roster::default(),
        };
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
        let keeping = host.seams.spawn.task(async move { kept.keep().await });
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
        session.end().await;
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
    fn resume(&mut self, wanted: &Wanted) {
        let kept = self.host.last_good.as_ref().map(LastGood::plugins);
        for (name, origin) in kept.unwrap_or_default() {
            match at_start(Presence::of(&name, &origin, wanted)) {
                StartStep::Resume => self.start(name, origin, None),
                StartStep::Forget => self.forget(&name),
                StartStep::Leave => {}
            }
        }
    }

    /// Makes what runs follow what is wanted.
    fn follow(&mut self, wanted: Wanted) {
        self.say_problems(&wanted);
        // What is gone stops before anything starts.
        for (name, hosted) in &mut self.hosted {
            let presence = Presence::of(name, &hosted.origin, &wanted);
            if after_change(hosted.lifecycle, presence) == FolderStep::Stop {
                hosted.lifecycle = Lifecycle::Stopping;
                tracing::info!(plugin = name, "its document is gone: stopping");
                advance(&hosted.phase, ShutdownPhase::Drain);
            }
        }
        for candidate in &wanted.plugins {
            let hosted = self.hosted.get_mut(&candidate.document.name);
            let lifecycle = hosted.as_ref().map_or(Lifecycle::Absent, |it| it.lifecycle);
            let step = after_change(lifecycle, Presence::Asked);
            match (step, hosted) {
                (FolderStep::Start, _) => self.start_as(candidate),
                // An object does not take the place of a file that cannot be read now.
                (FolderStep::Update, Some(hosted))
                    if hosted.origin.file().is_some()
                        && candidate.document.origin.file().is_none()
                        && wanted.has_unreadable_files() => {}
                (FolderStep::Update, Some(hosted)) => {
                    hosted.update(candidate);
                    let document = &candidate.document;
                    self.roster.add(&document.name, &document.origin);
                }
                (FolderStep::Update | FolderStep::Stop | FolderStep::Leave, _) => {}
            }
        }
        if self.hosted.is_empty() && wanted.problems.is_empty() && !wanted.objects_unknown {
            let or = match self.has_objects {
                true => ", or create a Plugin object",
                false => "",
            };
            tracing::info!(
                "there is no plugin yet: put a Plugin document (*.yaml) and its component into the config folder{or}"
            );
        }
        self.wanted = wanted;
    }

    /// Says what is wrong, and what has become right again, once.
    fn say_problems(&mut self, wanted: &Wanted) {
        let problems: Vec<String> = wanted.problems.iter().map(ToString::to_string).collect();
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
        let (name, origin) = (document.name.clone(), document.origin.clone());
        self.start(name, origin, Some(Arc::new(candidate.clone())));
    }

    fn start(&mut self, name: String, origin: Origin, candidate: Option<Arc<Candidate>>) {
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
        self.roster.add(&name, &origin);
        let hosted = Hosted {
            origin,
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
        self.roster.remove(&name);
        if let Some(lost) = why_host_ends(&name, &ended) {
            return Some(lost);
        }
        let hosted = hosted?;
        let presence = Presence::of(&name, &hosted.origin, &self.wanted);
        match after_end(hosted.lifecycle, presence) {
            EndStep::StartAgain => {
                if let Some(candidate) = candidate(&name, &self.wanted).cloned() {
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
