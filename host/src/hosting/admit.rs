//! Admits versions, or refuses them: check, compile, describe, grants, smoke test.

use std::sync::Arc;

use super::admissions::Admitted;
use super::configure::Configs;
use super::fetch::Fetched;
use super::last_good::KeptError;
use super::quarantine::{Stopped, refusal_of};
use super::refusal::{ROLLED_BACK, Refusal, RefusalReason};
use super::rollout::{
    Admission, KeptVersion, NotResumed, Proposal, Resume, Runs, VersionCheck, admission, checks,
    not_resumed, resume,
};
use super::smoke_test::SmokeTest;
use super::version::{Version, reconciled};
use super::{Host, LastGood};
use crate::hosting::carriers;
use windlass_base::digest::{Digest, digest};
use windlass_controller::needs::carried;
use windlass_kube::api::{ApiError, Resource};
use windlass_policy::grants::Scope;
use windlass_policy::manifest::DefinitionPolicy;
use windlass_policy::source::{Candidate, Component, blame};
use windlass_sandbox::PrimaryWatch;

/// Where the code of a version comes from.
enum ComponentCode<'a> {
    /// From this component.
    In(&'a [u8]),
    /// From this version, which runs.
    Of(&'a Version),
}

impl ComponentCode<'_> {
    /// The digest of the component.
    fn digest(&self) -> Digest {
        match self {
            Self::In(bytes) => digest(bytes),
            Self::Of(version) => version.digest,
        }
    }
}

impl Host {
    /// What is to take the place of `current` now that `fetched` is asked for, if it is another version.
    pub(super) async fn next(
        &self,
        fetched: Option<Fetched>,
        current: Option<&Arc<Version>>,
        stopped: &Stopped,
    ) -> Result<Option<Admitted>, Refusal> {
        let candidate = fetched.as_ref().map(|fetched| &fetched.candidate);
        let refusal = candidate.and_then(|candidate| {
            let refusal = refusal_of(stopped, candidate);
            // Where nothing else runs there is nothing to lose.
            refusal.filter(|it| current.is_some() || it.reason() != ROLLED_BACK)
        });
        let is_current = |asked: &Candidate| current.is_some_and(|it| *it.candidate == *asked);
        let proposal = match (candidate, refusal) {
            (None, _) => Proposal::Nothing,
            (Some(candidate), _) if is_current(candidate) => Proposal::Current,
            (Some(_), Some(refusal)) => Proposal::Stopped(refusal.retry),
            (Some(_), None) => Proposal::New,
        };
        match (admission(proposal), fetched, refusal) {
            (Admission::RefuseAgain, _, Some(refusal)) => Err(refusal.clone()),
            (Admission::RefuseAgain | Admission::Check, Some(fetched), _) => {
                self.admit_asked(fetched, current).await.map(Some)
            }
            (Admission::Keep, _, _) | (_, None, _) => Ok(None),
        }
    }

    /// Admits what somebody asks for; answers also its component.
    async fn admit_asked(
        &self,
        Fetched { candidate, bytes }: Fetched,
        current: Option<&Arc<Version>>,
    ) -> Result<Admitted, Refusal> {
        let asked = match &candidate.component {
            Component::Known(digest) => *digest,
            Component::Unreadable(why) => {
                return Err(RefusalReason::Unreadable(why.clone()).into());
            }
            Component::Remote => {
                let why = blame(&candidate.document, "was not fetched");
                return Err(RefusalReason::Unreadable(why).into());
            }
        };
        // Another document of the component that runs: it is neither fetched nor read again.
        let same = current.filter(|current| current.digest == asked);
        let (version, bytes) = match same {
            Some(current) => {
                let code = ComponentCode::Of(current);
                (self.admit_code(candidate.clone(), code).await?, None)
            }
            None => {
                let read = match bytes {
                    Some(bytes) => Some(bytes),
                    None => self.read_again(&candidate).await?,
                };
                // What was judged whole is what is run.
                let bytes = read.filter(|read| digest(read.bytes()) == asked);
                let changed = || RefusalReason::ChangedWhileRead(place(&candidate));
                let bytes = bytes.ok_or_else(changed)?;
                let version = self.admit_component(candidate.clone(), bytes.bytes());
                let version = version.await?;
                (version, Some(bytes))
            }
        };
        for check in checks(Runs::of(current)) {
            match (check, current) {
                (VersionCheck::Grants, _) => self.check_granted(&version).await?,
                (VersionCheck::Finalizers, Some(current)) => {
                    self.check_kinds(current, &version).await?
                }
                (VersionCheck::Finalizers, None) => {}
                (VersionCheck::SmokeTest, Some(current)) => {
                    let _room = version.plugin.make_room();
                    self.smoke(&version, current).await?;
                }
                (VersionCheck::SmokeTest, None) => {}
            }
        }
        Ok((version, bytes))
    }

