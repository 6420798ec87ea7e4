//! A version on trial: let in as any other, and called when somebody asks for it.

use std::sync::Arc;

use anyhow::{Context, bail};

use super::Host;
use super::next_version::parts;
use super::version::Version;
use crate::controller::Prepared;
use crate::plugin::Description;
use crate::source::Candidate;

/// A version that a host would run.
#[derive(Clone)]
pub struct DryRun(Arc<Version>);

impl DryRun {
    /// What it says of itself.
    pub fn description(&self) -> &Description {
        &self.0.plugin.description
    }
}

impl Host {
    /// Lets a version in: checks and compiles it, asks what it is, and compares its needs with its grants.
    ///
    /// # Errors
    /// A host would refuse it.
    pub async fn admit(&self, candidate: Candidate, bytes: &[u8]) -> anyhow::Result<DryRun> {
        let version = self.let_in(Arc::new(candidate), bytes).await;
        match version {
            Ok(version) => Ok(DryRun(version)),
            Err(refusal) => bail!(refusal.why),
        }
    }

    /// Its controller, with all lists in and a closed queue: it makes a pass when it is asked to.
    ///
    /// # Errors
    /// Its kind is not served, or it may not watch it.
    pub async fn rehearse(&self, admitted: &DryRun) -> anyhow::Result<Prepared> {
        let version = &admitted.0;
        let Description {
            api_version, kind, ..
        } = admitted.description();
        let primary = self.discovery.by_kind(api_version, kind).await?;
        let primary = primary.with_context(|| {
            format!("{kind} of {api_version} is not defined: put its CustomResourceDefinition beside plugin.yaml")
        })?;
        version
            .check_grants(&primary, &self.discovery)
            .map_err(anyhow::Error::msg)?;
        let document = &version.candidate.document;
        let parts = parts(self, self.api.clone(), version.plugin.clone(), document);
        Ok(Prepared::watch(parts, primary).await)
    }
}
