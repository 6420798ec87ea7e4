//! The state of a cluster, as far as both sides must agree about it: no I/O.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

/// What differs each time, or counts writes.
const MASKED: [&str; 14] = [
    "uid",
    "resourceVersion",
    "managedFields",
    "creationTimestamp",
    "lastTransitionTime",
    "lastUpdateTime",
    "lastProbeTime",
    "generation",
    "observedGeneration",
    "generateName",
    "controller-uid",
    "batch.kubernetes.io/controller-uid",
    "startTime",
    "completionTime",
];

/// The objects of a namespace.
#[derive(Debug, Default)]
pub struct Objects {
    /// Deployments.
    pub deployments: Vec<Value>,
    /// ReplicaSets.
    pub sets: Vec<Value>,
    /// Jobs.
    pub jobs: Vec<Value>,
    /// Pods.
    pub pods: Vec<Value>,
    /// Events.
    pub events: Vec<Value>,
}

fn text<'a>(value: &'a Value, at: &str) -> &'a str {
    value
        .pointer(at)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

impl Objects {
    /// Whether each Deployment was observed as it is.
    pub fn are_observed(&self) -> bool {
        self.deployments.iter().all(|deployment| {
            deployment.pointer("/status/observedGeneration")
                == deployment.pointer("/metadata/generation")
        })
    }

    /// Whether each pod and each set with a label belongs to one of these Deployments and Jobs: what was deleted is gone.
    pub fn are_of(&self, names: &[&str]) -> bool {
        let mut objects = self.pods.iter().chain(&self.sets);
        objects.all(|object| {
            let app = text(object, "/metadata/labels/app");
            app == "gone" || names.contains(&app)
        })
    }

    /// Whether a Deployment has all its pods, and no others.
    pub fn is_complete(&self, name: &str) -> bool {
        let mut all = self.deployments.iter();
        let found = all.find(|deployment| text(deployment, "/metadata/name") == name);
        found.is_some_and(|found| {
            let wanted = found.pointer("/spec/replicas").and_then(Value::as_i64);
            let count = |field: &str| {
                let at = format!("/status/{field}");
                Some(found.pointer(&at).and_then(Value::as_i64).unwrap_or(0))
            };
            let fields = ["replicas", "updatedReplicas", "availableReplicas"];
            let pods = self
                .pods
                .iter()
                .filter(|pod| text(pod, "/metadata/labels/app") == name);
            fields.iter().all(|field| count(field) == wanted)
                && i64::try_from(pods.count()).ok() == wanted
        })
    }

    /// The Job with this name.
    pub fn job(&self, name: &str) -> Option<&Value> {
        let mut jobs = self.jobs.iter();
        jobs.find(|job| text(job, "/metadata/name") == name)
    }

    /// The state, with a mask for what differs each time.
    pub fn masked(&self) -> Value {
        let owner = |object: &Value| text(object, "/metadata/ownerReferences/0/name").to_owned();
        let mut sets: Vec<&Value> = self.sets.iter().collect();
        sets.sort_by_key(|set| {
            let image = text(set, "/spec/template/spec/containers/0/image").to_owned();
            (owner(set), image)
        });
        let mut pods: Vec<Value> = self.pods.iter().map(pod).collect();
        pods.sort_by_key(Value::to_string);
        let mut deployments: Vec<&Value> = self.deployments.iter().collect();
        deployments.sort_by_key(|deployment| text(deployment, "/metadata/name").to_owned());
        let mut jobs: Vec<&Value> = self.jobs.iter().collect();
        jobs.sort_by_key(|job| text(job, "/metadata/name").to_owned());
        let events: BTreeSet<String> = self.events.iter().filter_map(event).collect();
        let mut state = json!({
            "deployments": deployments, "sets": sets, "jobs": jobs, "pods": pods, "events": events,
        });
        mask(&mut state);
        // Names of sets, and hashes.
        let mut said = state.to_string();
        let hash = |set: &Value| text(set, "/metadata/labels/pod-template-hash").to_owned();
        let hashes: BTreeMap<String, ()> = self.sets.iter().map(|set| (hash(set), ())).collect();
        let of_pods = self.pods.iter().map(hash);
        for hash in hashes
            .into_keys()
            .chain(of_pods)
            .filter(|hash| !hash.is_empty())
        {
            said = said.replace(&hash, "[hash]");
        }
        serde_json::from_str(&said).unwrap_or(state)
    }
}

/// What counts of a pod.
fn pod(pod: &Value) -> Value {
    let conditions = pod.pointer("/status/conditions").and_then(Value::as_array);
    let ready = conditions
        .into_iter()
        .flatten()
        .find(|one| text(one, "/type") == "Ready");
    json!({
        "labels": pod.pointer("/metadata/labels"),
        "owner": pod.pointer("/metadata/ownerReferences/0/name"),
        "image": text(pod, "/spec/containers/0/image"),
        "phase": text(pod, "/status/phase"),
        "ready": ready.map(|ready| text(ready, "/status")),
        "isGoing": pod.pointer("/metadata/deletionTimestamp").is_some(),
    })
}

/// An Event of a Deployment, a ReplicaSet or a Job: what happened, not how often.
fn event(event: &Value) -> Option<String> {
    let kind = text(event, "/involvedObject/kind");
    let reason = text(event, "/reason");
    let is_known = matches!(kind, "Deployment" | "ReplicaSet" | "Job");
    is_known.then(|| format!("{kind} {} {reason}", text(event, "/type")))
}

/// Which step of a rollout is the last one that a condition has shown depends on which event came first, also in the original.
fn mask_progress(condition: &mut Value) {
    let steps = [
        "NewReplicaSetCreated",
        "FoundNewReplicaSet",
        "ReplicaSetUpdated",
    ];
    if steps.contains(&text(condition, "/reason")) {
        *condition = json!({ "type": text(condition, "/type"), "reason": "[a step]" });
    }
}

fn mask(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let old: Map<String, Value> = std::mem::take(fields);
            let kept = old
                .into_iter()
                .filter(|(name, _)| !MASKED.contains(&name.as_str()));
            for (name, mut value) in kept {
                mask(&mut value);
                if let ("conditions", Value::Array(conditions)) = (&*name, &mut value) {
                    conditions.iter_mut().for_each(mask_progress);
                    conditions.sort_by_key(|one| text(one, "/type").to_owned());
                }
                fields.insert(name, value);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
