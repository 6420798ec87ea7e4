//! What must hold at each version of each pod: never more than allowed, never fewer ready than allowed, one controller for each pod.
//! No I/O.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::job::WantedJob;
use crate::step::Wanted;

/// How many pods a Deployment or a Job may have in the present step.
#[derive(Clone, Copy, Debug)]
struct Allowed {
    most: i64,
    least: i64,
    /// Whether as many were ready once.
    was_ready: bool,
}

/// What was seen of the pods of a cluster.
#[derive(Debug, Default)]
pub struct Judge {
    pods: BTreeMap<String, Seen>,
    allowed: BTreeMap<String, Allowed>,
    /// The pods that have succeeded, by the UID of their controller.
    succeeded: BTreeMap<String, BTreeSet<String>>,
    /// What did not hold.
    pub errors: Vec<String>,
    /// How many versions were judged.
    pub judged: usize,
}

#[derive(Debug)]
struct Seen {
    app: String,
    is_active: bool,
    is_ready: bool,
}

impl Judge {
    /// A step begins: the Deployment was wanted so, is wanted so now, and somebody takes `away` pods.
    pub fn begin(&mut self, name: &str, before: Option<&Wanted>, now: Option<&Wanted>, away: i64) {
        let both = || before.into_iter().chain(now);
        let Some(most) = both().map(Wanted::most).max().filter(|_| now.is_some()) else {
            self.allowed.remove(name);
            return;
        };
        let recreates = both().any(|wanted| wanted.bounds.is_none());
        let least = both().map(Wanted::least).min().unwrap_or(0) - away;
        let least = if before.is_none() || recreates {
            0
        } else {
            least.max(0)
        };
        let was_ready = self.ready(name) >= least;
        let allowed = Allowed {
            most,
            least,
            was_ready,
        };
        self.allowed.insert(name.to_owned(), allowed);
    }

    /// A step begins: the Job is wanted so now.
    pub fn begin_job(&mut self, name: &str, now: Option<&WantedJob>) {
        self.allowed.remove(name);
        if let Some(now) = now {
            let allowed = Allowed {
                most: if now.is_suspended { 0 } else { now.parallelism },
                least: 0,
                was_ready: false,
            };
            self.allowed.insert(name.to_owned(), allowed);
        }
    }

    /// How many pods of the controller with this UID have succeeded.
    pub fn succeeded(&self, controller: &str) -> i64 {
        let succeeded = self.succeeded.get(controller).map_or(0, BTreeSet::len);
        i64::try_from(succeeded).unwrap_or(i64::MAX)
    }

    fn ready(&self, name: &str) -> i64 {
        let ready = self
            .pods
            .values()
            .filter(|pod| pod.app == name && pod.is_ready);
        i64::try_from(ready.count()).unwrap_or(i64::MAX)
    }

    /// A version of a pod, or its end.
    pub fn see(&mut self, pod: &Value, is_gone: bool) {
        let text = |at: &str| pod.pointer(at).and_then(Value::as_str).unwrap_or_default();
        let uid = text("/metadata/uid").to_owned();
        let app = text("/metadata/labels/app").to_owned();
        let before = self.pods.remove(&uid).map(|seen| seen.app);
        self.judged += 1;
        if text("/status/phase") == "Succeeded" {
            let controller = text("/metadata/ownerReferences/0/uid").to_owned();
            let pods = self.succeeded.entry(controller).or_default();
            pods.insert(uid.clone());
        }
        if !is_gone {
            let list = |at: &str| {
                pod.pointer(at)
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
            };
            let is_true = |value: &Value, field: &str| value.get(field) == Some(&Value::Bool(true));
            let controllers =
                list("/metadata/ownerReferences").filter(|owner| is_true(owner, "controller"));
            let controllers = controllers.count();
            if controllers > 1 {
                let name = text("/metadata/name");
                self.errors
                    .push(format!("pod {name} has {controllers} controllers"));
            }
            let ended = matches!(text("/status/phase"), "Succeeded" | "Failed");
            let is_active = !ended && pod.pointer("/metadata/deletionTimestamp").is_none();
            let mut conditions = list("/status/conditions");
            let is_ready = conditions.any(|one| {
                let text = |field: &str| one.get(field).and_then(Value::as_str);
                text("type") == Some("Ready") && text("status") == Some("True")
            });
            let seen = Seen {
                app: app.clone(),
                is_active,
                is_ready: is_active && is_ready,
            };
            self.pods.insert(uid, seen);
        }
        self.judge(&app);
        if let Some(before) = before.filter(|before| *before != app) {
            self.judge(&before);
        }
    }

