//! W2: a Deployment never has more pods than it may, and never fewer ready ones. At rest one ReplicaSet has all replicas.
//!
//! - The rules at each version of each pod are those of `tests/life` ([`Judge`]).

use std::collections::BTreeMap;

use serde_json::Value;
use windlass_life::bounds::Judge;
use windlass_life::step::Wanted;

use super::replicasets::{count, is_observed, replicas};
use crate::workloads::fact::{
    Fact, controller, holds, is_active, is_going, is_ready, number, text,
};

/// How many old sets a Deployment of the user keeps.
const HISTORY: i64 = 2;

/// What is known of the Deployments.
#[derive(Debug, Default)]
pub(super) struct Deployments {
    judge: Judge,
    rollouts: BTreeMap<String, Rollout>,
    sets: BTreeMap<String, Value>,
    pods: BTreeMap<String, Value>,
    /// What is wrong.
    pub(super) errors: Vec<String>,
}

/// A Deployment.
#[derive(Debug)]
struct Rollout {
    object: Value,
    now: Wanted,
    /// The most pods that were allowed since the controllers have shown that they know.
    most: i64,
    /// The fewest ready ones.
    least: i64,
    /// How many ready pods others have taken since then.
    away: i64,
}

impl Rollout {
    /// What is allowed, as one wish.
    fn loosest(&self) -> Wanted {
        Wanted {
            replicas: self.most,
            bounds: Some((0, self.most - self.least)),
            ..self.now.clone()
        }
    }
}

impl Deployments {
    pub(super) fn see(&mut self, fact: &Fact) {
        let uid = text(fact.object(), "/metadata/uid").to_owned();
        let name = match fact.plural.as_str() {
            "deployments" => self.see_deployment(fact, &uid),
            "replicasets" => {
                keep(&mut self.sets, uid, fact);
                app(fact.object())
            }
            "pods" => self.see_pod(fact, uid),
            _ => return,
        };
        let errors = self.judge.errors.drain(..);
        let errors = errors.map(|error| format!("{error}, at {}", fact.when));
        self.errors.extend(errors);
        // Only what the controllers write shows what they know.
        if fact.by_host && fact.plural != "pods" {
            self.settle(&name, fact.plural == "deployments");
        }
    }

    fn see_deployment(&mut self, fact: &Fact, uid: &str) -> String {
        let name = text(fact.object(), "/metadata/name").to_owned();
        if is_going(&fact.after) || fact.after.is_null() {
            self.rollouts.remove(&name);
            self.judge.begin(&name, None, None, 0);
            return name;
        }
        let now = wanted(&fact.after);
        let known = self.rollouts.get_mut(&name);
        match known.filter(|known| text(&known.object, "/metadata/uid") == uid) {
            Some(known) => {
                known.object = fact.after.clone();
                if known.now == now {
                    return name;
                }
                known.most = known.most.max(now.most());
                known.least = known.least.min(now.least());
                known.now = now;
            }
            None => {
                // Sets that a Deployment before has left may be there: the controller counts them once it has seen
                // that nobody owns them any more.
                let sets = self.sets.values().filter(|set| app(set) == name);
                let there = sets.map(replicas).sum::<i64>().max(self.active(&name));
                let rollout = Rollout {
                    object: fact.after.clone(),
                    most: now.most() + there,
                    least: 0,
                    away: 0,
                    now,
                };
                self.rollouts.insert(name.clone(), rollout);
            }
        }
        self.begin(&name);
        name
    }

    fn see_pod(&mut self, fact: &Fact, uid: String) -> String {
        let name = app(if fact.before.is_null() {
            &fact.after
        } else {
            &fact.before
        });
        let stays = is_ready(&fact.after) && app(&fact.after) == name;
        if is_ready(&fact.before) && !stays && !fact.by_host {
            if let Some(rollout) = self.rollouts.get_mut(&name) {
                rollout.away += 1;
            }
            self.begin(&name);
        }
        self.judge.see(fact.object(), fact.after.is_null());
        keep(&mut self.pods, uid, fact);
        name
    }

    /// Tells the judge what is allowed now.
    fn begin(&mut self, name: &str) {
        if let Some(rollout) = self.rollouts.get(name) {
            let loosest = rollout.loosest();
            let both = Some(&loosest);
            self.judge.begin(name, both, both, rollout.away);
        }
    }

    fn active(&self, name: &str) -> i64 {
        let pods = self.pods.values();
        count(pods.filter(|pod| is_active(pod) && app(pod) == name))
    }

    fn ready(&self, name: &str) -> i64 {
        let pods = self.pods.values();
        count(pods.filter(|pod| is_ready(pod) && app(pod) == name))
    }

    /// The sets of a Deployment.
    fn owned(&self, deployment: &Value) -> impl Iterator<Item = &Value> {
        let uid = text(deployment, "/metadata/uid");
        let sets = self.sets.values();
        sets.filter(move |set| controller(set).is_some_and(|(_, of)| of == uid))
    }

