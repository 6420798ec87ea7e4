//! Lets versions in, or refuses them: check, compile, describe, grants, smoke test.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::smoke::Smoke;
use super::version::Version;
use super::{Asked, Host};
use crate::api::Resource;
use crate::error::Chain;
use crate::grants::Scope;
use crate::plugin::compiler::CompileError;
use crate::plugin::{CallError, Description, LoadError};
use crate::release::carriers;
use crate::seams::first;
use crate::source::{Candidate, digest, read_component};
use crate::view::finalizer_of;

/// When a version is tried again that was refused for a reason that may pass.
const AGAIN: Duration = Duration::from_secs(30);

/// Why a version is not let in.
#[derive(Debug)]
pub(super) struct Refusal {
    /// Everything that a person needs to mend it.
    why: String,
    /// Whether it may be let in later as it is: the machine or the API server is to blame.
    passes: bool,
}

impl Refusal {
    fn new(why: String) -> Self {
        Self { why, passes: false }
    }
}

impl Host {
    /// Lets in what is asked for, one after the other; what is refused leaves the version before
    /// it in place, or the last good one of an earlier run of the host.
    pub(super) async fn admissions(
        &self,
        name: &str,
        mut asked: Asked,
        accept: &watch::Sender<Option<Arc<Version>>>,
    ) -> Infallible {
        let mut current: Option<Arc<Version>> = None;
        loop {
            let candidate = asked.borrow_and_update().clone();
            let mut again = false;
            let known = current.as_ref().is_some_and(|current| {
                candidate
                    .as_ref()
                    .is_none_or(|it| **it == *current.candidate)
            });
            if !known {
                let refused = match &candidate {
                    Some(candidate) => self.admit_asked(candidate, current.as_ref()).await,
                    None => Err(None),
                };
                let version = match refused {
                    Ok(version) => Some(version),
                    Err(refusal) => {
                        again = refusal.as_ref().is_some_and(|refusal| refusal.passes);
                        let kept = match &current {
                            Some(_) => None,
                            None => self.resume(name).await,
                        };
                        if let Some(refusal) = refusal {
                            say(name, &refusal, current.as_ref().or(kept.as_ref()));
                        }
                        kept
                    }
                };
                if let Some(version) = version {
                    current = Some(version.clone());
                    accept.send_replace(Some(version));
                }
            }
            let changed = async {
                if asked.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            if again {
                first(changed, self.seams.clock.sleep(AGAIN)).await;
            } else {
                changed.await;
            }
        }
    }

    /// Lets in what somebody asks for, and keeps it as the last good version.
    async fn admit_asked(
        &self,
        candidate: &Arc<Candidate>,
        current: Option<&Arc<Version>>,
    ) -> Result<Arc<Version>, Option<Refusal>> {
        let bytes = candidate.component.clone();
        let bytes = bytes.and_then(|_| read_component(&candidate.document));
        let bytes = bytes.map_err(|why| Some(Refusal::new(why)))?;
        let version = self.let_in(candidate.clone(), &bytes).await.map_err(Some)?;
        // Without a version to fall back on there is nothing to lose: its failures are its own.
        let before = match current {
            Some(current) => Some(current.clone()),
            None => self.resume_unless(&version).await,
        };
        if let Some(before) = &before {
            self.check_kind(before, &version).await.map_err(Some)?;
            self.smoke(&version).await.map_err(Some)?;
        }
        if let Some(last_good) = &self.last_good
            && let Err(error) = last_good.keep(candidate, &bytes)
        {
            let plugin = &*version.plugin.name;
            tracing::warn!(
                plugin,
                "its last good version cannot be kept in the state folder: {error}"
            );
        }
        tracing::debug!(plugin = &*version.plugin.name, reached = "kept", "loading");
        Ok(version)
    }

    /// The last good version of an earlier run, as far as it can still be let in.
    async fn resume(&self, name: &str) -> Option<Arc<Version>> {
        let loaded = self.last_good.as_ref()?.load(name);
        let loaded = match loaded {
            Ok(loaded) => loaded?,
            Err(problem) => {
                tracing::warn!(plugin = name, "its last good version is lost: {problem}");
                return None;
            }
        };
        let (candidate, bytes) = loaded;
        match self.let_in(Arc::new(candidate), &bytes).await {
            Ok(version) => Some(version),
            Err(refusal) => {
                let why = refusal.why;
                tracing::warn!(plugin = name, "its last good version is refused: {why}");
                None
            }
        }
    }

    /// The last good version of an earlier run, if it is another one than `version`.
    async fn resume_unless(&self, version: &Version) -> Option<Arc<Version>> {
        let name = &*version.plugin.name;
        let kept = self.last_good.as_ref()?.load(name).ok()??;
        let same =
            kept.0.document == version.candidate.document && kept.0.component == Ok(version.digest);
        if same { None } else { self.resume(name).await }
    }

    /// Checks, compiles and describes a component, and compares its needs with its grants.
    async fn let_in(
        &self,
        candidate: Arc<Candidate>,
        bytes: &[u8],
    ) -> Result<Arc<Version>, Refusal> {
        let document = &candidate.document;
        let name = &document.name;
        let file = document.file.display();
        tracing::debug!(plugin = name, reached = "read", "loading");
        let loading =
            self.sandboxes
                .load(name, bytes, &document.config, document.limits, &self.cache);
        let plugin = loading.await.map_err(|error| Refusal {
            passes: may_pass(&error),
            why: format!(
                "{file}: component {}: {}",
                document.component.display(),
                Chain(&error)
            ),
        })?;
        let missing = plugin.description.missing(&document.grants);
        if !missing.is_empty() {
            return Err(Refusal::new(format!(
                "{file}: plugin {name} is not started, since it needs what is not granted: {}; add it to grants, if it is to have it",
                missing.join("; ")
            )));
        }
        let Description {
            version,
            kind,
            api_version,
            ..
        } = &plugin.description;
        let size = bytes.len();
        tracing::info!(plugin = name, version, kind, api_version, size, "loaded");
        let version = Version {
            digest: digest(bytes),
            plugin: Arc::new(plugin),
            candidate,
        };
        // A kind that is not served is waited for; one that is must be granted.
        let Description {
            kind, api_version, ..
        } = &version.plugin.description;
        if let Some(primary) = self.discovery.remembered(api_version, kind) {
            version.check_primary(&primary).map_err(Refusal::new)?;
        }
        Ok(Arc::new(version))
    }

    /// Refuses another primary kind for as long as objects of the old one wait for the plugin:
    /// nobody would ever let them go.
    async fn check_kind(&self, before: &Version, version: &Version) -> Result<(), Refusal> {
        let (old, new) = (&before.plugin.description, &version.plugin.description);
        if (old.group(), &old.kind) == (new.group(), &new.kind) {
            return Ok(());
        }
        let passes = |why: String| Refusal { why, passes: true };
        let found = self.discovery.by_kind(&old.api_version, &old.kind).await;
        let found =
            found.map_err(|error| passes(format!("cannot look up {}: {error}", old.kind)))?;
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
                passes(format!(
                    "cannot look for the finalizer {finalizer}: {error:#}"
                ))
            })?;
            left += found.len();
        }
        if left == 0 {
            return Ok(());
        }
        let file = version.candidate.document.file.display();
        Err(passes(format!(
            "{file}: the new version reconciles {} instead of {}, while {left} {resource} carry its finalizer {finalizer}: nobody would finalize them. Delete them first; or take the plugin out of the folder, run `windlass release {name}`, and put it in again",
            new.kind, old.kind
        )))
    }

    /// One call that is not meant: a trap or a missed limit refuses the version, a failure that the
    /// plugin reports does not.
    async fn smoke(&self, version: &Version) -> Result<(), Refusal> {
        let error = match Smoke::test(self, version).await {
            Smoke::Passed | Smoke::NoObject => None,
            Smoke::Failed(object, error) => Some((object, error)),
        };
        tracing::debug!(
            plugin = &*version.plugin.name,
            reached = "tested",
            "loading"
        );
        let Some((object, error)) = error else {
            return Ok(());
        };
        let file = version.candidate.document.file.display();
        let passes = matches!(error, CallError::Host(_) | CallError::Stopped);
        Err(Refusal {
            why: format!(
                "{file}: the new version fails its smoke test, a call about {object} whose writes are not sent: {error}"
            ),
            passes,
        })
    }
}

