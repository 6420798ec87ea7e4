//! The plugins of a host: each is started, updated and stopped as what is wanted says. What is done is decided in
//! [`super::plan`].

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::FuturesUnordered;

use super::plan::{
    EndStep, FolderStep, Lifecycle, Presence, StartStep, after_change, after_end, at_start,
    candidate,
};
use super::plugin::Ended;
use super::roster::Roster;
use super::{Host, LastGood};
use windlass_base::seams::{Task, watch};
use windlass_base::shutdown::{Phases, ShutdownPhase, advance};
use windlass_policy::manifest::Origin;
use windlass_policy::source::{Candidate, Wanted};

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
pub(super) type End = (String, Result<Ended, tokio::task::JoinError>);

/// The plugins of a host.
pub(super) struct Plugins {
    pub(super) host: Arc<Host>,
    hosted: BTreeMap<String, Hosted>,
    tasks: FuturesUnordered<futures::future::BoxFuture<'static, End>>,
    pub(super) wanted: Wanted,
    /// What is wrong with it, as it was said last.
    said: Vec<String>,
    /// Whether Plugin objects count.
    pub(super) has_objects: bool,
    pub(super) roster: Roster,
}

/// Why the host must end, now that the task of the plugin `name` has ended so; nothing if it need not.
fn why_host_ends(name: &str, ended: &Result<Ended, tokio::task::JoinError>) -> Option<String> {
    match ended {
        Ok(Ended::Asked | Ended::HandedOver) => None,
        Ok(Ended::LostLease) => Some("leader election lost".to_owned()),
        Err(error) => Some(format!("the task of plugin {name} was lost: {error}")),
    }
}

impl Plugins {
    /// None yet. `has_objects`: Plugin objects count.
    pub(super) fn new(host: Arc<Host>, has_objects: bool) -> Self {
        Self {
            host,
            hosted: BTreeMap::new(),
            tasks: FuturesUnordered::new(),
            wanted: Wanted::default(),
            said: Vec::new(),
            has_objects,
            roster: Roster::default(),
        }
    }

    /// Starts what ran last from files that cannot be read now.
    pub(super) fn resume(&mut self, wanted: &Wanted) {
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
    pub(super) fn follow(&mut self, wanted: Wanted) {
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
    pub(super) async fn ended(&mut self) -> End {
        match self.tasks.next().await {
            Some(end) => end,
            None => std::future::pending().await,
        }
    }

    /// A plugin has ended; the answer is why the host must, if it must.
    pub(super) fn take_end(&mut self, (name, ended): End) -> Option<String> {
        let hosted = self.hosted.remove(&name);
        self.roster.remove(&name);
        if let Some(lost) = why_host_ends(&name, &ended) {
            return Some(lost);
        }
        let hosted = hosted?;
        let presence = Presence::of(&name, &hosted.origin, &self.wanted);
        // What was handed over is asked for still: it starts again, and stands by.
        let lifecycle = match ended {
            Ok(Ended::HandedOver) => Lifecycle::Stopping,
            Ok(Ended::Asked | Ended::LostLease) | Err(_) => hosted.lifecycle,
        };
        match after_end(lifecycle, presence) {
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
        self.host.causes.forget(name);
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
    pub(super) async fn stop(
        mut self,
        phases: &Phases,
        mut lost: Option<String>,
    ) -> Option<String> {
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
