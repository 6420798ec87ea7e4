//! Lets versions in, or refuses them: check, compile, describe, grants, smoke test.

use std::sync::Arc;
use std::time::Duration;

use super::admissions::Judged;
use super::quarantine::Stopped;
use super::refusal::{AGAIN, Refusal, again, passes};
use super::smoke_test::SmokeTest;
use super::version::Version;
use super::{Host, LastGood};
use crate::digest::digest;
use crate::error::Chain;
use crate::grants::Scope;
use crate::hosting::carriers;
use crate::object::finalizer_of;
use crate::plugin::Description;
use crate::source::Candidate;

/// When a file is read again that changed while it was.
const SOON: Duration = Duration::from_secs(1);

impl Host {
    /// What is to take the place of `current` now that `candidate` is asked for, if it is another version.
    pub(super) async fn next(
        &self,
        candidate: Option<Arc<Candidate>>,
        current: Option<&Arc<Version>>,
        stopped: &Stopped,
    ) -> Result<Option<Judged>, Refusal> {
        let is_current =
            |asked: &Arc<Candidate>| current.is_some_and(|it| *it.candidate == **asked);
        let Some(candidate) = candidate.filter(|asked| !is_current(asked)) else {
            return Ok(None);
        };
        let stopped = stopped.iter().find(|(it, _)| *it == candidate);
        if let Some((_, refusal)) = stopped.filter(|(_, refusal)| !refusal.may_be_over()) {
            return Err(refusal.clone());
        }
        self.admit_asked(&candidate, current).await.map(Some)
    }

    /// Lets in what somebody asks for; answers also its component.
    async fn admit_asked(
        &self,
        candidate: &Arc<Candidate>,
        current: Option<&Arc<Version>>,
    ) -> Result<Judged, Refusal> {
        let asked = candidate.component.clone().map_err(Refusal::new)?;
        let read = candidate.read_component();
        // What was judged whole is what is run.
        let bytes = read.ok().filter(|bytes| digest(bytes) == asked);
        let bytes = bytes.ok_or_else(|| Refusal {
            again: Some(SOON),
            ..Refusal::new(format!(
                "{}: component {} has changed since it was looked at",
                candidate.document.file.display(),
                candidate.document.component.display()
            ))
        })?;
        let version = self.let_in(candidate.clone(), &bytes).await?;
        self.check_granted(&version).await?;
        // Without a version to fall back on there is nothing to lose: its failures are its own.
        if let Some(current) = current {
            self.check_kind(current, &version).await?;
            let _room = version.plugin.make_room();
            self.smoke(&version).await?;
        }
        Ok((version, bytes.into_owned()))
    }

    /// The last good version of an earlier run, unless it is what is asked for anyway. It is lost when
    /// it is not let in for good; a reason that may pass holds back what would replace it.
    pub(super) async fn resume(
        &self,
        name: &str,
        asked: Option<&Candidate>,
        stopped: &Stopped,
    ) -> Result<Option<Arc<Version>>, Refusal> {
        let Some(last_good) = &self.last_good else {
            return Ok(None);
        };
        for load in [LastGood::load, LastGood::load_previous] {
            let (candidate, bytes) = match load(last_good, name) {
                Ok(Some(kept)) => kept,
                Ok(None) => return Ok(None),
                Err(problem) => {
                    tracing::warn!(plugin = name, "its last good version is lost: {problem}");
                    return Ok(None);
                }
            };
            // The one before it has another component.
            if self.check_component(&digest(&bytes)).is_err()
                || stopped.iter().any(|(it, _)| **it == candidate)
            {
                continue;
            }
            if asked == Some(&candidate) {
                return Ok(None);
            }
            match self.let_in(Arc::new(candidate), &bytes).await {
                Ok(version) => return Ok(Some(version)),
                Err(refusal) if refusal.again.is_some() => return Err(refusal),
                Err(Refusal { why, .. }) => {
                    tracing::warn!(plugin = name, "its last good version is refused: {why}");
                    return Ok(None);
                }
            }
        }
        Ok(None)
    }

    /// Refuses a version whose grants cannot work, and warns of those that it may do without. A kind that is not
    /// served is waited for, and judged then.
    async fn check_granted(&self, version: &Version) -> Result<(), Refusal> {
        let Description {
            kind, api_version, ..
        } = &version.plugin.description;
        match self.discovery.by_kind(api_version, kind).await {
            Ok(Some(primary)) => {
                let notes = version.check_grants(&primary, &self.discovery);
                for note in notes.map_err(Refusal::new)? {
                    tracing::warn!(plugin = &*version.plugin.name, "{note}");
                }
                Ok(())
            }
            // It is asked again until there is an answer, before anything runs.
            Ok(None) | Err(_) => Ok(()),
        }
    }

