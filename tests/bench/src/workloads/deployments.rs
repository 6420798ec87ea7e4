//! The Deployments: how they are made and changed, and when they are complete.

use std::time::Duration;

use anyhow::Result;
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use windlass_controlplane::eventually;

use super::controllers::Controllers;

/// How long a step may take: at 20 requests a second, 10,000 pods take longer than a quarter of an hour.
const PATIENCE: Duration = Duration::from_secs(3600);
/// How often a step is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// Some Deployments of one namespace.
pub(super) struct Deployments {
    all: Api<Deployment>,
    pods: Api<Pod>,
    names: Vec<String>,
}

impl Deployments {
    /// So many, which are not made yet.
    pub(super) fn new(client: Client, namespace: &str, count: usize) -> Self {
        Self {
            all: Api::namespaced(client.clone(), namespace),
            pods: Api::namespaced(client, namespace),
            names: (0..count).map(|number| format!("web-{number}")).collect(),
        }
    }

    /// Creates them.
    ///
    /// # Errors
    /// The API server refuses one.
    pub(super) async fn create(&self, replicas: usize) -> Result<()> {
        let made = stream::iter(&self.names).map(async |name| {
            let object = serde_json::from_value(deployment(name, replicas))?;
            self.all.create(&PostParams::default(), &object).await?;
            anyhow::Ok(())
        });
        made.buffer_unordered(self.names.len()).try_collect().await
    }

    /// Gives all pods another image.
    ///
    /// # Errors
    /// The API server refuses it.
    pub(super) async fn change_image(&self) -> Result<()> {
        let container = json!({ "name": "server", "image": image(2) });
        self.change(&json!({ "template": { "spec": { "containers": [container] } } }))
            .await
    }

    /// Wants no pods any more.
    ///
    /// # Errors
    /// The API server refuses it.
    pub(super) async fn scale_to_none(&self) -> Result<()> {
        self.change(&json!({ "replicas": 0 })).await
    }

    async fn change(&self, spec: &Value) -> Result<()> {
        let patch = Patch::Strategic(json!({ "spec": spec }));
        let changed = stream::iter(&self.names).map(async |name| {
            let params = PatchParams::default();
            self.all.patch(name, &params, &patch).await?;
            anyhow::Ok(())
        });
        let at_once = self.names.len();
        changed.buffer_unordered(at_once).try_collect().await
    }

    /// Waits until each has all its pods, no others, and says so in its status.
    ///
    /// # Errors
    /// That takes too long, or the controllers ended.
    pub(super) async fn complete(
        &self,
        replicas: usize,
        controllers: &mut Controllers,
    ) -> Result<()> {
        let replicas = i32::try_from(replicas)?;
        eventually(PATIENCE, "all Deployments are complete", async || {
            tokio::time::sleep(LOOK).await;
            if let Err(error) = controllers.check() {
                return Ok(Some(Err(error)));
            }
            let found = self.all.list(&ListParams::default()).await?;
            let all = found.items.iter();
            let complete = all.filter(|one| is_complete(one, replicas)).count();
            Ok((complete == self.names.len()).then_some(Ok(())))
        })
        .await?
    }

    /// Waits until there are no pods.
    ///
    /// # Errors
    /// That takes too long, or the controllers ended.
    pub(super) async fn gone(&self, controllers: &mut Controllers) -> Result<()> {
        let one = ListParams::default().limit(1);
        eventually(PATIENCE, "all pods are gone", async || {
            if let Err(error) = controllers.check() {
                return Ok(Some(Err(error)));
            }
            let found = self.pods.list_metadata(&one).await?;
            let is_empty = found.items.is_empty();
            if !is_empty {
                tokio::time::sleep(LOOK).await;
            }
            Ok(is_empty.then_some(Ok(())))
        })
        .await?
    }
}

fn is_complete(deployment: &Deployment, replicas: i32) -> bool {
    let wanted = deployment.spec.as_ref().and_then(|spec| spec.replicas);
    let Some(status) = &deployment.status else {
        return false;
    };
    let counts = [
        status.replicas,
        status.updated_replicas,
        status.available_replicas,
    ];
    wanted == Some(replicas)
        && status.observed_generation == deployment.metadata.generation
        && counts
            .iter()
            .all(|count| count.unwrap_or_default() == replicas)
}

/// With a pod of about 2 KB.
fn deployment(name: &str, replicas: usize) -> Value {
    let labels = json!({ "app": name });
    let variables = (0..10).map(|at| {
        let value = format!("https://service-{at}.team.svc.cluster.local:8443/api");
        json!({ "name": format!("UPSTREAM_ADDRESS_{at}"), "value": value })
    });
    let probe = json!({ "httpGet": { "path": "/healthz", "port": 8080 }, "periodSeconds": 10 });
    json!({
        "metadata": { "name": name },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels, "annotations": { "checksum/config": "0".repeat(64) } },
                "spec": {
                    "containers": [{
                        "name": "server",
                        "image": image(1),
                        "args": ["--listen=:8080", "--log-format=json"],
                        "env": variables.collect::<Vec<_>>(),
                        "ports": [{ "containerPort": 8080, "name": "http" }],
                        "resources": { "requests": { "cpu": "10m", "memory": "16Mi" } },
                        "readinessProbe": probe,
                        "volumeMounts": [{ "name": "settings", "mountPath": "/etc/settings" }],
                    }],
                    "volumes": [{ "name": "settings", "configMap": { "name": "settings" } }],
                },
            },
        },
    })
}

fn image(number: usize) -> String {
    format!("registry.example.com/team/server:{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deployment_is_complete_with_all_its_pods_and_no_others() {
        let of = |generation: i64, counts: [i32; 3]| {
            let mut object = deployment("web", 3);
            let [replicas, updated, available] = counts;
            if let Some(fields) = object.as_object_mut() {
                fields.insert("status".into(), json!({ "observedGeneration": generation, "replicas": replicas, "updatedReplicas": updated, "availableReplicas": available }));
            }
            let mut object: Deployment = serde_json::from_value(object).unwrap();
            object.metadata.generation = Some(2);
            is_complete(&object, 3)
        };
        assert!(of(2, [3, 3, 3]));
        assert!(!of(1, [3, 3, 3]));
        assert!(!of(2, [4, 3, 3]));
        assert!(!of(2, [3, 2, 3]));
        assert!(!of(2, [3, 3, 2]));
    }
}
