//! Kubernetes' Deployment controller as a plugin.
//!
//! A Deployment keeps one ReplicaSet for each version of its template. Each pass claims the sets, makes one for a new
//! template, moves replicas from the old sets to the new one, and writes the status. The rules are those of Kubernetes'
//! documentation and enhancement proposals.

mod conditions;
mod deployment;
mod pass;
mod revision;
mod rollout;
mod set;
mod status;

use std::time::Duration;

use jiff::Timestamp;
use serde::Deserialize;
use windlass_sdk::{
    Action, Cluster, Failure, LabelSelector, Needs, ReconcileGoing, Reconciler, export,
    export_going, manage, need,
};

use crate::deployment::Deployment;
use crate::pass::{Halt, Pass};

/// When a pass runs again that has decided from an old version.
const SOON: Duration = Duration::from_secs(1);

/// Feature gates of kube-controller-manager.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct Gates {
    terminating_replicas: bool,
}

impl Default for Gates {
    fn default() -> Self {
        Self {
            terminating_replicas: true,
        }
    }
}

/// The controller.
#[derive(Default)]
pub struct Controller;

impl Reconciler for Controller {
    const WATCHES: (&'static str, &'static str) = ("apps/v1", "Deployment");
    const WRITES_STATUS: bool = true;
    const RECONCILE_GOING: Option<ReconcileGoing<Self>> = Some(Self::reconcile_going);
    type Object = Deployment;

    fn needs() -> Needs {
        manage("apps/v1", "ReplicaSet")
            + need("v1", "Pod", &["get", "list", "watch"]).fields([".status.phase"])
    }

    fn reconcile(&self, deployment: &Deployment, cluster: &dyn Cluster) -> Result<Action, Failure> {
        answer(reconcile(deployment, cluster))
    }
}

/// Brings a rollout further.
fn reconcile(deployment: &Deployment, cluster: &dyn Cluster) -> Result<(), Halt> {
    let mut pass = begin(deployment, cluster)?;
    conditions::note_pause(deployment, &mut pass.status.conditions, pass.now);
    let is_resized = pass.is_resized();
    if deployment.spec.paused || is_resized {
        pass.find_new_set()?;
        pass.resize()?;
        if deployment.spec.paused {
            pass.clean_up()?;
        }
        pass.report_size()?;
    } else if deployment.spec.recreates() {
        pass.recreate()?;
    } else {
        pass.roll()?;
    }
    Ok(())
}

/// What the host is told. A decision from an old version is made again soon: that is not a failure.
fn answer(done: Result<(), Halt>) -> Result<Action, Failure> {
    match done {
        Ok(()) => Ok(Action::AwaitChange),
        Err(Halt::Stale) => Ok(Action::RequeueAfter(SOON)),
        Err(Halt::Failed(failure)) => Err(failure),
    }
}

impl Controller {
    /// While a Deployment is being deleted, its status stays right.
    fn reconcile_going(
        &self,
        deployment: &Deployment,
        cluster: &dyn Cluster,
    ) -> Result<Action, Failure> {
        let report = || {
            let mut pass = begin(deployment, cluster)?;
            pass.split();
            pass.report_size()
        };
        answer(report())
    }
}

/// Claims the sets of a Deployment.
fn begin<'a>(deployment: &'a Deployment, cluster: &'a dyn Cluster) -> Result<Pass<'a>, Halt> {
    let gates: Gates = cluster.settings()?;
    let now: Timestamp = cluster.now().parse().map_err(|error: jiff::Error| {
        Halt::Failed(Failure::transient(format!(
            "the time of the call is not a time: {error}"
        )))
    })?;
    let mut pass = Pass::new(deployment, cluster, now, gates.terminating_replicas);
    let selector: LabelSelector = serde_json::from_value(deployment.spec.selector.clone())?;
    pass.claim(&selector)?;
    Ok(pass)
}

export!(Controller);
export_going!(Controller);

#[cfg(test)]
mod tests {
    use windlass_sdk::testing::run_dir;

    use super::*;

    #[test]
    fn every_fixture_holds() {
        run_dir::<Controller>("tests").unwrap();
    }
}
