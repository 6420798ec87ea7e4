//! Kubernetes' PVC protection controller as a plugin: a claim stays as long as a pod uses it.
//!
//! The document names the finalizer `kubernetes.io/pvc-protection`. The host adds it to each claim, and removes it when
//! `finalize` is done.

mod uses;

use std::time::Duration;

use serde::Deserialize;
use windlass_kit::metadata::Metadata;
use windlass_sdk::{
    Action, Cluster, Error, Failure, Finalize, ListQuery, Needs, Progress, Reconciler, Watch,
    export, need,
};

use crate::uses::{FIELDS, Pod};

/// When a claim that is in use is looked at again. A pod that goes leads to an earlier call.
const AGAIN: Duration = Duration::from_secs(10 * 60);

/// A PersistentVolumeClaim.
#[derive(Deserialize)]
pub struct Claim {
    metadata: Metadata,
}

/// The controller.
#[derive(Default)]
pub struct Claims;

impl Reconciler for Claims {
    const WATCHES: (&'static str, &'static str) = ("v1", "PersistentVolumeClaim");
    const FINALIZE: Option<Finalize<Self>> = Some(Self::finalize);
    type Object = Claim;

    fn watch() -> Watch {
        Watch::default().fields([".metadata.name"])
    }

    fn needs() -> Needs {
        need("v1", "Pod", &["list", "watch"]).fields(FIELDS)
    }

    /// The host has added the finalizer already.
    fn reconcile(&self, _: &Claim, _: &dyn Cluster) -> Result<Action, Failure> {
        Ok(Action::AwaitChange)
    }
}

impl Claims {
    /// Is done when no pod uses the claim.
    fn finalize(&self, claim: &Claim, cluster: &dyn Cluster) -> Result<Progress, Failure> {
        let pods = ListQuery::all("v1", "Pod").in_namespace(&*claim.metadata.namespace);
        // What the host has stored comes first: it costs no request, and a change of it leads to a call. But a pod may have
        // come since.
        let is_used =
            is_used(claim, &pods, cluster)? || is_used(claim, &pods.clone().latest(), cluster)?;
        Ok(if is_used {
            Progress::Pending(AGAIN)
        } else {
            Progress::Done
        })
    }
}

/// Whether one of these pods uses the claim.
fn is_used(claim: &Claim, pods: &ListQuery, cluster: &dyn Cluster) -> Result<bool, Error> {
    let pods: Vec<Pod> = cluster.list(pods)?;
    Ok(pods.iter().any(|pod| pod.uses(&claim.metadata)))
}

export!(Claims);

#[cfg(test)]
mod tests {
    use windlass_sdk::testing::run_dir;

    use super::*;

    #[test]
    fn every_fixture_holds() {
        run_dir::<Claims>("tests").unwrap();
    }
}