    fn judge(&mut self, name: &str) {
        let ready = self.ready(name);
        let active = self
            .pods
            .values()
            .filter(|pod| pod.app == name && pod.is_active);
        let active = i64::try_from(active.count()).unwrap_or(i64::MAX);
        let Some(allowed) = self.allowed.get_mut(name) else {
            return;
        };
        if active > allowed.most {
            let most = allowed.most;
            self.errors
                .push(format!("{name}: {active} pods, where {most} are allowed"));
        }
        if ready >= allowed.least {
            allowed.was_ready = true;
        } else if allowed.was_ready {
            let least = allowed.least;
            self.errors.push(format!(
                "{name}: {ready} pods are ready, and {least} must be"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wanted(replicas: i64, bounds: Option<(i64, i64)>) -> Wanted {
        Wanted {
            replicas,
            version: 1,
            is_stuck: false,
            bounds,
            is_paused: false,
        }
    }

    fn pod(name: &str, ready: &str) -> Value {
        json!({
            "metadata": { "name": name, "uid": name, "labels": { "app": "ant" } },
            "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": ready }] },
        })
    }

    #[test]
    fn too_many_pods_and_too_few_ready_ones_are_found() {
        let mut judge = Judge::default();
        let two = wanted(2, Some((1, 1)));
        judge.begin("ant", None, Some(&two), 0);
        for name in ["a", "b", "c"] {
            judge.see(&pod(name, "True"), false);
        }
        assert_eq!(judge.errors, [""; 0]);
        judge.see(&pod("d", "False"), false);
        assert_eq!(judge.errors, ["ant: 4 pods, where 3 are allowed"]);
        judge.see(&pod("d", "False"), true);
        judge.errors.clear();
        judge.begin("ant", Some(&two), Some(&two), 0);
        judge.see(&pod("a", "False"), false);
        judge.see(&pod("b", "False"), false);
        assert_eq!(judge.errors, [""; 0]);
        judge.see(&pod("c", "True"), true);
        assert_eq!(judge.errors, ["ant: 0 pods are ready, and 1 must be"]);
    }

    #[test]
    fn a_job_has_so_many_pods_at_a_time_and_each_succeeds_once() {
        let mut judge = Judge::default();
        let job = WantedJob {
            completions: 3,
            parallelism: 1,
            is_indexed: false,
            fails: false,
            is_suspended: false,
        };
        judge.begin_job("dog", Some(&job));
        let pod = |name: &str, phase: &str| {
            json!({
                "metadata": { "name": name, "uid": name, "labels": { "app": "dog" },
                    "ownerReferences": [{ "uid": "j", "controller": true }] },
                "status": { "phase": phase },
            })
        };
        judge.see(&pod("a", "Running"), false);
        judge.see(&pod("a", "Succeeded"), false);
        judge.see(&pod("a", "Succeeded"), true);
        judge.see(&pod("b", "Running"), false);
        assert_eq!(judge.errors, [""; 0]);
        assert_eq!((judge.succeeded("j"), judge.succeeded("k")), (1, 0));
        judge.see(&pod("c", "Pending"), false);
        assert_eq!(judge.errors, ["dog: 2 pods, where 1 are allowed"]);
    }
}
