//! A version of a plugin that has been admitted.

use std::sync::Arc;

use super::Host;
use super::refusal::{Refusal, RefusalReason};
use super::takeover::{Wants, same_sight};
use windlass_base::digest::Digest;
use windlass_controller::controller::{CalledVersion, Tally};
use windlass_controller::metrics::{ReconciledKind, RunningVersion};
use windlass_controller::needs::{CoverageQuery, PrimaryKind, Readiness, closed_origins};
use windlass_kube::api::{Discovery, Resource, ServiceAccount};
use windlass_policy::grants::{Grant, Grants, entries};
use windlass_policy::manifest::{self, DefinitionPolicy, Mode};
use windlass_policy::source::Candidate;
use windlass_sandbox::{Description, Finalizes, Plugin, PrimaryWatch, ServedPrimary};

/// The kinds that a plugin reconciles which says this of itself.
pub(super) fn reconciled(description: &Description) -> Vec<ReconciledKind> {
    let primaries = description.primaries.iter();
    let kinds = primaries.map(|primary| ReconciledKind {
        api_version: primary.api_version.clone(),
        kind: primary.kind.clone(),
    });
    kinds.collect()
}

/// Whether a plugin that says this of itself may put its finalizer on objects.
fn finalizes(description: &Description) -> bool {
    let mut primaries = description.primaries.iter();
    primaries.any(|primary| primary.finalizes != Finalizes::Never)
}

/// A version that runs, or is to.
pub(super) struct Version {
    /// What was asked for.
    pub(super) candidate: Arc<Candidate>,
    /// The digest of its component.
    pub(super) digest: Digest,
    /// What was made of it.
    pub(super) plugin: Arc<Plugin>,
    /// How its passes end.
    pub(super) tally: Arc<Tally>,
}

impl Version {
    /// What people are told of it.
    pub(super) fn about(&self) -> RunningVersion {
        let described = &self.plugin.description;
        RunningVersion {
            version: described.version.clone(),
            digest: self.digest.to_string(),
            component: self.full_digest(),
            kinds: reconciled(described),
            finalizes: finalizes(described),
            observes: self.candidate.document.mode == Mode::Observe,
            document: self.candidate.text.clone(),
        }
    }

    /// What is done about what it carries. A plugin that observes installs nothing.
    pub(super) fn definition_policy(&self) -> DefinitionPolicy {
        let document = &self.candidate.document;
        match (document.crds, document.mode) {
            (DefinitionPolicy::Install, Mode::Observe) => DefinitionPolicy::Ignore,
            (policy, Mode::Observe | Mode::Run) => policy,
        }
    }

    /// What a controller calls.
    pub(super) fn called(&self) -> CalledVersion {
        CalledVersion {
            plugin: self.plugin.clone(),
            tally: self.tally.clone(),
        }
    }

    /// All of the digest of its component, as status and annotations have it.
    pub(super) fn full_digest(&self) -> String {
        format!("sha256:{}", self.digest.hex())
    }

    /// Whether the host installs what it carries.
    pub(super) fn installs(&self) -> bool {
        self.definition_policy() == DefinitionPolicy::Install
            && !self.plugin.description.crds.is_empty()
    }

    /// Whether `other` can take over from this one between two passes.
    pub(super) fn takes_over(&self, other: &Self) -> bool {
        self.wants().serve(&other.wants())
    }

    fn wants(&self) -> Wants<'_> {
        let document = &self.candidate.document;
        Wants {
            description: &self.plugin.description,
            finalizer: document.finalizer.as_deref(),
            replaces: &document.replaces,
            grants: &document.grants,
            service_account: document.service_account.as_ref(),
            http: &document.http,
            limits: self.plugin.limits(),
            resync: document.resync,
            mode: document.mode,
            object_annotations: document.object_annotations,
        }
    }

    /// What it may touch.
    pub(super) fn grants(&self) -> &Grants {
        &self.candidate.document.grants
    }

    /// Whether it sees what a plugin does that says this of itself, and has these grants and this service account.
    pub(super) fn sees_as(
        &self,
        one: &Description,
        grants: &Grants,
        service_account: Option<&ServiceAccount>,
    ) -> bool {
        let document = &self.candidate.document;
        same_sight(one, &self.plugin.description)
            && *grants == document.grants
            && service_account == document.service_account.as_ref()
    }

    /// Whether its grants can work, with its primary kinds as discovery knows them: what it has to do without.
    ///
    /// # Errors
    /// Why it is not started: it may not watch a primary kind, not finalize it though it does, or a need is
    /// granted where it covers nothing.
    pub(super) fn check_grants(
        &self,
        primaries: &[ServedPrimary],
        discovery: &Discovery,
    ) -> Result<Vec<String>, String> {
        let document = &self.candidate.document;
        let (name, origin) = (&document.name, &document.origin);
        let scope = |group: &str, plural: &str| discovery.is_cluster_scoped(group, plural);
        let places = CoverageQuery {
            primaries: PrimaryKind::each(&self.plugin.description, primaries),
            is_cluster_scoped: &scope,
        };
        let readiness = Readiness::of(&self.plugin.description, &document.grants, &places);
        let line = |index| self.candidate.line_of_grant(index);
        let (refused, notes) = readiness.problems_told(line);
        if refused.is_empty() {
            let notes = notes
                .into_iter()
                .map(|text| format!("{origin}: plugin {name}: {text}"));
            return Ok(notes.collect());
        }
        Err(format!(
            "{origin}: plugin {name} is not started: {}",
            refused.join("; ")
        ))
    }
}

impl Host {
    /// Refuses a plugin that needs what its document does not grant.
    pub(super) fn check_missing(
        &self,
        document: &manifest::PluginDocument,
        description: &Description,
    ) -> Result<(), Refusal> {
        if let Some(problem) = document.grants.leases_of_host(&self.namespace) {
            let (origin, name) = (&document.origin, &document.name);
            let why = format!("{origin}: plugin {name} is not started: {problem}");
            return Err(RefusalReason::NotGranted(why).into());
        }
        let readiness = self.readiness(description, &document.grants);
        let advice = |grants: &[Grant]| {
            format!("add it to grants, if it is to have it: {}", entries(grants))
        };
        let lack = readiness.lack(advice);
        let Some(lack) = lack.or_else(|| closed_origins(description, &document.http)) else {
            return Ok(());
        };
        let (origin, name) = (&document.origin, &document.name);
        let why = format!("{origin}: plugin {name} is not started, since it {lack}");
        Err(RefusalReason::NotGranted(why).into())
    }

    /// Whether `grants` are all that a plugin needs, with its kinds as they are remembered.
    pub fn readiness(&self, description: &Description, grants: &Grants) -> Readiness {
        let primaries = description.primaries.iter();
        let known: Vec<(&PrimaryWatch, Option<Resource>, String)> = primaries
            .map(|primary| {
                let known = self
                    .discovery
                    .remembered(&primary.api_version, &primary.kind);
                (primary, known, description.likely_plural(primary))
            })
            .collect();
        let primaries = known.iter().map(|(primary, known, likely)| match known {
            Some(resource) => resource.into(),
            None => PrimaryKind::known(primary.group(), likely),
        });
        let places = CoverageQuery {
            primaries: primaries.collect(),
            is_cluster_scoped: &|group, plural| self.discovery.is_cluster_scoped(group, plural),
        };
        Readiness::of(description, grants, &places)
    }
}
