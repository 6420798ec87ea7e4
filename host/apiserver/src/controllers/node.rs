//! A simulated node: pods are scheduled to it, run and end, and workloads are as if their pods did.
//!
//! - A pod that nothing holds back is bound at once, runs after a short delay, and goes a short delay after
//!   it is deleted, within its grace period.
//! - Nothing makes pods for workloads: their status says what it would say if their pods ran.

mod machine;
mod pods;
mod workloads;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::client::{Agent, At, Client, Failed, core, resource_at};
use super::feed::{Meta, Seen, Thing};
use super::queue::Queue;
use crate::seams::Instant;
use crate::server::Server;
use crate::store::Key;
use crate::write::meta;
use pods::Step;
use pods::status::{self, Address};
use workloads::{Stage, Workload};

/// The name of the node.
pub(super) const NAME: &str = "windlass-node";
const KUBELET: Agent = Agent {
    program: "kubelet",
    user: "system:node:windlass-node",
};
const SCHEDULER: Agent = Agent {
    program: "kube-scheduler",
    user: "system:kube-scheduler",
};
const MANAGER: Agent = Agent {
    program: "kube-controller-manager",
    user: "system:kube-controller-manager",
};

/// What the node works on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Task {
    /// To say that it is there.
    Register,
    Pod(Thing),
    Workload(Thing),
}

/// The node, and the controllers of workloads.
#[derive(Debug)]
pub(super) struct Node {
    queue: Queue<Task>,
    /// When pods start or end, by uid.
    changes: BTreeMap<(String, Step), Instant>,
    /// Addresses given out.
    addresses: u32,
}

impl Default for Node {
    /// A node that registers first.
    fn default() -> Self {
        let mut queue = Queue::default();
        queue.add(Task::Register);
        Self {
            queue,
            changes: BTreeMap::new(),
            addresses: 0,
        }
    }
}

impl Node {
    /// One that begins again, and gives no address twice.
    pub(super) fn again(&self) -> Self {
        Self {
            addresses: self.addresses,
            ..Self::default()
        }
    }

    /// Notes whom an event is about.
    pub(super) fn observe(&mut self, seen: &Seen) {
        if seen.is("", "pods") {
            if seen.is_gone() {
                self.changes.retain(|(uid, _), _| *uid != seen.meta.uid);
            } else {
                self.queue.add(Task::Pod(seen.thing.clone()));
            }
        } else if Workload::of(&seen.thing.place).is_some()
            && !seen.is_gone()
            && (seen.is_new() || seen.meta.generation != seen.before.generation)
        {
            self.queue.add(Task::Workload(seen.thing.clone()));
        }
    }

    /// Works on one task; says whether there was one.
    pub(super) fn work(&mut self, server: &Server) -> bool {
        let now = server.seams().clock.instant();
        let Some(task) = self.queue.take(now) else {
            return false;
        };
        let done = match &task {
            Task::Register => register(server).map(|()| None),
            Task::Pod(thing) => self.pod(server, thing, now),
            Task::Workload(thing) => workload(server, thing, now),
        };
        match done {
            Ok(again) => {
                self.queue.succeeded(&task);
                if let Some(again) = again {
                    self.queue.add_at(task, again);
                }
            }
            Err(Failed::Absent) => self.queue.succeeded(&task),
            Err(Failed::Changed) => self.queue.add(task),
            Err(Failed::Refused(_)) => self.queue.failed(task, now),
        }
        true
    }

    /// When there is something to do again.
    pub(super) fn due(&self) -> Option<Instant> {
        self.queue.due()
    }

