//! Claims, volumes and their classes go when nothing uses them any more: the server puts a finalizer on each, and this takes
//! the finalizer off (kubernetes `pkg/controller/volume/{pvc,pv,vac}protection`).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::client::{Agent, At, Client, Failed, resource_at};
use super::feed::{Seen, Thing};
use super::queue::Queue;
use crate::meta;
use crate::options::controllers as names;
use crate::seams::Instant;
use crate::server::Server;
use crate::store::GroupResource;

/// A kind that is protected.
#[derive(Debug)]
struct Protected {
    group: &'static str,
    plural: &'static str,
    finalizer: &'static str,
    controller: &'static str,
    agent: Agent,
    is_used: fn(&Server, &Value) -> bool,
}

const KINDS: [Protected; 3] = [
    Protected {
        group: "",
        plural: "persistentvolumeclaims",
        finalizer: "kubernetes.io/pvc-protection",
        controller: names::CLAIM_PROTECTION,
        agent: Agent {
            program: "kube-controller-manager",
            user: "system:serviceaccount:kube-system:pvc-protection-controller",
        },
        is_used: is_claim_used,
    },
    Protected {
        group: "",
        plural: "persistentvolumes",
        finalizer: "kubernetes.io/pv-protection",
        controller: names::VOLUME_PROTECTION,
        agent: Agent {
            program: "kube-controller-manager",
            user: "system:serviceaccount:kube-system:pv-protection-controller",
        },
        is_used: is_volume_used,
    },
    Protected {
        group: "storage.k8s.io",
        plural: "volumeattributesclasses",
        finalizer: "kubernetes.io/vac-protection",
        controller: names::CLASS_PROTECTION,
        agent: Agent {
            program: "kube-controller-manager",
            user: "system:serviceaccount:kube-system:volumeattributesclass-protection-controller",
        },
        is_used: is_class_used,
    },
];

/// The controllers of protected kinds.
#[derive(Debug)]
pub(super) struct Protection {
    kinds: Vec<&'static Protected>,
    /// The objects that somebody has deleted and that have their finalizer still.
    waiting: BTreeSet<Thing>,
    queue: Queue<Thing>,
}

impl Protection {
    /// Those that run.
    pub(super) fn new(runs: impl Fn(&str) -> bool) -> Self {
        Self {
            kinds: KINDS.iter().filter(|kind| runs(kind.controller)).collect(),
            waiting: BTreeSet::new(),
            queue: Queue::default(),
        }
    }

    fn kind(&self, place: &GroupResource) -> Option<&'static Protected> {
        let mut kinds = self.kinds.iter().copied();
        kinds.find(|kind| kind.group == place.group && kind.plural == place.plural)
    }

    /// Notes what waits for its users, and what may have stopped using something.
    pub(super) fn observe(&mut self, seen: &Seen) {
        if let Some(kind) = self.kind(&seen.thing.place) {
            if !seen.is_gone() && seen.meta.ends_with(kind.finalizer) {
                self.waiting.insert(seen.thing.clone());
            } else {
                self.waiting.remove(&seen.thing);
            }
        }
        let users = ["pods", "persistentvolumeclaims", "persistentvolumes"];
        let is_user = users.iter().any(|plural| seen.is("", plural));
        if is_user || self.waiting.contains(&seen.thing) {
            for thing in &self.waiting {
                self.queue.add(thing.clone());
            }
        }
    }

    /// Looks at one object; says whether there was one.
    pub(super) fn work(&mut self, server: &Server) -> bool {
        let now = server.seams().clock.instant();
        let Some(thing) = self.queue.take(now) else {
            return false;
        };
        let released = match self.kind(&thing.place) {
            Some(kind) => release(server, kind, &thing),
            None => Ok(()),
        };
        match released {
            Ok(()) | Err(Failed::Absent) => self.queue.succeeded(&thing),
            Err(Failed::Changed) => self.queue.add(thing),
            Err(Failed::Refused(_)) => self.queue.failed(thing, now),
        }
        true
    }

    /// When there is something to do again.
    pub(super) fn due(&self) -> Option<Instant> {
        self.queue.due()
    }
}