    /// Checks, compiles and describes a component, and compares its needs with its grants.
    pub(super) async fn let_in(
        &self,
        candidate: Arc<Candidate>,
        bytes: &[u8],
    ) -> Result<Arc<Version>, Refusal> {
        let document = &candidate.document;
        let name = &document.name;
        let file = document.file.display();
        tracing::debug!(plugin = name, reached = "read", "loading");
        let component = digest(bytes);
        self.check_component(&component)?;
        let account = self.sandboxes.accounts().of(name);
        let before = account.refused();
        let loading =
            self.sandboxes
                .load(name, bytes, &document.config, document.limits, &self.cache);
        let mut plugin = loading.await.map_err(|error| {
            self.note_load_error(component, &error);
            let path = document.component.display();
            Refusal {
                again: again(&error, account.was_short_since(before)),
                ..Refusal::new(format!("{file}: component {path}: {}", Chain(&error)))
            }
        })?;
        // Whether they are installed is for the operator to say.
        plugin.description.crds = Vec::new();
        let Description {
            version,
            kind,
            api_version,
            ..
        } = &plugin.description;
        self.metrics.of(name).claims(api_version, kind);
        self.check_missing(document, &plugin.description)?;
        if let Some(failures) = &self.failures {
            failures.keep_component(name, bytes).await;
        }
        let size = bytes.len();
        tracing::info!(plugin = name, version, kind, api_version, size, "loaded");
        Ok(Arc::new(Version {
            digest: component,
            plugin: Arc::new(plugin),
            candidate,
        }))
    }

    /// Refuses another primary kind for as long as objects of the old one wait for the plugin:
    /// nobody would ever let them go.
    async fn check_kind(&self, before: &Version, version: &Version) -> Result<(), Refusal> {
        let (old, new) = (&before.plugin.description, &version.plugin.description);
        if (old.group(), &old.kind) == (new.group(), &new.kind) {
            return Ok(());
        }
        let found = self.discovery.by_kind(&old.api_version, &old.kind).await;
        let found = found
            .map_err(|error| Refusal::passing(format!("cannot look up {}: {error}", old.kind)))?;
        // A kind that is gone has no objects.
        let Some(resource) = found else {
            return Ok(());
        };
        let name = &*version.plugin.name;
        let finalizer = finalizer_of(name);
        // Where the old version watched; the host may not look elsewhere.
        let grants = &before.candidate.document.grants;
        let places = match grants.watch_scope(&resource.group, &resource.plural, None) {
            Scope::All => vec![None],
            Scope::Namespaces(names) => names.into_iter().map(Some).collect(),
        };
        let mut left = 0;
        for place in places {
            let found = carriers(&self.api, &resource, place.as_deref(), &finalizer).await;
            let found = found.map_err(|error| {
                Refusal::passing(format!(
                    "cannot look for the finalizer {finalizer}: {error:#}"
                ))
            })?;
            left += found.len();
        }
        if left == 0 {
            return Ok(());
        }
        let file = version.candidate.document.file.display();
        Err(Refusal::passing(format!(
            "{file}: the new version reconciles {} instead of {}, while {left} {resource} carry its finalizer {finalizer}: nobody would finalize them. Delete them first; or take the plugin out of the folder, run `windlass release {name}`, and put it in again",
            new.kind, old.kind
        )))
    }

    /// One call that is not meant: a trap or a missed limit refuses the version, a failure that the
    /// plugin reports does not.
    async fn smoke(&self, version: &Version) -> Result<(), Refusal> {
        let account = version.plugin.account();
        let before = account.refused();
        let tested = SmokeTest::test(self, version).await;
        tracing::debug!(
            plugin = &*version.plugin.name,
            reached = "tested",
            "loading"
        );
        let file = version.candidate.document.file.display();
        match tested {
            SmokeTest::Passed | SmokeTest::NoObject => Ok(()),
            SmokeTest::Unknown(error) => Err(Refusal::passing(format!(
                "{file}: the new version cannot be tested, since no object can be read for it: {error}"
            ))),
            SmokeTest::Failed(object, error) => {
                let passes = passes(&error, account.was_short_since(before));
                Err(Refusal {
                    again: passes.then_some(AGAIN),
                    ..Refusal::new(format!(
                        "{file}: the new version fails its smoke test, a call about {object} whose writes are not sent: {error}"
                    ))
                })
            }
        }
    }
}