    /// Takes a pod's next step, or answers when it is time for it.
    fn pod(
        &mut self,
        server: &Server,
        thing: &Thing,
        now: Instant,
    ) -> Result<Option<Instant>, Failed> {
        let registry = server.registry();
        let resource = core(&registry, "pods").ok_or(Failed::Absent)?;
        let held = server
            .store()
            .get(&thing.place, &thing.key)
            .ok_or(Failed::Absent)?;
        let pod = held.value();
        let uid = meta::text(&pod, "uid").to_owned();
        let (at, part) = (
            At::new(resource, &thing.key),
            At::status(resource, &thing.key),
        );
        let kubelet = Client {
            server,
            agent: KUBELET,
        };
        let wall = server.seams().clock.wall();
        let step = pods::next(&pod);
        if let Some(delay) = pods::delay(step, &pod, server.options().pod_delay) {
            let due = *self
                .changes
                .entry((uid.clone(), step))
                .or_insert(now + delay);
            if now < due {
                return Ok(Some(due));
            }
        }
        match step {
            Step::Leave => {}
            Step::Bind => bind(server, at)?,
            Step::Admit => kubelet.replace(part, &status::admitted(pod, wall))?,
            Step::Start => {
                let address = self.address(&pod);
                let number = || server.seams().rng.number();
                kubelet.replace(part, &status::running(pod, &address, number, wall))?;
            }
            Step::Refresh => kubelet.replace(part, &status::refreshed(pod, wall))?,
            Step::Stop => kubelet.replace(part, &status::stopped(pod, wall))?,
            Step::Remove => {
                let options = json!({ "gracePeriodSeconds": 0, "preconditions": { "uid": uid } });
                kubelet.delete(at, &options)?;
            }
        }
        Ok(None)
    }

    fn address(&mut self, pod: &Value) -> Address {
        if pod.pointer("/spec/hostNetwork") == Some(&Value::Bool(true)) {
            return Address(machine::ADDRESS.to_owned());
        }
        self.addresses += 1;
        let [_, high, middle, low] = self.addresses.to_be_bytes();
        // Host parts of 0 and 255 are addresses like others in such a large network.
        Address(format!("10.{}.{middle}.{low}", high.wrapping_add(244)))
    }
}

fn bind(server: &Server, at: At<'_>) -> Result<(), Failed> {
    let scheduler = Client {
        server,
        agent: SCHEDULER,
    };
    let binding = json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": { "name": &*at.key.name, "namespace": &*at.key.namespace },
        "target": { "apiVersion": "v1", "kind": "Node", "name": NAME },
    });
    let at = At {
        subresource: Some("binding"),
        ..at
    };
    scheduler.create_part(at, &binding)
}

/// Creates the node's object, unless it is there.
fn register(server: &Server) -> Result<(), Failed> {
    let registry = server.registry();
    let nodes = core(&registry, "nodes").ok_or(Failed::Absent)?;
    let key = Key::new("", NAME);
    if server.store().get(&nodes.place(), &key).is_some() {
        return Ok(());
    }
    let client = Client {
        server,
        agent: KUBELET,
    };
    let node = machine::node(NAME, server.seams());
    client.create(At::new(nodes, &key), &node)?;
    let held = server
        .store()
        .get(&nodes.place(), &key)
        .ok_or(Failed::Absent)?;
    let mut object = held.value();
    if let Some(status) = node.get("status") {
        meta::put(&mut object, "status", status.clone());
    }
    client.replace(At::status(nodes, &key), &object)
}

/// Brings a workload's status one stage further; answers when the next is due.
fn workload(server: &Server, thing: &Thing, now: Instant) -> Result<Option<Instant>, Failed> {
    let registry = server.registry();
    let resource = resource_at(&registry, &thing.place).ok_or(Failed::Absent)?;
    let workload = Workload::of(&thing.place).ok_or(Failed::Absent)?;
    let held = server
        .store()
        .get(&thing.place, &thing.key)
        .ok_or(Failed::Absent)?;
    let mut object = held.value();
    if Meta::of(&held).is_deleting() {
        return Ok(None);
    }
    let Some(stage) = workload.stage(&object) else {
        return Ok(None);
    };
    let status = workload.status(&object, stage, server.seams().clock.wall());
    meta::put(&mut object, "status", status);
    let client = Client {
        server,
        agent: MANAGER,
    };
    client.replace(At::status(resource, &thing.key), &object)?;
    Ok((stage == Stage::Starting).then(|| now + server.options().pod_delay))
}
