//! Kubernetes' ReplicaSet controller as a plugin.
//!
//! A ReplicaSet keeps a number of pods. Each pass claims pods, creates or deletes the difference, and writes the status. The
//! rules are those of Kubernetes' documentation and enhancement proposals.

mod status;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use windlass_kit::claim::{Claim, claim};
use windlass_kit::pod::{FIELDS, Pod};
use windlass_kit::ranking::Order;
use windlass_sdk::{
    Action, ChildrenQuery, Cluster, Code, DeleteOptions, Error, Event, Failure, LabelSelector,
    Needs, Object, ObjectRef, Patch, ReconcileGoing, Reconciler, export, export_going, manage,
    need,
};

use crate::status::{Observed, Status};

/// How many pods a pass creates or deletes at most.
const BURST: usize = 500;

/// A ReplicaSet.
type ReplicaSet = Object<Spec, Status>;

/// What is wanted.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec {
    replicas: Option<usize>,
    #[serde(default)]
    min_ready_seconds: i64,
    selector: LabelSelector,
    #[serde(default)]
    template: Template,
}

/// The pod that is created.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Template {
    metadata: TemplateMetadata,
    spec: Value,
}

/// What of the template's metadata a pod gets.
#[derive(Default, Deserialize)]
#[serde(default)]
struct TemplateMetadata {
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    finalizers: Vec<String>,
}

/// Feature gates of kube-controller-manager.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct Gates {
    pod_deletion_cost: bool,
    terminating_replicas: bool,
}

impl Default for Gates {
    fn default() -> Self {
        Self {
            pod_deletion_cost: true,
            terminating_replicas: true,
        }
    }
}