    /// The last good version of an earlier run, unless it is what is asked for anyway. It is lost when
    /// it is not admitted for good; a reason that may pass holds back what would replace it.
    pub(super) async fn resume(
        &self,
        name: &str,
        asked: Option<&Candidate>,
        stopped: &Stopped,
        configs: &mut Configs,
    ) -> Result<Option<Arc<Version>>, Refusal> {
        let Some(last_good) = &self.last_good else {
            return Ok(None);
        };
        let mut room = self.preparations.room().await;
        for load in [LastGood::load, LastGood::load_previous] {
            let loaded = load(last_good, name);
            let kept = self.judge_kept(&loaded, asked, stopped);
            match (resume(kept), loaded) {
                (Resume::TryPrevious, _) => {}
                (Resume::Nothing, Err(problem)) => {
                    tracing::warn!(plugin = name, "its last good version is lost: {problem}");
                    return Ok(None);
                }
                (Resume::Admit, Ok(Some((candidate, bytes)))) => {
                    room.keep(bytes.len());
                    // What of its configuration is elsewhere is not kept: it may be in Secrets.
                    let configured = self.configured(configs, Arc::new(candidate)).await;
                    let candidate = match configured {
                        Ok(candidate) => candidate,
                        Err(refusal) if refusal.lacks_configuration() => {
                            let why = refusal.why;
                            tracing::warn!(plugin = name, "its last good version is lost: {why}");
                            return Ok(None);
                        }
                        Err(refusal) => return Err(refusal),
                    };
                    return self.resume_kept(name, candidate, &bytes).await;
                }
                (Resume::Nothing | Resume::Admit, _) => return Ok(None),
            }
        }
        Ok(None)
    }

    fn judge_kept(
        &self,
        loaded: &Result<Option<(Candidate, Vec<u8>)>, KeptError>,
        asked: Option<&Candidate>,
        stopped: &Stopped,
    ) -> KeptVersion {
        let (candidate, bytes) = match loaded {
            Ok(Some(kept)) => kept,
            Ok(None) => return KeptVersion::Absent,
            Err(_) => return KeptVersion::Lost,
        };
        if self.check_component(&digest(bytes)).is_err() {
            KeptVersion::Quarantined
        } else if stopped.iter().any(|(it, _)| it.is_same_version(candidate)) {
            KeptVersion::Stopped
        } else if asked == Some(candidate) {
            KeptVersion::Asked
        } else {
            KeptVersion::Good
        }
    }

    async fn resume_kept(
        &self,
        name: &str,
        candidate: Arc<Candidate>,
        bytes: &[u8],
    ) -> Result<Option<Arc<Version>>, Refusal> {
        let refusal = match self.admit_component(candidate, bytes).await {
            Ok(version) => return Ok(Some(version)),
            Err(refusal) => refusal,
        };
        match not_resumed(refusal.retry) {
            NotResumed::HoldBack => Err(refusal),
            NotResumed::Forget => {
                let why = refusal.why;
                tracing::warn!(plugin = name, "its last good version is refused: {why}");
                Ok(None)
            }
        }
    }

