//! Follows one target: builds it, applies its objects, and does both again when its files change.
//!
//! ```text
//! look ─> objects that changed are applied
//!      └> sources that changed: make ─> another digest? ─> the host is asked for it
//! ```

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::apply::Applier;
use super::attach::Attachment;
use super::inputs::{Held, Inputs, saved};
use super::names::Names;
use super::news::News;
use super::objects::Objects;
use super::plugins::watch;
use super::target::{Target, Version};
use super::tell::Teller;
use crate::project::{Failed, Maker};
use windlass_base::digest::Digest;
use windlass_base::error::Chain;
use windlass_base::seams::Task;
use windlass_base::text::LogOnce;
use windlass_host::hosting::Host;
use windlass_policy::source::{Candidate, Wanted};

/// So many builds that change nothing, within so long, are a build that changes its own sources.
const IDLE_BUILDS: usize = 3;
const IDLE_WITHIN: Duration = Duration::from_secs(5);

/// Who follows a target.
pub(super) struct Follower {
    pub(super) target: Target,
    pub(super) host: Arc<Host>,
    /// Who is told.
    pub(super) teller: Teller,
    /// What all targets ask for.
    pub(super) names: Names,
    /// What the host is to run.
    pub(super) folders: mpsc::Sender<Wanted>,
    /// Which of the targets it is.
    pub(super) number: usize,
    /// The API server is this program's own.
    pub(super) own_server: bool,
    /// Whether it takes the place of a plugin in a cluster.
    pub(super) attachment: Option<Attachment>,
    pub(super) state: State,
}

/// What is known so far.
#[derive(Default)]
pub(super) struct State {
    /// The files as they were looked at last.
    held: Held,
    /// The version that runs, or was asked for.
    asked: Option<(Digest, Candidate)>,
    /// What it is granted, as it was told last.
    granted: Option<News>,
    /// What was applied.
    objects: Objects,
    /// Objects that were refused.
    refused: bool,
    idle: Idle,
    /// The plugin, and who tells what becomes of it.
    watched: Option<(String, Task)>,
}

/// Builds in a row that made what was there before, each with the file that caused it.
#[derive(Default)]
struct Idle(Vec<(Instant, PathBuf)>);

impl Idle {
    /// A build that `file` caused made what was there already. Answers the file, if it is time to stop.
    fn built(&mut self, now: Instant, file: PathBuf) -> Option<PathBuf> {
        self.0.push((now, file));
        self.0
            .retain(|(when, _)| now.saturating_duration_since(*when) < IDLE_WITHIN);
        if self.0.len() < IDLE_BUILDS {
            return None;
        }
        let last = self.0.pop().map(|(_, file)| file);
        self.0.clear();
        last
    }

    /// A build made something new.
    fn over(&mut self) {
        self.0.clear();
    }
}

/// Why the first version did not come to be.
pub(super) type FirstFailed = String;

impl Follower {
    /// Builds and applies for the first time.
    ///
    /// # Errors
    /// There is no component: there is nothing to go on with.
    pub(super) async fn begin(&mut self) -> Result<(), FirstFailed> {
        let inputs = self.target.inputs();
        self.state.held = look(&self.host, &inputs).await?;
        self.apply(&BTreeMap::new()).await;
        let (version, _) = self.build().await?;
        self.ask_for(version).await
    }

    /// Whether some of its objects were refused.
    pub(super) fn was_refused(&self) -> bool {
        self.state.refused
    }

    /// Follows the files, without end.
    pub(super) async fn go_on(mut self) {
        let mut notices = self.host.seams.spawn.notices().ok().flatten();
        let mut inputs = self.target.inputs();
        let mut logged = LogOnce::default();
        loop {
            if let Some(notices) = &mut notices {
                notices.watch(&self.state.held.folders);
            }
            saved(self.host.seams.clock, &mut notices).await;
            match look(&self.host, &inputs).await {
                Ok(held) => self.took(held, &mut inputs).await,
                Err(problem) if logged.is_new(problem.clone()) => {
                    self.failed(problem);
                }
                Err(_) => {}
            }
        }
    }

    /// The files are like this now.
    async fn took(&mut self, held: Held, inputs: &mut Inputs) {
        let before = std::mem::replace(&mut self.state.held, held);
        let documents = Held::changed(&before.documents, &self.state.held.documents);
        let sources = Held::changed(&before.sources, &self.state.held.sources);
        for file in documents.iter().chain(&sources) {
            let file = file.strip_prefix(self.target.folder()).unwrap_or(file);
            let file = file.display().to_string();
            self.teller.print(&News::Changed { file });
        }
        let mut again = !sources.is_empty();
        if !documents.is_empty() {
            match self.target.reopened() {
                Ok(target) => {
                    again |= target != self.target;
                    if target.inputs() != self.target.inputs() {
                        *inputs = target.inputs();
                    }
                    self.target = target;
                }
                // What it says is not known: the document before is followed.
                Err(error) => self.failed(Chain(&*error).to_string()),
            }
            self.apply(&before.documents).await;
        }
        if !again {
            return;
        }
        match self.build().await {
            Ok((version, true)) => {
                self.state.idle.over();
                if let Err(message) = self.ask_for(version).await {
                    self.failed(message);
                }
            }
            Ok((version, false)) => {
                self.teller.print(&News::Same {
                    plugin: version.candidate.document.name.clone(),
                    digest: version.made.digest.to_string(),
                });
                self.was_idle(sources.into_iter().next(), inputs);
            }
            Err(message) => self.failed(message),
        }
    }