/// Why pods could not be created or deleted.
type Refused = Option<(&'static str, Error)>;

/// The controller.
#[derive(Default)]
pub struct Controller;

impl Reconciler for Controller {
    const WATCHES: (&'static str, &'static str) = ("apps/v1", "ReplicaSet");
    const WRITES_STATUS: bool = true;
    const RECONCILE_GOING: Option<ReconcileGoing<Self>> = Some(Self::reconcile_going);
    type Object = ReplicaSet;

    fn needs() -> Needs {
        manage("v1", "Pod").fields(FIELDS)
            + need("apps/v1", "ReplicaSet", &["get", "list", "watch"])
    }

    fn reconcile(&self, set: &ReplicaSet, cluster: &dyn Cluster) -> Result<Action, Failure> {
        let gates: Gates = cluster.settings()?;
        let now = time(cluster)?;
        let mut pods = claimed(set, cluster)?;
        let wanted = set.spec.replicas.unwrap_or(1);
        let active = pods.iter().filter(|pod| pod.is_active()).count();
        let refused = if active < wanted {
            scale_up(set, cluster, (wanted - active).min(BURST))
        } else {
            let order = Order {
                now,
                by_cost: gates.pod_deletion_cost,
            };
            scale_down(set, cluster, &pods, (active - wanted).min(BURST), order)?
        };
        if active != wanted {
            pods = children(set, cluster)?;
        }
        report(set, cluster, &gates, now, &pods, refused.as_ref())?;
        match refused {
            Some((_, error)) => Err(Failure::transient(error.to_string())),
            None => Ok(Action::AwaitChange),
        }
    }
}

impl Controller {
    /// While a set is being deleted, its status stays right.
    fn reconcile_going(&self, set: &ReplicaSet, cluster: &dyn Cluster) -> Result<Action, Failure> {
        let gates: Gates = cluster.settings()?;
        let pods = children(set, cluster)?;
        report(set, cluster, &gates, time(cluster)?, &pods, None)?;
        Ok(Action::AwaitChange)
    }
}

/// The time of the call.
fn time(cluster: &dyn Cluster) -> Result<Timestamp, Failure> {
    cluster.now().parse().map_err(|error: jiff::Error| {
        Failure::transient(format!("the time of the call is not a time: {error}"))
    })
}

/// The pods of a namespace that the set controls.
fn children(set: &ReplicaSet, cluster: &dyn Cluster) -> Result<Vec<Pod>, Error> {
    let namespace = set.metadata.namespace.as_deref().unwrap_or_default();
    cluster.list_children(&ChildrenQuery::all("v1", "Pod").in_namespace(namespace))
}

/// Adopts pods that match the selector and have no controller, and disowns pods that no longer match. Returns the pods
/// that the set controls.
fn claimed(set: &ReplicaSet, cluster: &dyn Cluster) -> Result<Vec<Pod>, Failure> {
    let namespace = set.metadata.namespace.as_deref().unwrap_or_default();
    let query = ChildrenQuery::all("v1", "Pod").in_namespace(namespace);
    let found: Vec<Pod> = cluster.list_children(&query.with_orphans())?;
    let mut ours = Vec::with_capacity(found.len());
    for pod in found {
        let matches = set.spec.selector.matches(&pod.metadata.labels);
        let (target, uid) = (reference(&pod), &pod.metadata.uid);
        match claim(&pod.metadata, &set.metadata.uid, matches) {
            Claim::Keep => ours.push(pod),
            Claim::Disown => cluster.disown(&target, uid)?,
            Claim::Adopt if pod.is_active() => match cluster.adopt(&target, uid) {
                Ok(_) => ours.push(pod),
                // Somebody else has it, or it is gone.
                Err(error) if matches!(error.code, Code::Conflict | Code::NotFound) => {}
                Err(error) => return Err(error.into()),
            },
            Claim::Adopt | Claim::Leave => {}
        }
    }
    Ok(ours)
}

/// Creates `count` pods.
fn scale_up(set: &ReplicaSet, cluster: &dyn Cluster, count: usize) -> Refused {
    let pod = new_pod(set);
    let mut refused = None;
    for created in cluster.create_many(std::iter::repeat_n(&pod, count)) {
        match created {
            Ok(pod) => {
                let name = pod.pointer("/metadata/name").and_then(Value::as_str);
                let note = format!("Created pod: {}", name.unwrap_or_default());
                cluster.event(Event::normal("SuccessfulCreate", "CreatePod", note));
            }
            // The namespace is going away: nobody can create a pod there.
            Err(error) if error.code == Code::Gone => {}
            Err(error) => {
                let note = format!("Error creating: {}", text(&error));
                cluster.event(Event::warning("FailedCreate", "CreatePod", note));
                refused = Some(("FailedCreate", error));
            }
        }
    }
    refused
}

/// Deletes `count` of the active pods.
fn scale_down(
    set: &ReplicaSet,
    cluster: &dyn Cluster,
    pods: &[Pod],
    count: usize,
    order: Order,
) -> Result<Refused, Error> {
    if count == 0 {
        return Ok(None);
    }
    let on_nodes = active_by_node(set, cluster, pods)?;
    let beside = |pod: &Pod| on_nodes.get(pod.node()).copied().unwrap_or(0);
    let mut active: Vec<&Pod> = pods.iter().filter(|pod| pod.is_active()).collect();
    active.sort_by(|a, b| order.compare((a, beside(a)), (b, beside(b))));
    active.truncate(count);
    let exactly = |pod: &&Pod| {
        let uid = Some(pod.metadata.uid.clone());
        (
            reference(pod),
            DeleteOptions {
                uid,
                ..DeleteOptions::default()
            },
        )
    };
    let targets: Vec<_> = active.iter().map(exactly).collect();
    let mut refused = None;
    for ((target, _), deleted) in targets.iter().zip(cluster.delete_many_with(&targets)) {
        match deleted {
            Ok(()) => {
                let note = format!("Deleted pod: {}", target.name);
                cluster.event(Event::normal("SuccessfulDelete", "DeletePod", note));
            }
            // It is gone, or another pod has its name.
            Err(error) if matches!(error.code, Code::NotFound | Code::Conflict) => {}
            Err(error) => {
                let note = format!("Error deleting: {}", text(&error));
                cluster.event(Event::warning("FailedDelete", "DeletePod", note));
                refused = Some(("FailedDelete", error));
            }
        }
    }
    Ok(refused)
}

/// How many active pods of the set and of its siblings each node has. Siblings have the same controller: a Deployment.
fn active_by_node(
    set: &ReplicaSet,
    cluster: &dyn Cluster,
    pods: &[Pod],
) -> Result<BTreeMap<String, usize>, Error> {
    let namespace = set.metadata.namespace.as_deref().unwrap_or_default();
    let mut counts = BTreeMap::new();
    let mut count = |pods: &[Pod]| {
        for pod in pods.iter().filter(|pod| pod.is_active()) {
            *counts.entry(pod.node().to_owned()).or_insert(0) += 1;
        }
    };
    count(pods);
    let mut owners = set.metadata.owner_references.iter();
    let Some(owner) = owners.find(|owner| owner.controller) else {
        return Ok(counts);
    };
    let siblings = ChildrenQuery::all("apps/v1", "ReplicaSet").in_namespace(namespace);
    let siblings: Vec<Value> =
        cluster.list_children(&siblings.owned_by(&*owner.uid).metadata_only())?;
    for sibling in siblings {
        let uid = sibling.pointer("/metadata/uid").and_then(Value::as_str);
        if let Some(uid) = uid.filter(|uid| *uid != set.metadata.uid) {
            let query = ChildrenQuery::all("v1", "Pod").in_namespace(namespace);
            count(&cluster.list_children::<Pod>(&query.owned_by(uid))?);
        }
    }
    Ok(counts)
}

/// Writes the status if it has changed, and asks for a call when it changes by itself.
fn report(
    set: &ReplicaSet,
    cluster: &dyn Cluster,
    gates: &Gates,
    now: Timestamp,
    pods: &[Pod],
    refused: Option<&(&'static str, Error)>,
) -> Result<(), Error> {
    let labels = json!({ "matchLabels": set.spec.template.metadata.labels });
    let template: LabelSelector = serde_json::from_value(labels).unwrap_or_default();
    let none = Status::default();
    let before = set.status.as_ref().unwrap_or(&none);
    let (status, changes_at) = before.after(Observed {
        generation: set.metadata.generation,
        pods,
        template: &template,
        min_ready_seconds: set.spec.min_ready_seconds,
        now,
        counts_terminating: gates.terminating_replicas,
        failure: refused.map(|(reason, error)| (*reason, text(error))),
    });
    if let Some(at) = changes_at {
        cluster.wake_at(&at.to_string());
    }
    if Some(&status) != set.status.as_ref() {
        let patch = Patch::Merge(json!({ "status": status }));
        cluster.patch_subresource(&set.reference(), "status", &patch)?;
    }
    Ok(())
}

/// A pod as the template describes it.
fn new_pod(set: &ReplicaSet) -> Value {
    let template = &set.spec.template;
    let mut metadata = Map::new();
    metadata.insert("generateName".into(), format!("{}-", set.name()).into());
    metadata.insert("namespace".into(), json!(set.metadata.namespace));
    metadata.insert("labels".into(), json!(template.metadata.labels));
    metadata.insert("annotations".into(), json!(template.metadata.annotations));
    if !template.metadata.finalizers.is_empty() {
        metadata.insert("finalizers".into(), json!(template.metadata.finalizers));
    }
    metadata.insert("ownerReferences".into(), json!([set.owner_reference()]));
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template.spec })
}

/// The reference of a pod.
fn reference(pod: &Pod) -> ObjectRef {
    let metadata = &pod.metadata;
    ObjectRef::new("v1", "Pod", &metadata.namespace, &*metadata.name)
}

/// What the API server says, or else what the host says.
fn text(error: &Error) -> String {
    match error.status.as_deref() {
        Some(status) if !status.message.is_empty() => status.message.clone(),
        _ => error.to_string(),
    }
}

export!(Controller);
export_going!(Controller);
