//! The scheduler: puts pods on nodes that have room for them, and says why none has.
//!
//! - It knows what the pods on each node take, and which pods wait; these are tried again when a node changes
//!   or a pod leaves one.
//! - It looks at cordons, taints, labels, host ports and requests. It does not look at other pods' labels, at
//!   volumes or at devices, and it preempts nobody.

mod affinity;
pub(super) mod fit;
mod pod_requests;
mod tolerations;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{SCHEDULER, leases, number_of, pods};
use crate::controllers::client::{At, Client, Failed, core};
use crate::controllers::feed::Thing;
use crate::registry::Registry;
use crate::server::Server;
use crate::store::NamespacedName;
use crate::{conditions, meta};
use fit::{FitError, NodeInfo};
use pod_requests::{PodRequests, Usage};

/// A pod on a node.
#[derive(Debug)]
struct Placed {
    node: String,
    requests: PodRequests,
}

/// What the scheduler knows.
#[derive(Debug, Default)]
pub(super) struct Scheduler {
    placed: BTreeMap<Thing, Placed>,
    waiting: BTreeSet<Thing>,
}

/// What pods like one find on the simulated nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    /// Whether they may be there at all.
    pub(super) suits: bool,
    /// How many there is room for.
    pub(super) copies: i64,
}

impl Scheduler {
    /// Notes where a pod is; says whether it has left a node.
    pub(super) fn note(&mut self, thing: &Thing, pod: &Value) -> bool {
        let node = pod.pointer("/spec/nodeName").and_then(Value::as_str);
        match node.filter(|node| !node.is_empty() && !pods::has_ended(pod)) {
            Some(node) => {
                self.waiting.remove(thing);
                let requests = PodRequests::of(pod.get("spec").unwrap_or(&Value::Null));
                let node = node.to_owned();
                self.placed.insert(thing.clone(), Placed { node, requests });
                false
            }
            None => self.placed.remove(thing).is_some(),
        }
    }

    /// Forgets a pod that has gone; says whether it was on a node.
    pub(super) fn forget(&mut self, thing: &Thing) -> bool {
        self.waiting.remove(thing);
        self.placed.remove(thing).is_some()
    }

    /// The pods that wait, to be tried again.
    pub(super) fn retry(&mut self) -> impl Iterator<Item = Thing> {
        std::mem::take(&mut self.waiting).into_iter()
    }

    /// Puts a pod on a node, or says why it cannot.
    pub(super) fn schedule(&mut self, server: &Server, thing: &Thing) -> Result<(), Failed> {
        let held = server
            .store()
            .get(&thing.place, &thing.key)
            .ok_or(Failed::Absent)?;
        let pod = held.value();
        if pods::next(&pod) != pods::PodStep::Schedule {
            return Ok(());
        }
        self.waiting.insert(thing.clone());
        if leases::is_led(server, "kube-scheduler") {
            return Ok(());
        }
        let registry = server.registry();
        let spec = pod.get("spec").unwrap_or(&Value::Null);
        match self.choose(server, &registry, spec)? {
            Ok(node) => {
                bind(server, &registry, &thing.key, &node)?;
                let requests = PodRequests::of(spec);
                self.placed.insert(thing.clone(), Placed { node, requests });
                self.waiting.remove(thing);
                Ok(())
            }
            Err(message) => refuse(server, &registry, pod, &message),
        }
    }

    /// The pods on a node.
    pub(super) fn on_node(&self, name: &str) -> Vec<Thing> {
        let placed = self.placed.iter().filter(|(_, placed)| placed.node == name);
        placed.map(|(thing, _)| thing.clone()).collect()
    }

    /// The node for a pod: the simulated one with the fewest pods, or else the first by name. Or why there is none.
    fn choose(
        &self,
        server: &Server,
        registry: &Registry,
        spec: &Value,
    ) -> Result<Result<String, String>, Failed> {
        let nodes = self.nodes(server, registry)?;
        let mut errors: Vec<FitError> = Vec::new();
        let mut fitting = Vec::new();
        for node in &nodes {
            match fit::why_not(spec, node) {
                Some(error) => errors.push(error),
                None => fitting.push(node),
            }
        }
        let name = |node: &NodeInfo| meta::text(&node.node, "name").to_owned();
        let own = fitting
            .iter()
            .filter_map(|node| Some((number_of(&name(node))?, node)));
        let own = own.min_by_key(|(number, node)| (node.usage.pods, *number));
        let chosen = own.map(|(_, node)| node).or(fitting.first());
        Ok(chosen
            .map(|node| name(node))
            .ok_or_else(|| fit::message(&errors)))
    }

