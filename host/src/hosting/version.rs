//! A version of a plugin that has been let in.

use std::sync::Arc;

use crate::grants::Grants;
use crate::metrics::About;
use crate::plugin::{Description, Plugin};
use crate::source::{Candidate, Digest};

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
    pub(super) fn about(&self) -> About {
        let described = &self.plugin.description;
        About {
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
}
