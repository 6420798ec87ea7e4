//! A version of a plugin that has been let in.

use std::sync::Arc;

use super::Host;
use super::refusal::Refusal;
use crate::api::{Discovery, Resource};
use crate::digest::Digest;
use crate::grants::{Grant, Grants, entries};
use crate::manifest::{self, line_of_grant};
use crate::metrics::RunningVersion;
use crate::needs;
use crate::needs::{CoverageQuery, PrimaryKind, wanted};
use crate::plugin::{Description, Plugin};
use crate::source::Candidate;

/// A version that runs, or is to.
pub(super) struct Version {
    /// What was asked for.
    pub(super) candidate: Arc<Candidate>,
    /// The digest of the component that was let in.
    pub(super) digest: Digest,
    /// What was made of it.
    pub(super) plugin: Arc<Plugin>,
}

impl Version {
    /// What people are told of it.
    pub(super) fn about(&self) -> RunningVersion {
        let described = &self.plugin.description;
        RunningVersion {
            version: described.version.clone(),
            digest: self.digest.to_string(),
            api_version: described.api_version.clone(),
            kind: described.kind.clone(),
        }
    }

    /// Whether `other` can take over from this one between two passes: it watches the same, may
    /// touch the same, and has as many workers.
    pub(super) fn takes_over(&self, other: &Self) -> bool {
        let (one, two) = (&self.plugin.description, &other.plugin.description);
        let limits = |version: &Self| {
            let limits = version.plugin.limits();
            (limits.concurrency, limits.api_calls)
        };
        other.sees_as(one, &self.candidate.document.grants)
            && (one.finalizes, one.spec_change_only) == (two.finalizes, two.spec_change_only)
            && limits(self) == limits(other)
            && self.candidate.document.resync == other.candidate.document.resync
    }

    /// Whether it sees what a plugin does that says this of itself, and has these grants.
    pub(super) fn sees_as(&self, one: &Description, grants: &Grants) -> bool {
        let two = &self.plugin.description;
        let same_wants =
            (&one.api_version, &one.kind, &one.needs) == (&two.api_version, &two.kind, &two.needs);
        let same_sight = (&one.label_selector, &one.field_selector, &one.fields)
            == (&two.label_selector, &two.field_selector, &two.fields);
        same_wants && same_sight && *grants == self.candidate.document.grants
    }

    /// Whether its grants can work, with its primary kind as discovery knows it: what it has to do without.
    ///
    /// # Errors
    /// Why it is not started: it may not watch its primary kind, not finalize it though it does, or a need is
    /// granted where it covers nothing.
    pub(super) fn check_grants(
        &self,
        primary: &Resource,
        discovery: &Discovery,
    ) -> Result<Vec<String>, String> {
        let document = &self.candidate.document;
        let (name, file) = (&document.name, document.file.display());
        let scope = |group: &str, plural: &str| discovery.is_cluster_scoped(group, plural);
        let description = &self.plugin.description;
        let problems = needs::problems(description, &document.grants, &primary.into(), &scope);
        let line = |index| line_of_grant(&self.candidate.text, name, index);
        let texts = |refuses: bool| -> Vec<String> {
            let these = problems.iter().filter(|problem| problem.refuses == refuses);
            these.map(|problem| problem.text(line)).collect()
        };
        let refused = texts(true);
        if refused.is_empty() {
            let notes = texts(false).into_iter();
            let notes = notes.map(|text| format!("{file}: plugin {name}: {text}"));
            return Ok(notes.collect());
        }
        Err(format!(
            "{file}: plugin {name} is not started: {}",
            refused.join("; ")
        ))
    }
}

impl Host {
    /// Refuses a plugin that needs what its document does not grant.
    pub(super) fn check_missing(
        &self,
        document: &manifest::Plugin,
        description: &Description,
    ) -> Result<(), Refusal> {
        let missing = description.missing(&document.grants);
        if missing.is_empty() {
            return Ok(());
        }
        let advice = match self.to_grant(description, &document.grants) {
            Ok(grants) => format!(
                "add it to grants, if it is to have it: {}",
                entries(&grants)
            ),
            Err(never) => format!("some of that is never granted: {never}"),
        };
        Err(Refusal::new(format!(
            "{}: plugin {} is not started, since it needs what is not granted: {}; {advice}",
            document.file.display(),
            document.name,
            missing.join("; ")
        )))
    }

    /// What to write into a document so that it grants all that its plugin needs, with its kinds as they are remembered.
    ///
    /// # Errors
    /// As [`wanted`].
    pub fn to_grant(
        &self,
        description: &Description,
        grants: &Grants,
    ) -> Result<Vec<Grant>, String> {
        let primary = self
            .discovery
            .remembered(&description.api_version, &description.kind);
        let likely = description.likely_plural();
        let places = CoverageQuery {
            primary: match &primary {
                Some(primary) => primary.into(),
                None => PrimaryKind::known(description.group(), &likely),
            },
            is_cluster_scoped: &|group, plural| self.discovery.is_cluster_scoped(group, plural),
        };
        wanted(description, grants, &places)
    }
}