    /// What pods with a spec find on the simulated nodes.
    pub(super) fn room(&self, server: &Server, spec: &Value) -> Result<Room, Failed> {
        let nodes = self.nodes(server, &server.registry())?;
        let own = nodes.iter();
        let own = own.filter(|node| number_of(meta::text(&node.node, "name")).is_some());
        let mut suited = own
            .filter(|node| fit::unsuited(spec, &node.node).is_none())
            .peekable();
        let suits = suited.peek().is_some();
        let copies = suited.map(|node| fit::copies(spec, node));
        let copies = copies.fold(0, i64::saturating_add);
        Ok(Room { suits, copies })
    }

    fn nodes(&self, server: &Server, registry: &Registry) -> Result<Vec<NodeInfo>, Failed> {
        let nodes = core(registry, "nodes").ok_or(Failed::Absent)?;
        let mut usage: BTreeMap<&str, Usage> = BTreeMap::new();
        for placed in self.placed.values() {
            usage.entry(&placed.node).or_default().add(&placed.requests);
        }
        let entries = server.store().list(&nodes.place(), None).entries;
        let all = entries.iter().map(|entry| NodeInfo {
            node: entry.value(),
            usage: usage.remove(&*entry.key.name).unwrap_or_default(),
        });
        Ok(all.collect())
    }
}

fn bind(
    server: &Server,
    registry: &Registry,
    key: &NamespacedName,
    node: &str,
) -> Result<(), Failed> {
    let pods = core(registry, "pods").ok_or(Failed::Absent)?;
    let binding = json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": { "name": &*key.name, "namespace": &*key.namespace },
        "target": { "apiVersion": "v1", "kind": "Node", "name": node },
    });
    let at = At {
        subresource: Some("binding"),
        ..At::new(pods, key)
    };
    let agent = SCHEDULER;
    Client { server, agent }.create_part(at, &binding)
}

/// Says on a pod, and by an Event, why it is on no node (`handleSchedulingFailure` in kubernetes
/// `pkg/scheduler/schedule_one.go`); nothing that has been said before.
fn refuse(server: &Server, registry: &Registry, mut pod: Value, why: &str) -> Result<(), Failed> {
    let held = conditions::get(&pod, "PodScheduled");
    let said = held.and_then(|held| held.get("message"));
    if said.and_then(Value::as_str) == Some(why) {
        return Ok(());
    }
    let key = NamespacedName::new(meta::text(&pod, "namespace"), meta::text(&pod, "name"));
    let agent = SCHEDULER;
    let client = Client { server, agent };
    if let Some(events) = registry.find("events.k8s.io", "v1", "events") {
        let name = format!("{}.{:016x}", key.name, server.seams().rng.number());
        let event = event(server, &pod, &name, why);
        // In a namespace that goes away there is no Event.
        let _ = client.create(
            At::new(events, &NamespacedName::new(&key.namespace, &name)),
            &event,
        );
    }
    let mut condition = json!({
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": why,
        "lastProbeTime": null,
        "lastTransitionTime": meta::time(server.seams().clock.wall()),
    });
    if let Some(generation) = meta::number(&pod, "generation") {
        meta::put(&mut condition, "observedGeneration", generation);
    }
    conditions::put(&mut pod, condition);
    let pods = core(registry, "pods").ok_or(Failed::Absent)?;
    client.replace(At::status(pods, &key), &pod)
}

fn event(server: &Server, pod: &Value, name: &str, why: &str) -> Value {
    json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": { "name": name, "namespace": meta::text(pod, "namespace") },
        "eventTime": micros(server),
        "type": "Warning",
        "reason": "FailedScheduling",
        "action": "Scheduling",
        "note": why,
        "regarding": {
            "apiVersion": "v1", "kind": "Pod",
            "namespace": meta::text(pod, "namespace"), "name": meta::text(pod, "name"),
            "uid": meta::text(pod, "uid"), "resourceVersion": meta::text(pod, "resourceVersion"),
        },
        "reportingController": "default-scheduler",
        "reportingInstance": "default-scheduler-windlass",
    })
}

/// The time, as Kubernetes writes it where microseconds matter.
pub(super) fn micros(server: &Server) -> String {
    let wall = server.seams().clock.wall();
    wall.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}