    /// Refuses a version whose grants cannot work, and warns of those that it may do without. A kind that is not
    /// served is waited for, and judged then.
    async fn check_granted(&self, version: &Version) -> Result<(), Refusal> {
        let description = &version.plugin.description;
        // It is asked again until there is an answer, before anything runs.
        let Ok(primaries) = self.served_primaries(description, version.grants()).await else {
            return Ok(());
        };
        let notes = version.check_grants(&primaries, &self.discovery);
        for note in notes.map_err(RefusalReason::NotGranted)? {
            tracing::warn!(plugin = &*version.plugin.name, "{note}");
        }
        Ok(())
    }

    /// Checks, compiles and describes a component, and compares its needs with its grants.
    pub(super) async fn admit_component(
        &self,
        candidate: Arc<Candidate>,
        bytes: &[u8],
    ) -> Result<Arc<Version>, Refusal> {
        self.admit_code(candidate, ComponentCode::In(bytes)).await
    }

    async fn admit_code(
        &self,
        candidate: Arc<Candidate>,
        code: ComponentCode<'_>,
    ) -> Result<Arc<Version>, Refusal> {
        let document = &candidate.document;
        let name = &document.name;
        tracing::debug!(plugin = name, reached = "read", "loading");
        let component = code.digest();
        self.check_component(&component)?;
        let account = self.sandboxes.accounts().of(name);
        let refused = account.refused();
        let (config, limits) = (candidate.config(), document.limits);
        let loaded = match &code {
            ComponentCode::In(bytes) => {
                let loading = self
                    .sandboxes
                    .load(name, bytes, config, limits, &self.cache);
                loading.await
            }
            ComponentCode::Of(version) => {
                let loading = self.sandboxes.load_again(&version.plugin, config, limits);
                loading.await
            }
        };
        let mut plugin = loaded.map_err(|error| {
            self.note_load_error(component, &error);
            RefusalReason::NotLoaded {
                at: place(&candidate),
                error,
                was_short: account.was_short_since(refused),
            }
        })?;
        let (name, description) = (&document.name, &plugin.description);
        carried(description, document.crds, &document.grants).map_err(|why| {
            let origin = &document.origin;
            RefusalReason::NotGranted(format!(
                "{origin}: plugin {name} is not started, since it {why}"
            ))
        })?;
        if document.crds == DefinitionPolicy::Ignore {
            plugin.description.crds = Vec::new();
        }
        self.metrics
            .of(name)
            .claims(reconciled(&plugin.description));
        self.check_missing(document, &plugin.description)?;
        self.metrics.of(name).loads.of(plugin.code_source).inc();
        let (version, kinds) = (&plugin.description.version, plugin.description.kinds());
        match code {
            ComponentCode::In(bytes) => {
                if let Some(failures) = &self.failures {
                    failures.keep_component(name, bytes).await;
                }
                let size = bytes.len();
                tracing::info!(plugin = name, version, kinds, size, "loaded");
            }
            ComponentCode::Of(_) => {
                tracing::info!(
                    plugin = name,
                    version,
                    kinds,
                    "loaded with another document"
                );
            }
        }
        Ok(Arc::new(Version {
            digest: component,
            plugin: Arc::new(plugin),
            tally: Arc::default(),
            candidate,
        }))
    }

    /// Refuses to give up a primary kind, or the finalizer, for as long as objects carry it: nobody would ever let them go.
    async fn check_kinds(&self, before: &Version, version: &Version) -> Result<(), Refusal> {
        let (old, new) = (&before.plugin.description, &version.plugin.description);
        let finalizer = |version: &Version| version.candidate.document.finalizer();
        let changes = finalizer(before) != finalizer(version);
        for old in &old.primaries {
            let mut named = new.primaries.iter();
            let is_named = named.any(|new| new.group_kind() == old.group_kind());
            if !changes && is_named && !old.is_every_kind() {
                continue;
            }
            let unanswered = |error: ApiError| RefusalReason::Unanswered {
                what: format!("look up {}", old.kind),
                error: error.to_string(),
            };
            // A kind that is gone has no objects.
            let of_old = self.kinds_of(before, old).await.map_err(unanswered)?;
            let every = self.every_kind(new, version.grants()).await;
            let every = every.map_err(unanswered)?;
            for resource in of_old {
                let kind = (&*resource.group, &*resource.kind);
                let mut goes_on = new.primaries.iter().map(PrimaryWatch::group_kind).chain(
                    every
                        .iter()
                        .map(|it| (&*it.resource.group, &*it.resource.kind)),
                );
                if changes || !goes_on.any(|new| new == kind) {
                    let given_up = (&resource, old.is_every_kind());
                    self.check_given_up(given_up, changes, before, version)
                        .await?;
                }
            }
        }
        Ok(())
    }