    /// A build made what was there already: perhaps it also changed what it is made from.
    fn was_idle(&mut self, file: Option<PathBuf>, inputs: &mut Inputs) {
        let Some(file) = file else { return };
        let now = self.host.seams.clock.now();
        if let Some(file) = self.state.idle.built(now, file) {
            inputs.leave_out(&file);
            self.state.held.sources.remove(&file);
            let file = file.display().to_string();
            self.teller.print(&News::Unwatched { file });
        }
    }

    /// Makes the component, and answers also whether it is another one.
    async fn build(&mut self) -> Result<(Version, bool), String> {
        let maker = Maker {
            seams: self.host.seams.clone(),
        };
        let begins = |command: &str| {
            self.teller.print(&News::Building {
                command: command.to_owned(),
            });
        };
        self.waits(Some("`windlass dev` builds its first version"));
        let made = self.target.make(&maker, begins).await;
        self.waits(match &made {
            Ok(_) => None,
            Err(_) => Some("its first build has failed: see what `windlass dev` printed"),
        });
        let made = made.map_err(|failed| match failed {
            Failed::Command(command, how) => format!("`{command}`: {how}"),
            Failed::Other(error) => Chain(&*error).to_string(),
        })?;
        let version = self.target.version(made, &self.host).await;
        let mut version = version.map_err(|error| Chain(&*error).to_string())?;
        if let Some(attachment) = self.attachment {
            let written = self.target.document().grants;
            attachment.adapts(&mut version.candidate.document, written);
        }
        let is_same = self
            .state
            .asked
            .as_ref()
            .is_some_and(|(digest, candidate)| {
                *digest == version.made.digest && *candidate == version.candidate
            });
        Ok((version, !is_same))
    }

    /// Tells those who ask the host why there is no component yet, or that there is one.
    fn waits(&self, why: Option<&str>) {
        // A component alone has its name from its file.
        if self.state.asked.is_none() && matches!(self.target, Target::Project(_)) {
            let meters = self.host.metrics.of(&self.target.document().name);
            meters.waits_for_component(why.map(str::to_owned));
        }
    }

    /// Asks the host to run it.
    async fn ask_for(&mut self, version: Version) -> Result<(), String> {
        let Version {
            candidate,
            made,
            news,
            applied,
            ..
        } = version;
        let [built, granted] = news;
        self.teller.print(&built);
        for news in applied {
            self.state.refused |= matches!(news, News::NotApplied { .. });
            self.teller.print(&news);
        }
        if self.state.granted.as_ref() != Some(&granted) {
            self.teller.print(&granted);
            self.state.granted = Some(granted);
        }
        let name = candidate.document.name.clone();
        let folder = self.names.ask(self.number, candidate.clone());
        let folder = folder.map_err(|taken| {
            format!("another project has the plugin name {taken} already: rename one of them")
        })?;
        self.state.asked = Some((made.digest, candidate));
        if self
            .state
            .watched
            .as_ref()
            .is_none_or(|(watched, _)| *watched != name)
        {
            let watching = watch(self.host.clone(), name.clone(), self.teller.clone());
            self.state.watched = Some((name, self.host.seams.spawn.task(watching)));
        }
        // The host goes when everything does.
        let _ = self.folders.send(folder).await;
        Ok(())
    }

    /// Applies the objects of the files that are not as they were `before`.
    async fn apply(&mut self, before: &BTreeMap<PathBuf, Digest>) {
        // The objects of a project are samples: a cluster has its own.
        if matches!(self.target, Target::Component(_)) || self.attachment.is_some() {
            return;
        }
        let host = self.host.clone();
        let applier = Applier {
            api: &host.api,
            discovery: &host.discovery,
            clock: host.seams.clock,
            is_own: self.own_server,
        };
        let files = (before, &self.state.held.documents);
        let objects = &mut self.state.objects;
        let is_refused = objects.follow(&applier, &self.teller, files).await;
        self.state.refused |= is_refused;
    }

    fn failed(&self, message: String) {
        let runs_on = self.state.asked.is_some();
        self.teller.print(&News::BuildFailed { message, runs_on });
    }
}

/// Looks at the files, on a thread that may wait for a disk.
async fn look(host: &Host, inputs: &Inputs) -> Result<Held, String> {
    let inputs = inputs.clone();
    let looked = host.seams.spawn.blocking(move || inputs.look()).await;
    let looked = looked.map_err(|error| error.to_string())?;
    looked.map_err(|error| format!("cannot look at the project's files: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_build_that_changes_its_own_sources_comes_to_rest() {
        let clock = windlass_base::seams::Clock::system();
        let began = clock.now();
        let mut idle = Idle::default();
        let mut built =
            |second: u64, file: &str| idle.built(began + Duration::from_secs(second), file.into());
        assert_eq!(built(0, "a.rs"), None);
        assert_eq!(built(1, "a.rs"), None);
        assert_eq!(built(2, "a.rs"), Some("a.rs".into()));
        assert_eq!(built(3, "b.rs"), None, "it is counted again");
        assert_eq!(built(4, "b.rs"), None);
        assert_eq!(built(20, "b.rs"), None, "somebody saved it, now and then");
    }
}