impl Version {
    /// Whether the plugin may watch its primary kind, and finalize it if it does.
    pub(super) fn check_primary(&self, primary: &Resource) -> Result<(), String> {
        let document = &self.candidate.document;
        let (name, file) = (&document.name, document.file.display());
        let scope = document
            .grants
            .watch_scope(&primary.group, &primary.plural, None);
        if scope.is_empty() {
            return Err(format!(
                "{file}: no grant says where plugin {name} may watch {primary}: grant watch on it with `namespaces: all` or a list of names"
            ));
        }
        if !primary.namespaced && scope != Scope::All {
            return Err(format!(
                "{file}: {primary} are cluster-scoped: grant watch on them to plugin {name} with `namespaces: all`"
            ));
        }
        let mut verbs = vec!["get", "list", "watch"];
        verbs.extend(self.plugin.description.finalizes.then_some("patch"));
        let granted = |verb: &&str| {
            document
                .grants
                .cover_need(verb, &primary.group, &primary.plural, &[])
        };
        let open: Vec<&str> = verbs.into_iter().filter(|verb| !granted(verb)).collect();
        if open.is_empty() {
            return Ok(());
        }
        Err(format!(
            "{file}: plugin {name} is not started: its primary kind needs a grant too; add {} on {primary} to grants",
            open.join(" ")
        ))
    }
}

/// Whether a component that was refused for this could be let in later as it is.
fn may_pass(error: &LoadError) -> bool {
    match error {
        LoadError::Compile(CompileError::Failed(_) | CompileError::Exhausted(_))
        | LoadError::Cache(_)
        | LoadError::Describe(CallError::Host(_) | CallError::Stopped) => true,
        LoadError::Compile(CompileError::Refused(_))
        | LoadError::Refused(_)
        | LoadError::Describe(_)
        | LoadError::Description(_) => false,
    }
}

fn say(plugin: &str, refusal: &Refusal, runs: Option<&Arc<Version>>) {
    let why = &refusal.why;
    match runs {
        Some(runs) => {
            let digest = runs.digest.to_string();
            tracing::error!(plugin, digest, "{why}; the last good version runs on");
        }
        None => tracing::error!(plugin, "{why}"),
    }
}
