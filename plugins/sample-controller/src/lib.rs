//! The Foo controller of kubernetes/sample-controller as a plugin.
//!
//! A Foo keeps one Deployment with the name and the number of replicas that it gives.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use windlass_sdk::{
    Action, Cluster, Event, Failure, Manifest, Needs, Object, ObjectRef, Patch, Reconciler, export,
    need,
};

/// The kind of `foo.crd.yaml`.
type Foo = Object<Spec, Status>;
/// A Deployment, as far as a Foo reads it.
type Deployment = Object<DeploymentSpec, DeploymentStatus>;

/// What is wanted.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec {
    #[serde(default)]
    deployment_name: String,
    replicas: Option<i64>,
}

/// What was observed.
#[derive(Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    available_replicas: i64,
}

#[derive(Deserialize)]
struct DeploymentSpec {
    replicas: Option<i64>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct DeploymentStatus {
    available_replicas: i64,
}

/// The controller.
#[derive(Default)]
pub struct Controller;

impl Reconciler for Controller {
    const WATCHES: (&'static str, &'static str) = ("samplecontroller.k8s.io/v1alpha1", "Foo");
    const WRITES_STATUS: bool = true;
    type Object = Foo;

    fn needs() -> Needs {
        need(
            "apps/v1",
            "Deployment",
            &["get", "list", "watch", "create", "patch"],
        )
        .fields([".spec.replicas", ".status.availableReplicas"])
    }

    fn reconcile(&self, sample: &Foo, cluster: &dyn Cluster) -> Result<Action, Failure> {
        let name = &sample.spec.deployment_name;
        if name.is_empty() {
            return Err(Failure::terminal("spec.deploymentName must be set"));
        }
        let namespace = sample.metadata.namespace.as_deref().unwrap_or_default();
        let target = ObjectRef::new("apps/v1", "Deployment", namespace, &**name);
        let deployment = match cluster.find::<Deployment>(&target)? {
            Some(deployment) => deployment,
            None => serde_json::from_value(cluster.create(deployment(sample))?)?,
        };
        let owners = &deployment.metadata.owner_references;
        let is_own = |uid: &str| uid == sample.metadata.uid;
        if !owners
            .iter()
            .any(|owner| owner.controller && is_own(&owner.uid))
        {
            let note = format!("Resource {name:?} already exists and is not managed by Foo");
            cluster.event(Event::warning("ErrResourceExists", "Sync", &*note));
            return Err(Failure::transient(note));
        }
        let mut available = deployment.status.unwrap_or_default().available_replicas;
        if let Some(wanted) = sample
            .spec
            .replicas
            .filter(|wanted| deployment.spec.replicas != Some(*wanted))
        {
            let patch = Patch::Merge(json!({ "spec": { "replicas": wanted } }));
            let patched: Deployment = serde_json::from_value(cluster.patch(&target, &patch)?)?;
            available = patched.status.unwrap_or_default().available_replicas;
        }
        let status = Status {
            available_replicas: available,
        };
        if sample.status.as_ref() != Some(&status) {
            cluster.apply_status(sample, status)?;
        }
        let note = "Foo synced successfully";
        cluster.event(Event::normal("Synced", "Sync", note));
        Ok(Action::AwaitChange)
    }
}

/// The Deployment of a Foo.
fn deployment(sample: &Foo) -> Manifest {
    let labels: Value = json!({ "app": "nginx", "controller": sample.name() });
    let container = json!({ "name": "nginx", "image": "nginx:latest" });
    sample
        .child("apps/v1", "Deployment", &*sample.spec.deployment_name)
        .spec(json!({
            "replicas": sample.spec.replicas,
            "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": { "containers": [container] } },
        }))
}

export!(Controller);

#[cfg(test)]
mod tests {
    use windlass_sdk::testing::run_dir;

    use super::*;

    #[test]
    fn every_fixture_holds() {
        run_dir::<Controller>("tests").unwrap();
    }
}
