//! W1: a ReplicaSet keeps as many pods as it is asked for, and deletes none while they are too few. A pod has one controller.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::workloads::fact::{
    Fact, controller, controllers, has_ended, is_active, is_going, is_ready, number, text,
};

/// What is known of the ReplicaSets.
#[derive(Debug, Default)]
pub(super) struct ReplicaSets {
    sets: BTreeMap<String, Set>,
    pods: BTreeMap<String, Value>,
    /// What is wrong.
    pub(super) errors: Vec<String>,
}

#[derive(Debug)]
struct Set {
    object: Value,
    /// The fewest replicas that were asked for since the controller has shown that it knows.
    fewest: i64,
    /// How many pods others have taken since then.
    lost: i64,
}

impl ReplicaSets {
    pub(super) fn see(&mut self, fact: &Fact) {
        match fact.plural.as_str() {
            "replicasets" => self.see_set(fact),
            "pods" => self.see_pod(fact),
            _ => return,
        }
        // Only what the controller writes shows what it knows.
        if fact.by_host && fact.plural == "replicasets" {
            self.settle(text(fact.object(), "/metadata/uid"));
        }
    }

    fn see_set(&mut self, fact: &Fact) {
        let uid = text(fact.object(), "/metadata/uid").to_owned();
        if fact.after.is_null() {
            self.sets.remove(&uid);
            return;
        }
        let wanted = replicas(&fact.after);
        let set = self.sets.entry(uid).or_insert_with(|| Set {
            object: Value::Null,
            fewest: wanted,
            lost: 0,
        });
        set.fewest = set.fewest.min(wanted);
        set.object = fact.after.clone();
    }

    fn see_pod(&mut self, fact: &Fact) {
        let name = text(fact.object(), "/metadata/name");
        let count = controllers(&fact.after).count();
        if count > 1 {
            let text = format!("pod {name} has {count} controllers at {}", fact.when);
            self.errors.push(text);
        }
        if let Some(("ReplicaSet", uid)) = controller(&fact.before) {
            let stays =
                is_active(&fact.after) && controller(&fact.after) == controller(&fact.before);
            if is_active(&fact.before) && !stays {
                self.lose(fact, uid);
            }
        }
        let uid = text(fact.object(), "/metadata/uid").to_owned();
        if fact.after.is_null() {
            self.pods.remove(&uid);
        } else {
            self.pods.insert(uid, fact.after.clone());
        }
    }

    /// A set loses an active pod.
    fn lose(&mut self, fact: &Fact, uid: &str) {
        let active = self.active(uid);
        let Some(set) = self.sets.get_mut(uid) else {
            return;
        };
        if !(fact.by_host && fact.is_delete) {
            set.lost += 1;
        } else if active + set.lost <= set.fewest {
            self.errors.push(format!(
                "pod {} of {} is deleted at {}, though there are {active} pods and {} are wanted",
                text(&fact.before, "/metadata/name"),
                text(&set.object, "/metadata/name"),
                fact.when,
                set.fewest,
            ));
        }
    }

    fn of(&self, uid: &str) -> impl Iterator<Item = &Value> {
        let pods = self.pods.values();
        pods.filter(move |pod| controller(pod).is_some_and(|(_, of)| of == uid))
    }

    fn active(&self, uid: &str) -> i64 {
        count(self.of(uid).filter(|pod| is_active(pod)))
    }

    /// If the status says what is true, the controller knows all that it goes by.
    fn settle(&mut self, uid: &str) {
        let active = self.active(uid);
        if let Some(set) = self.sets.get_mut(uid)
            && is_observed(&set.object)
            && number(&set.object, "/status/replicas") == active
        {
            set.fewest = replicas(&set.object);
            set.lost = 0;
        }
    }

    /// At rest.
    pub(super) fn rest(&mut self) {
        for (uid, set) in self.sets.iter().filter(|(_, set)| !is_going(&set.object)) {
            let (name, wanted) = (text(&set.object, "/metadata/name"), replicas(&set.object));
            let active = self.active(uid);
            if active != wanted {
                let text = format!("{name} has {active} pods at rest, and {wanted} are wanted");
                self.errors.push(text);
            }
            let ready = count(self.of(uid).filter(|pod| is_ready(pod)));
            let going = self.of(uid).filter(|pod| is_going(pod) && !has_ended(pod));
            for (field, is) in [
                ("replicas", active),
                ("readyReplicas", ready),
                ("availableReplicas", ready),
                ("terminatingReplicas", count(going)),
            ] {
                let said = number(&set.object, &format!("/status/{field}"));
                if said != is {
                    let text = format!("{name} has {is} {field} at rest, and says {said}");
                    self.errors.push(text);
                }
            }
            if !is_observed(&set.object) {
                let text = format!("the last generation of {name} is not observed at rest");
                self.errors.push(text);
            }
        }
        for pod in self.pods.values() {
            if let Some(("ReplicaSet", uid)) = controller(pod)
                && !self.sets.contains_key(uid)
            {
                let name = text(pod, "/metadata/name");
                self.errors
                    .push(format!("pod {name} has outlived its ReplicaSet"));
            }
        }
    }
}

/// How many replicas a set is asked for.
pub(super) fn replicas(set: &Value) -> i64 {
    let said = set.pointer("/spec/replicas").and_then(Value::as_i64);
    said.unwrap_or(1)
}

/// Whether the controller has seen the last generation of an object.
pub(super) fn is_observed(object: &Value) -> bool {
    number(object, "/status/observedGeneration") == number(object, "/metadata/generation")
}

/// How many there are.
pub(super) fn count(all: impl Iterator) -> i64 {
    i64::try_from(all.count()).unwrap_or(i64::MAX)
}
