//! Simulated nodes: pods are scheduled to them, run and end, and workloads are as if their pods did.
//!
//! - A pod that fits is bound at once, runs after a short delay, and goes a short delay after it is deleted,
//!   within its grace period. Pods of Jobs end by themselves.
//! - Nothing makes pods for workloads: their status says what it would say if their pods ran. A workload that
//!   has pods is left to the one that made them.
//! - Who leads kube-scheduler or kube-controller-manager by a Lease does their work alone.

mod kubelet;
mod leases;
mod lifecycle;
pub mod machine;
pub mod pods;
mod scheduler;
mod workloads;

use std::collections::BTreeSet;
use std::time::Duration;

use super::client::{Agent, Failed};
use super::feed::{Seen, Thing};
use super::queue::Queue;
use crate::options::{self, controllers as names};
use crate::seams::Instant;
use crate::server::Server;
use crate::store::NamespacedName;
use kubelet::Kubelet;
use pods::PodStep;
use scheduler::Scheduler;
use workloads::Workload;

/// The name of the first node. The others have a number after it, from 2 on.
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

/// How often the node says that it lives, to others that watch nodes.
const BEAT: Duration = Duration::from_secs(10);

/// What the node works on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum NodeTask {
    /// To say that it is there.
    Register,
    /// To say that it lives.
    Beat,
    /// To give a node its taints.
    Taint(NamespacedName),
    Pod(Thing),
    /// To find a node for a pod.
    Schedule(Thing),
    Workload(Thing),
}

/// The node, and what controls it.
#[derive(Debug)]
pub(super) struct SimulatedNode {
    queue: Queue<NodeTask>,
    kubelet: Kubelet,
    scheduler: Scheduler,
    /// Workloads whose pods have no room.
    halted: BTreeSet<Thing>,
    /// The nodes that are down.
    down: BTreeSet<String>,
}

impl Default for SimulatedNode {
    /// A node that registers first.
    fn default() -> Self {
        let mut queue = Queue::default();
        queue.add(NodeTask::Register);
        Self {
            queue,
            kubelet: Kubelet::default(),
            scheduler: Scheduler::default(),
            halted: BTreeSet::new(),
            down: BTreeSet::new(),
        }
    }
}

/// The name of a node, the first being 1.
pub fn name_of(number: u32) -> String {
    match number {
        0 | 1 => NAME.to_owned(),
        other => format!("{NAME}-{other}"),
    }
}

/// The number of a simulated node. None for other nodes.
pub fn number_of(name: &str) -> Option<u32> {
    match name.strip_prefix(NAME)? {
        "" => Some(1),
        rest => {
            let number = rest.strip_prefix('-')?.parse().ok()?;
            (number > 1 && name_of(number) == name).then_some(number)
        }
    }
}

/// Whether the node does more than run pods.
fn is_full(server: &Server) -> bool {
    server.options().node == options::Node::Full
}

/// Whether nodes get their taints here.
fn taints(server: &Server) -> bool {
    let controllers = &server.options().controllers;
    let here = is_full(server) && controllers.runs(names::NODE_LIFECYCLE);
    here && !leases::is_led(server, "kube-controller-manager")
}

impl SimulatedNode {
    /// One that begins again, and gives no address twice.
    pub(super) fn again(&self) -> Self {
        Self {
            kubelet: self.kubelet.again(),
            ..Self::default()
        }
    }

    /// Notes whom an event is about.
    pub(super) fn observe(&mut self, server: &Server, seen: &Seen) {
        let thing = &seen.thing;
        if seen.is("", "pods") {
            if !seen.is_gone() {
                self.queue.add(NodeTask::Pod(thing.clone()));
                return;
            }
            self.kubelet.forget(&seen.meta.uid);
            if self.scheduler.forget(thing) {
                self.retry();
            }
        } else if seen.is("", "nodes") {
            if is_full(server) && !seen.is_gone() {
                self.queue.add(NodeTask::Taint(thing.key.clone()));
            }
            self.retry();
        } else if Workload::of(&thing.place).is_some() && is_full(server) {
            if seen.is_gone() {
                self.halted.remove(thing);
            } else if seen.is_new() || seen.meta.generation != seen.before.generation {
                self.queue.add(NodeTask::Workload(thing.clone()));
            }
        }
    }