    /// Refuses a version that reconciles `resource` no more, or `changes` the finalizer, as long as objects of that kind
    /// wait for the plugin.
    async fn check_given_up(
        &self,
        (resource, is_every): (&Resource, bool),
        changes: bool,
        before: &Version,
        version: &Version,
    ) -> Result<(), Refusal> {
        let name = &*version.plugin.name;
        let finalizer = before.candidate.document.finalizer();
        let api = self.api_for(&before.candidate.document);
        // Where the old version watched; it may not look elsewhere.
        let grants = &before.candidate.document.grants;
        let places = match grants.watch_scope(&resource.group, &resource.plural, None) {
            Scope::All => vec![None],
            Scope::Namespaces(names) => names.into_iter().map(Some).collect(),
        };
        let mut left = 0;
        for place in places {
            let found = carriers(&api, resource, place.as_deref(), &finalizer).await;
            // What the host may not read it has not watched, and so has protected nothing there.
            let forbidden = |error: &anyhow::Error| {
                let error = error.downcast_ref::<ApiError>();
                error.is_some_and(ApiError::is_forbidden)
            };
            if is_every && found.as_ref().is_err_and(forbidden) {
                tracing::warn!(
                    plugin = name,
                    "cannot look for its finalizer on {resource}: the host may not read them"
                );
                continue;
            }
            let found = found.map_err(|error| RefusalReason::Unanswered {
                what: format!("look for the finalizer {finalizer}"),
                error: format!("{error:#}"),
            })?;
            left += found.len();
        }
        if left == 0 {
            return Ok(());
        }
        let origin = &version.candidate.document.origin;
        let change = if changes {
            "names another finalizer".to_owned()
        } else {
            format!("does not reconcile {} any more", resource.kind)
        };
        let flag = match &before.candidate.document.finalizer {
            Some(finalizer) => format!(" --finalizer {finalizer}"),
            None => String::new(),
        };
        Err(RefusalReason::LeavesFinalizers(format!(
            "{origin}: the new version {change}, while {left} {resource} carry the plugin's finalizer {finalizer}: nobody would finalize them. Delete them first; or remove the plugin, run `windlass release {name}{flag}`, and install it again"
        ))
        .into())
    }

    /// Calls that are not meant: a trap or a missed limit refuses the version, a failure that the plugin reports does not.
    /// What the version would do differently is told.
    async fn smoke(&self, version: &Version, before: &Version) -> Result<(), Refusal> {
        let account = version.plugin.account();
        let refused = account.refused();
        let (tested, report) = SmokeTest::test(self, version, before).await;
        tracing::debug!(
            plugin = &*version.plugin.name,
            reached = "tested",
            "loading"
        );
        let file = version.candidate.document.origin.to_string();
        match tested.verdict(file, account.was_short_since(refused)) {
            Some(reason) => Err(reason.into()),
            None => {
                let plugin = &*version.plugin.name;
                tracing::info!(plugin, "smoke test: {report}");
                self.metrics.of(plugin).tested(report);
                Ok(())
            }
        }
    }
}

/// The document of `candidate`, and its component.
fn place(candidate: &Candidate) -> String {
    let document = &candidate.document;
    let (origin, source) = (&document.origin, &document.source);
    format!("{origin}: component {source}")
}
