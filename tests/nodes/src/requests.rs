//! What the nodes ask of the API server.

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions};
use kube::discovery::ApiResource;
use kube::{Api, Client};
use serde_json::{Value, json};
use windlass_apiserver::controllers::node::pods::PodStep;
use windlass_apiserver::controllers::node::pods::status::{self, Address};
use windlass_apiserver::seams::Seams;

/// How long a node counts as alive, in seconds.
const ALIVE: i32 = 40;

/// A client.
pub(crate) struct Requests(Client);

impl Requests {
    pub(crate) fn new(client: Client) -> Self {
        Self(client)
    }

    /// The pods of all namespaces.
    pub(crate) fn pods(&self) -> Api<DynamicObject> {
        Api::all_with(self.0.clone(), &ApiResource::erase::<Pod>(&()))
    }

    /// All nodes.
    pub(crate) fn nodes(&self) -> Api<DynamicObject> {
        Api::all_with(self.0.clone(), &ApiResource::erase::<Node>(&()))
    }

    /// Makes the object of a node, unless it is there, and its status.
    pub(crate) async fn register(&self, node: Value) -> anyhow::Result<()> {
        let name = node.pointer("/metadata/name").and_then(Value::as_str);
        let name = name.unwrap_or_default().to_owned();
        let nodes: Api<Node> = Api::all(self.0.clone());
        let object = serde_json::from_value(node.clone())?;
        match nodes.create(&PostParams::default(), &object).await {
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            other => drop(other?),
        }
        let status = Patch::Merge(json!({ "status": node.get("status") }));
        nodes
            .patch_status(&name, &PatchParams::default(), &status)
            .await?;
        self.renew(&name).await;
        Ok(())
    }

    /// Says that a node lives. If that fails, the next time follows soon.
    pub(crate) async fn renew(&self, name: &str) {
        let leases: Api<Lease> = Api::namespaced(self.0.clone(), "kube-node-lease");
        let now = Timestamp::now()
            .strftime("%Y-%m-%dT%H:%M:%S.%6fZ")
            .to_string();
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": { "name": name },
            "spec": { "holderIdentity": name, "leaseDurationSeconds": ALIVE, "renewTime": now },
        });
        let params = PatchParams::apply("windlass-nodes").force();
        if let Err(error) = leases.patch(name, &params, &Patch::Apply(lease)).await {
            tracing::debug!("the Lease of {name}: {error}");
        }
    }

    /// Takes a step. If the pod is another one by now, its next version leads to the next try.
    pub(crate) async fn take(
        &self,
        step: PodStep,
        pod: Value,
        node: &str,
        address: &Address,
        seams: &Seams,
    ) {
        let text = |at: &str| pod.pointer(at).and_then(Value::as_str).unwrap_or_default();
        let (namespace, name) = (
            text("/metadata/namespace").to_owned(),
            text("/metadata/name").to_owned(),
        );
        let uid = text("/metadata/uid").to_owned();
        let pods: Api<Pod> = Api::namespaced(self.0.clone(), &namespace);
        let now = Timestamp::now();
        let status = match step {
            PodStep::Leave => return,
            PodStep::Schedule => return self.bind(&namespace, &name, node).await,
            PodStep::Remove => {
                let preconditions = Preconditions {
                    uid: Some(uid),
                    resource_version: None,
                };
                let params = DeleteParams::default()
                    .grace_period(0)
                    .preconditions(preconditions);
                if let Err(error) = pods.delete(&name, &params).await {
                    tracing::debug!("delete {name}: {error}");
                }
                return;
            }
            PodStep::Admit => status::admitted(pod, now),
            PodStep::Start => status::running(pod, address, || seams.rng.number(), now),
            PodStep::Refresh => status::refreshed(pod, now),
            PodStep::Finish | PodStep::Stop => status::stopped(pod, now),
            PodStep::Fail => status::failed(pod, now),
            PodStep::Expire => status::expired(pod, now),
        };
        let Ok(pod) = serde_json::from_value::<Pod>(status) else {
            return;
        };
        if let Err(error) = pods
            .replace_status(&name, &PostParams::default(), &pod)
            .await
        {
            tracing::debug!("the status of {name}: {error}");
        }
    }

    async fn bind(&self, namespace: &str, name: &str, node: &str) {
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding",
            "metadata": { "name": name, "namespace": namespace },
            "target": { "apiVersion": "v1", "kind": "Node", "name": node },
        });
        let pods: Api<Pod> = Api::namespaced(self.0.clone(), namespace);
        let params = PostParams::default();
        let bound = pods.create_subresource::<Value, Value>("binding", name, &params, &binding);
        if let Err(error) = bound.await {
            tracing::debug!("bind {name} to {node}: {error}");
        }
    }
}