    /// Tries again whatever has no room.
    fn retry(&mut self) {
        for thing in self.scheduler.retry() {
            self.queue.add(NodeTask::Schedule(thing));
        }
        for thing in std::mem::take(&mut self.halted) {
            self.queue.add(NodeTask::Workload(thing));
        }
    }

    /// Works on one task; says whether there was one.
    pub(super) fn work(&mut self, server: &Server) -> bool {
        let now = server.seams().clock.instant();
        let Some(task) = self.queue.take(now) else {
            return false;
        };
        match self.done(server, &task, now) {
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

    /// Does what a task asks for; answers when to do it again.
    fn done(
        &mut self,
        server: &Server,
        task: &NodeTask,
        now: Instant,
    ) -> Result<Option<Instant>, Failed> {
        match task {
            NodeTask::Register => {
                machine::register(server)?;
                self.queue.add(NodeTask::Beat);
                if taints(server) {
                    for number in 1..=server.options().nodes {
                        lifecycle::follow(server, &NamespacedName::new("", &name_of(number)))?;
                    }
                }
                Ok(None)
            }
            NodeTask::Beat => {
                if !taints(server) {
                    for number in 1..=server.options().nodes {
                        let name = name_of(number);
                        if !self.down.contains(&name) {
                            leases::renew(server, &name)?;
                        }
                    }
                }
                Ok(Some(now + BEAT))
            }
            NodeTask::Taint(_) if !taints(server) => Ok(None),
            NodeTask::Taint(key) => {
                self.follow_power(server, key)?;
                lifecycle::follow(server, key).map(|()| None)
            }
            NodeTask::Pod(thing) => self.pod(server, thing, now),
            NodeTask::Schedule(thing) => self.scheduler.schedule(server, thing).map(|()| None),
            NodeTask::Workload(thing) => {
                let followed = workloads::follow(server, &self.scheduler, thing, now)?;
                if followed.is_halted {
                    self.halted.insert(thing.clone());
                }
                Ok(followed.again)
            }
        }
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
        let held = server
            .store()
            .get(&thing.place, &thing.key)
            .ok_or(Failed::Absent)?;
        let pod = held.value();
        if is_full(server) {
            if self.scheduler.note(thing, &pod) {
                self.retry();
            }
            if pods::next(&pod) == PodStep::Schedule {
                self.queue.add(NodeTask::Schedule(thing.clone()));
            }
        }
        if self.down.contains(pods::node(&pod)) {
            return lifecycle::lose(server, &thing.key, pod).map(|()| None);
        }
        self.kubelet.step(server, &thing.key, pod, now)
    }

    /// Notes whether a node is down: somebody has said so on it. Its pods are told.
    fn follow_power(&mut self, server: &Server, key: &NamespacedName) -> Result<(), Failed> {
        if number_of(&key.name).is_none() {
            return Ok(());
        }
        let name = key.name.to_string();
        let is_down = machine::follow_power(server, key)?;
        let has_changed = if is_down {
            self.down.insert(name)
        } else {
            self.down.remove(&name)
        };
        if has_changed {
            for thing in self.scheduler.on_node(&key.name) {
                self.queue.add(NodeTask::Pod(thing));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_known_by_their_numbers() {
        for number in [1, 2, 17] {
            assert_eq!(number_of(&name_of(number)), Some(number));
        }
        for other in [
            "windlass-node-1",
            "windlass-node-02",
            "windlass-nodes",
            "windlass-node-",
            "a",
        ] {
            assert_eq!(number_of(other), None, "{other}");
        }
    }
}
