//! An example plugin: runs web applications.
//!
//! The children of a `WebApp` are one set: a Deployment, a Service and a ConfigMap, and what the spec asks for of a
//! PodDisruptionBudget, an Ingress and a HorizontalPodAutoscaler. What is no longer asked for leaves the set, and the
//! host deletes it. The pods carry a checksum of all that they read at their start, so they roll when it changes.

mod children;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use windlass_sdk::{
    Action, Cluster, Condition, Error, Failure, Needs, Object, ObjectRef, Reconciler, Watch,
    export, manage, read,
};

use crate::children::{children, deployment_of};

/// The label of the pods: the name of their WebApp.
const LABEL: &str = "examples.windlass.dev/webapp";

/// The kind of `webapp.crd.yaml`, which also gives the defaults.
type WebApp = Object<Spec, Status>;
/// The Deployment as far as this plugin reads it.
type Deployment = Object<Value, Replicas>;

/// What is wanted.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec {
    image: String,
    replicas: i64,
    port: u16,
    host: Option<String>,
    tls_secret: Option<String>,
    config: BTreeMap<String, String>,
    env_from: Vec<Source>,
    autoscale: Option<Autoscale>,
}

/// A ConfigMap or Secret of the user.
#[derive(Deserialize)]
struct Source {
    kind: String,
    name: String,
}

/// The part of a ConfigMap or Secret that pods read.
#[derive(Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct Data {
    data: Value,
    binary_data: Value,
}

/// How the number of replicas may change.
#[derive(Deserialize)]
struct Autoscale {
    min: i32,
    max: i32,
    cpu: i32,
}

/// What was observed.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    observed_generation: i64,
    #[serde(default)]
    replicas: i64,
    #[serde(default)]
    available_replicas: i64,
    #[serde(default)]
    selector: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    conditions: Vec<Condition>,
}

/// The status of the Deployment.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Replicas {
    observed_generation: i64,
    replicas: i64,
    updated_replicas: i64,
    available_replicas: i64,
}

/// The controller.
#[derive(Default)]
pub struct WebApps;

impl Reconciler for WebApps {
    const WATCHES: (&'static str, &'static str) = ("examples.windlass.dev/v1", "WebApp");
    const WRITES_STATUS: bool = true;
    type Object = WebApp;

    fn watch() -> Watch {
        Watch::default().spec_changes_only()
    }

    fn needs() -> Needs {
        manage("v1", "ConfigMap")
            + manage("v1", "Service")
            + manage("apps/v1", "Deployment")
            + manage("policy/v1", "PodDisruptionBudget")
            + manage("networking.k8s.io/v1", "Ingress")
            + manage("autoscaling/v2", "HorizontalPodAutoscaler")
            // The labels of a Secret may change without a call.
            + read("v1", "Secret").fields([".data"])
    }

    fn reconcile(&self, app: &WebApp, cluster: &dyn Cluster) -> Result<Action, Failure> {
        let mut contents = vec![json!(app.spec.config)];
        for source in &app.spec.env_from {
            let target = source.reference(app);
            let Some(found) = cluster.find::<Data>(&target)? else {
                // New pods could not start, so the old ones stay. The host calls again when the source is there.
                let missing = format!("{target} is missing");
                let ready = Condition::fails("Ready", "SourceMissing", missing);
                let running: Option<Deployment> = cluster.find(&deployment_of(app))?;
                let running = running.and_then(|deployment| deployment.status);
                report(app, cluster, running.unwrap_or_default(), ready)?;
                return Ok(Action::AwaitChange);
            };
            contents.push(json!(found));
        }
        let mut applied = cluster.apply_set(children(app, &checksum(&contents)))?;
        let deployment: Deployment = serde_json::from_value(applied.pop().unwrap_or_default())?;
        let running = deployment.status.unwrap_or_default();
        let ready = ready(app.spec.replicas, deployment.metadata.generation, running);
        report(app, cluster, running, ready)?;
        Ok(Action::AwaitChange)
    }
}

impl Source {
    /// Where it is.
    fn reference(&self, app: &WebApp) -> ObjectRef {
        let namespace = app.metadata.namespace.as_deref().unwrap_or_default();
        ObjectRef::new("v1", &self.kind, namespace, &self.name)
    }
}

/// A text that differs if one of the contents does.
fn checksum(contents: &[Value]) -> String {
    format!("{:x}", Sha256::digest(json!(contents).to_string()))
}

/// Whether all wanted pods serve, and run what the Deployment of this generation says.
fn ready(wanted: i64, generation: i64, running: Replicas) -> Condition {
    let Replicas {
        observed_generation,
        updated_replicas: updated,
        available_replicas: available,
        ..
    } = running;
    if observed_generation < generation {
        Condition::fails("Ready", "Pending", "the Deployment is not observed yet")
    } else if updated < wanted {
        let message = format!("{updated} of {wanted} pods are updated");
        Condition::fails("Ready", "RollingOut", message)
    } else if available < wanted {
        let message = format!("{available} of {wanted} pods are available");
        Condition::fails("Ready", "Unavailable", message)
    } else {
        let message = format!("{wanted} pods are available");
        Condition::holds("Ready", "Available", message)
    }
}

/// Writes the status.
fn report(
    app: &WebApp,
    cluster: &dyn Cluster,
    running: Replicas,
    ready: Condition,
) -> Result<(), Error> {
    let generation = app.metadata.generation;
    let before = app.status.as_ref();
    let before = before.map_or(&[][..], |status| &status.conditions);
    let scheme = app.spec.tls_secret.as_ref().map_or("http", |_| "https");
    let host = app.spec.host.as_ref();
    let status = Status {
        observed_generation: generation,
        replicas: running.replicas,
        available_replicas: running.available_replicas,
        selector: format!("{LABEL}={}", app.name()),
        url: host.map(|host| format!("{scheme}://{host}")),
        conditions: vec![ready.observed(generation).since(before, &cluster.now())],
    };
    cluster.apply_status(app, status)
}

export!(WebApps);

#[cfg(test)]
mod tests {
    use windlass_sdk::testing::run_dir;

    use super::*;

    #[test]
    fn every_fixture_holds() {
        run_dir::<WebApps>("tests").unwrap();
    }

    #[test]
    fn it_is_ready_when_all_wanted_pods_are_new_and_serve() {
        let cases = [
            (2, (0, 0, 0), "Pending"),
            (2, (3, 0, 2), "RollingOut"),
            (2, (3, 2, 1), "Unavailable"),
            (2, (3, 2, 2), "Available"),
            // It has fewer now, and the pods that are too many still serve.
            (1, (3, 2, 2), "Available"),
            (0, (3, 0, 0), "Available"),
        ];
        for (wanted, (observed_generation, updated_replicas, available_replicas), want) in cases {
            let running = Replicas {
                observed_generation,
                updated_replicas,
                available_replicas,
                ..Replicas::default()
            };
            let condition = ready(wanted, 3, running);
            assert_eq!(condition.reason, want, "{condition:?}");
            assert_eq!(condition.status == "True", want == "Available");
        }
    }
}
