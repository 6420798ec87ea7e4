//! Kubernetes' PV protection controller as a plugin: a volume stays as long as it is bound to a claim.
//!
//! The document names the finalizer `kubernetes.io/pv-protection`. The host adds it to each volume, and removes it when
//! `finalize` is done.

use std::time::Duration;

use serde::Deserialize;
use windlass_kit::metadata::Metadata;
use windlass_sdk::{
    Action, Cluster, Consistency, Failure, Finalize, ObjectRef, Progress, Reconciler, Watch, export,
};

/// When a volume that is bound is looked at again. A change of the volume leads to an earlier call.
const AGAIN: Duration = Duration::from_secs(10 * 60);

/// A PersistentVolume.
#[derive(Deserialize)]
pub struct Volume {
    metadata: Metadata,
    #[serde(default)]
    status: Status,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    phase: String,
}

impl Volume {
    /// Whether a claim holds it.
    fn is_bound(&self) -> bool {
        self.status.phase == "Bound"
    }
}

/// The controller.
#[derive(Default)]
pub struct Volumes;

impl Reconciler for Volumes {
    const WATCHES: (&'static str, &'static str) = ("v1", "PersistentVolume");
    const FINALIZE: Option<Finalize<Self>> = Some(Self::finalize);
    type Object = Volume;

    fn watch() -> Watch {
        Watch::default().fields([".status.phase"])
    }

    /// The host has added the finalizer already.
    fn reconcile(&self, _: &Volume, _: &dyn Cluster) -> Result<Action, Failure> {
        Ok(Action::AwaitChange)
    }
}

impl Volumes {
    /// Is done when the volume is not bound.
    fn finalize(&self, volume: &Volume, cluster: &dyn Cluster) -> Result<Progress, Failure> {
        if volume.is_bound() || is_bound_by_now(volume, cluster)? {
            return Ok(Progress::Pending(AGAIN));
        }
        Ok(Progress::Done)
    }
}

/// Whether the newest state of the volume is bound: a claim may have got it since.
fn is_bound_by_now(volume: &Volume, cluster: &dyn Cluster) -> Result<bool, Failure> {
    let target = ObjectRef::cluster_scoped("v1", "PersistentVolume", &*volume.metadata.name);
    match cluster.get_json(&target, None, Consistency::Latest) {
        Ok(newest) => Ok(serde_json::from_value::<Volume>(newest)?.is_bound()),
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

export!(Volumes);

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windlass_sdk::testing::run_dir;

    use super::*;

    #[test]
    fn every_fixture_holds() {
        run_dir::<Volumes>("tests").unwrap();
    }

    #[test]
    fn only_the_phase_says_that_a_volume_is_bound() {
        let cases = [
            (json!({}), false),
            (json!({ "phase": "Pending" }), false),
            (json!({ "phase": "Available" }), false),
            (json!({ "phase": "Bound" }), true),
            (json!({ "phase": "Released" }), false),
            (json!({ "phase": "Failed" }), false),
        ];
        for (status, want) in cases {
            let object = json!({ "metadata": { "name": "disk" }, "status": status });
            let volume: Volume = serde_json::from_value(object).unwrap();
            assert_eq!(volume.is_bound(), want, "{status}");
        }
    }
}