/// Takes the finalizer off an object that is deleted, unless something uses the object.
fn release(server: &Server, kind: &Protected, thing: &Thing) -> Result<(), Failed> {
    let registry = server.registry();
    let resource = resource_at(&registry, &thing.place).ok_or(Failed::Absent)?;
    let held = server.store().get(&thing.place, &thing.key);
    let object = held.ok_or(Failed::Absent)?.value();
    if !meta::is_deleting(&object) || (kind.is_used)(server, &object) {
        return Ok(());
    }
    let finalizers = object.pointer("/metadata/finalizers");
    let finalizers = finalizers.and_then(Value::as_array).into_iter().flatten();
    let left: Vec<&Value> = finalizers.filter(|held| *held != kind.finalizer).collect();
    let patch = json!({ "metadata": {
        "finalizers": left, "resourceVersion": meta::text(&object, "resourceVersion"),
    } });
    let agent = kind.agent;
    Client { server, agent }.merge(At::new(resource, &thing.key), &patch)
}

/// The objects of a kind of the core group.
fn all(server: &Server, plural: &str, namespace: Option<&str>) -> Vec<Value> {
    let place = GroupResource {
        group: String::new(),
        plural: plural.to_owned(),
    };
    let entries = server.store().list(&place, namespace).entries;
    entries.iter().map(|entry| entry.value()).collect()
}

/// Whether a pod that is on a node uses a claim.
fn is_claim_used(server: &Server, claim: &Value) -> bool {
    let namespace = meta::text(claim, "namespace");
    let pods = all(server, "pods", Some(namespace));
    pods.iter().any(|pod| uses(pod, claim))
}

/// A pod that has ended uses its claims until it is deleted. One that is only shut down keeps no claim that was made for it:
/// that claim may be what the pod waits for.
fn uses(pod: &Value, claim: &Value) -> bool {
    let text = |value: &Value, pointer: &str| {
        let text = value.pointer(pointer).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    if text(pod, "/spec/nodeName").is_empty() {
        return false;
    }
    let name = meta::text(claim, "name");
    let owners = claim.pointer("/metadata/ownerReferences");
    let mut owners = owners.and_then(Value::as_array).into_iter().flatten();
    let uid = meta::text(pod, "uid");
    let is_its_own = owners.any(|owner| owner["controller"] == true && owner["uid"] == uid);
    let grace = meta::number(pod, "deletionGracePeriodSeconds");
    let is_shut_down = meta::is_deleting(pod) && grace == Some(0);
    let volumes = pod.pointer("/spec/volumes").and_then(Value::as_array);
    volumes.into_iter().flatten().any(|volume| {
        let made = format!("{}-{}", meta::text(pod, "name"), text(volume, "/name"));
        let is_made = volume.get("ephemeral").is_some() && is_its_own && name == made;
        text(volume, "/persistentVolumeClaim/claimName") == name || is_made && !is_shut_down
    })
}

/// Whether a claim has a volume.
fn is_volume_used(_: &Server, volume: &Value) -> bool {
    volume.pointer("/status/phase") == Some(&json!("Bound"))
}

/// Whether a claim or a volume names a class.
fn is_class_used(server: &Server, class: &Value) -> bool {
    let name = json!(meta::text(class, "name"));
    let names = |object: &Value| {
        let fields = [
            "/spec/volumeAttributesClassName",
            "/status/currentVolumeAttributesClassName",
            "/status/modifyVolumeStatus/targetVolumeAttributesClassName",
        ];
        fields
            .iter()
            .any(|field| object.pointer(field) == Some(&name))
    };
    let kinds = ["persistentvolumeclaims", "persistentvolumes"];
    kinds
        .iter()
        .any(|plural| all(server, plural, None).iter().any(names))
}
