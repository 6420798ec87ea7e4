//! What the nodes know, and what is next: no I/O.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;
use tokio::time::Instant;
use windlass_apiserver::controllers::node::pods::status::Address;
use windlass_apiserver::controllers::node::pods::{self, PodStep};
use windlass_apiserver::controllers::node::{machine, name_of, number_of};
use windlass_apiserver::options::Options;

use crate::{Taken, is_down};

/// The pods of a cluster, and when each is due.
pub(crate) struct Lives {
    options: Options,
    pods: BTreeMap<String, Life>,
    /// How many pods each node has.
    nodes: BTreeMap<String, usize>,
    down: BTreeSet<String>,
    due: BTreeSet<(Instant, String)>,
    addresses: u32,
}

/// A pod.
struct Life {
    pod: Value,
    /// The step that is next, and since when that is so.
    step: Option<(PodStep, Instant)>,
    /// Whether a request for it is under way.
    is_busy: bool,
    node: String,
}

impl Lives {
    pub(crate) fn new(options: Options) -> Self {
        let nodes = (1..=options.nodes).map(|number| (name_of(number), 0));
        Self {
            nodes: nodes.collect(),
            options,
            pods: BTreeMap::new(),
            down: BTreeSet::new(),
            due: BTreeSet::new(),
            addresses: 0,
        }
    }

    /// The nodes that are down.
    pub(crate) fn down(&self) -> &BTreeSet<String> {
        &self.down
    }

    /// When something is due next.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due.first().map(|(due, _)| *due)
    }

    /// Notes a pod or a node.
    pub(crate) fn see(&mut self, object: Value) {
        if text(&object, "/kind") == "Node" {
            return self.see_node(&object);
        }
        let uid = text(&object, "/metadata/uid").to_owned();
        let node = pods::node(&object).to_owned();
        let before = self.pods.remove(&uid);
        let is_busy = before.as_ref().is_some_and(|life| life.is_busy);
        let held = before.as_ref().map_or("", |life| life.node.as_str());
        let held = held.to_owned();
        if held != node {
            self.count(&held, -1);
            self.count(&node, 1);
        }
        let step = before.and_then(|life| life.step);
        let life = Life {
            pod: object,
            step,
            is_busy,
            node,
        };
        self.pods.insert(uid.clone(), life);
        self.plan(&uid);
    }

    fn count(&mut self, node: &str, more: isize) {
        if let Some(count) = self.nodes.get_mut(node) {
            *count = count.saturating_add_signed(more);
        }
    }

    fn see_node(&mut self, node: &Value) {
        let name = text(node, "/metadata/name").to_owned();
        let has_changed = if is_down(node) {
            self.down.insert(name.clone())
        } else {
            self.down.remove(&name)
        };
        if has_changed {
            let on_it = self.pods.iter().filter(|(_, life)| life.node == name);
            let on_it: Vec<String> = on_it.map(|(uid, _)| uid.clone()).collect();
            on_it.iter().for_each(|uid| self.plan(uid));
        }
    }

    /// Forgets a pod that has gone.
    pub(crate) fn forget(&mut self, object: &Value) {
        let uid = text(object, "/metadata/uid");
        if let Some(gone) = self.pods.remove(uid) {
            self.count(&gone.node, -1);
        }
    }

    /// A request for a pod has ended.
    pub(crate) fn done(&mut self, uid: &str) {
        if let Some(life) = self.pods.get_mut(uid) {
            life.is_busy = false;
            self.plan(uid);
        }
    }

    /// Finds out when a pod is due.
    fn plan(&mut self, uid: &str) {
        let Some(life) = self.pods.get_mut(uid) else {
            return;
        };
        if life.is_busy || self.down.contains(&life.node) {
            return;
        }
        let (step, delay) = pods::timed(&life.pod, &self.options, Timestamp::now());
        let since = match life.step {
            Some((before, since)) if before == step => since,
            _ => Instant::now(),
        };
        life.step = Some((step, since));
        if step != PodStep::Leave {
            self.due
                .insert((since + delay.unwrap_or_default(), uid.to_owned()));
        }
    }

    /// A step that is due. It counts as under way from now on.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Taken> {
        loop {
            if self.due.first().is_none_or(|(due, _)| *due > now) {
                return None;
            }
            let (_, uid) = self.due.pop_first()?;
            let emptiest = self.nodes.iter();
            let emptiest = emptiest
                .filter(|(name, _)| number_of(name).is_some() && !self.down.contains(*name));
            let emptiest = emptiest.min_by_key(|(_, count)| **count);
            let emptiest = emptiest.map(|(name, _)| name.clone());
            let Some(life) = self.pods.get_mut(&uid) else {
                continue;
            };
            let Some((step, _)) = life.step else {
                continue;
            };
            if life.is_busy || step == PodStep::Leave || self.down.contains(&life.node) {
                continue;
            }
            let mut node = life.node.clone();
            if step == PodStep::Schedule {
                node = emptiest?;
                *self.nodes.entry(node.clone()).or_default() += 1;
                life.node.clone_from(&node);
            }
            life.is_busy = true;
            return Some((uid, step, life.pod.clone(), node));
        }
    }

    /// The address of a pod that starts.
    pub(crate) fn address(&mut self, pod: &Value, step: PodStep) -> Address {
        if pod.pointer("/spec/hostNetwork") == Some(&Value::Bool(true)) {
            return Address(machine::address(pods::node(pod)));
        }
        self.addresses += u32::from(step == PodStep::Start);
        let [_, high, middle, low] = self.addresses.to_be_bytes();
        Address(format!("10.{}.{middle}.{low}", high.wrapping_add(100)))
    }
}

fn text<'a>(object: &'a Value, at: &str) -> &'a str {
    object
        .pointer(at)
        .and_then(Value::as_str)
        .unwrap_or_default()
}