    /// If both controllers know what is wanted, and it is so, older wishes allow nothing any more. A pass over the Deployment
    /// writes the status last: what it does to the sets before that may go by what it saw earlier.
    fn settle(&mut self, name: &str, is_status: bool) {
        let (active, ready) = (self.active(name), self.ready(name));
        let Some(rollout) = self.rollouts.get(name) else {
            return;
        };
        let knows = is_observed(&rollout.object) && self.owned(&rollout.object).all(is_observed);
        let sets = self.sets.values().filter(|set| app(set) == name);
        let size = sets.map(replicas).sum::<i64>();
        let (now, most) = (rollout.now.replicas, rollout.now.most());
        let is_small = knows && size <= most && active <= most;
        let said = self.owned(&rollout.object);
        let said = said
            .map(|set| number(set, "/status/availableReplicas"))
            .sum::<i64>();
        let is_whole = is_status
            && knows
            && ready >= now
            && said == ready
            && number(&rollout.object, "/status/availableReplicas") == ready;
        let Some(rollout) = self.rollouts.get_mut(name) else {
            return;
        };
        let before = (rollout.most, rollout.least, rollout.away);
        if is_small {
            rollout.most = rollout.now.most();
        }
        if is_whole {
            rollout.least = rollout.now.least();
            rollout.away = 0;
        }
        if before != (rollout.most, rollout.least, rollout.away) {
            self.begin(name);
        }
    }

    /// At rest.
    pub(super) fn rest(&mut self) {
        let mut errors = Vec::new();
        for (name, rollout) in &self.rollouts {
            if !rollout.now.is_paused {
                let found = self.wrong(name, rollout);
                errors.extend(
                    found
                        .into_iter()
                        .map(|text| format!("{name} at rest: {text}")),
                );
            }
        }
        for set in self.sets.values() {
            if let Some(("Deployment", uid)) = controller(set)
                && !self
                    .rollouts
                    .values()
                    .any(|one| text(&one.object, "/metadata/uid") == uid)
            {
                let name = text(set, "/metadata/name");
                errors.push(format!("ReplicaSet {name} has outlived its Deployment"));
            }
        }
        self.errors.extend(errors);
    }

    /// What is wrong with a Deployment at rest.
    fn wrong(&self, name: &str, rollout: &Rollout) -> Vec<String> {
        let (object, wanted) = (&rollout.object, rollout.now.replicas);
        let image = "/spec/template/spec/containers/0/image";
        let (new, old): (Vec<&Value>, Vec<&Value>) = self
            .owned(object)
            .partition(|set| text(set, image) == text(object, image));
        let mut wrong = Vec::new();
        let mut compare = |what: &str, is: i64| {
            if is != wanted {
                wrong.push(format!("{what} is {is}, and {wanted} is wanted"));
            }
        };
        compare(
            "the size of the new set",
            new.iter().map(|set| replicas(set)).sum(),
        );
        compare("the number of pods", self.active(name));
        compare("the number of ready pods", self.ready(name));
        for field in [
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
        ] {
            compare(field, number(object, &format!("/status/{field}")));
        }
        let going = number(object, "/status/terminatingReplicas");
        if going != 0 {
            wrong.push(format!("it says that {going} pods end"));
        }
        if new.len() != 1 {
            wrong.push(format!("{} sets have its template", new.len()));
        }
        let left: i64 = old.iter().map(|set| replicas(set)).sum();
        if left != 0 {
            wrong.push(format!("old sets keep {left} replicas"));
        }
        if count(old.iter()) > HISTORY {
            wrong.push(format!("there are {} old sets", old.len()));
        }
        for (is_so, what) in [
            (is_observed(object), "its last generation is not observed"),
            (holds(object, "Available"), "it is not Available"),
            (holds(object, "Progressing"), "it is not Progressing"),
        ] {
            if !is_so {
                wrong.push(what.to_owned());
            }
        }
        wrong
    }
}

/// The name of the Deployment that an object of the user goes with.
fn app(object: &Value) -> String {
    text(object, "/metadata/labels/app").to_owned()
}

fn keep(all: &mut BTreeMap<String, Value>, uid: String, fact: &Fact) {
    if fact.after.is_null() {
        all.remove(&uid);
    } else {
        all.insert(uid, fact.after.clone());
    }
}

/// What a Deployment asks for.
fn wanted(deployment: &Value) -> Wanted {
    let at = |field: &str| number(deployment, &format!("/spec/strategy/rollingUpdate/{field}"));
    let recreates = text(deployment, "/spec/strategy/type") == "Recreate";
    Wanted {
        replicas: replicas(deployment),
        version: 0,
        is_stuck: false,
        bounds: (!recreates).then(|| (at("maxSurge"), at("maxUnavailable"))),
        is_paused: deployment.pointer("/spec/paused") == Some(&Value::Bool(true)),
    }
}
