//! Hand-written histories that break a rule, each beside the same history that keeps it.

use serde_json::{Value, json};

use super::Oracles;
use crate::workloads::fact::{Fact, text};

/// A history that is being written.
#[derive(Default)]
struct History {
    oracles: Oracles,
    objects: Vec<Value>,
}

impl History {
    /// Somebody writes an object. What was written under its name before is what it was.
    fn write(&mut self, plural: &str, by_host: bool, object: Value) -> &mut Self {
        let name = text(&object, "/metadata/name").to_owned();
        let named = |held: &Value| text(held, "/metadata/name") == name;
        let at = self.objects.iter().position(named);
        let before = at.map(|at| self.objects.remove(at)).unwrap_or_default();
        let is_delete = before.pointer("/metadata/deletionTimestamp").is_none()
            && object.pointer("/metadata/deletionTimestamp").is_some();
        let fact = Fact {
            plural: plural.to_owned(),
            when: "noon".to_owned(),
            by_host,
            is_delete,
            before,
            after: object.clone(),
        };
        self.oracles.see(&fact);
        self.objects.push(object);
        self
    }

    fn host(&mut self, plural: &str, object: Value) -> &mut Self {
        self.write(plural, true, object)
    }

    fn user(&mut self, plural: &str, object: Value) -> &mut Self {
        self.write(plural, false, object)
    }

    /// The first thing of each kind that is wrong.
    fn wrong(&mut self) -> Vec<String> {
        let mut oracles = std::mem::take(&mut self.oracles);
        oracles.rest();
        let failures = oracles.failures();
        failures.iter().map(ToString::to_string).collect()
    }
}

/// An object that is `base`, but for what `more` says.
fn with(mut base: Value, more: &Value) -> Value {
    if let (Value::Object(base), Value::Object(more)) = (&mut base, more) {
        for (name, value) in more {
            let held = base.remove(name).unwrap_or_default();
            base.insert(name.clone(), with(held, value));
        }
        return Value::Object(base.clone());
    }
    more.clone()
}

fn object(kind: &str, name: &str, more: &Value) -> Value {
    let base = json!({
        "kind": kind,
        "metadata": { "name": name, "uid": name, "generation": 1, "labels": { "app": "ant" } },
    });
    with(base, more)
}

fn owner(kind: &str, uid: &str) -> Value {
    json!([{ "kind": kind, "uid": uid, "controller": true }])
}

fn template(image: &str) -> Value {
    json!({ "spec": { "containers": [{ "image": image }] } })
}

fn pod(name: &str, kind: &str, of: &str) -> Value {
    let ready = json!([{ "type": "Ready", "status": "True" }]);
    let more = json!({
        "metadata": { "ownerReferences": owner(kind, of) },
        "status": { "phase": "Running", "conditions": ready },
    });
    object("Pod", name, &more)
}

fn deleted() -> Value {
    json!({ "metadata": { "deletionTimestamp": "noon" } })
}

fn set(name: &str, image: &str, wanted: i64, there: i64) -> Value {
    let more = json!({
        "metadata": { "ownerReferences": owner("Deployment", "ant") },
        "spec": { "replicas": wanted, "template": template(image) },
        "status": {
            "observedGeneration": 1, "replicas": there, "readyReplicas": there,
            "availableReplicas": there,
        },
    });
    object("ReplicaSet", name, &more)
}

fn deployment(wanted: i64, there: i64) -> Value {
    let conditions = json!([
        { "type": "Available", "status": "True" },
        { "type": "Progressing", "status": "True" },
    ]);
    let more = json!({
        "spec": {
            "replicas": wanted, "template": template("new"),
            "strategy": {
                "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 1 },
            },
        },
        "status": {
            "observedGeneration": 1, "replicas": there, "updatedReplicas": there,
            "readyReplicas": there, "availableReplicas": there, "conditions": conditions,
        },
    });
    object("Deployment", "ant", &more)
}

/// A Deployment with two pods, at rest.
fn rollout() -> History {
    let mut history = History::default();
    history.user("deployments", deployment(2, 2));
    history.host("replicasets", set("new", "new", 2, 0));
    for name in ["a", "b"] {
        history.host("pods", pod(name, "ReplicaSet", "new"));
    }
    history.host("replicasets", set("new", "new", 2, 2));
    history.host("deployments", deployment(2, 2));
    history
}

#[test]
fn a_rollout_that_keeps_all_rules_is_right() {
    assert_eq!(rollout().wrong(), [""; 0]);
}

#[test]
fn a_set_with_another_number_of_pods_than_it_is_asked_for_is_found() {
    let mut history = rollout();
    history.user("pods", with(pod("b", "ReplicaSet", "new"), &deleted()));
    let wrong = history.wrong();
    assert_eq!(
        wrong[0],
        "W1 replica sets: new has 1 pods at rest, and 2 are wanted"
    );
    let mut history = rollout();
    history.host("replicasets", set("new", "new", 2, 1));
    let wrong = history.wrong();
    assert_eq!(
        wrong[0],
        "W1 replica sets: new has 2 replicas at rest, and says 1"
    );
}

#[test]
fn a_pod_with_two_controllers_is_found() {
    let mut history = rollout();
    let both = json!([
        { "kind": "ReplicaSet", "uid": "new", "controller": true },
        { "kind": "ReplicaSet", "uid": "old", "controller": true },
    ]);
    let both = json!({ "metadata": { "ownerReferences": both } });
    history.host("pods", with(pod("b", "ReplicaSet", "new"), &both));
    assert_eq!(
        history.wrong()[0],
        "W1 replica sets: pod b has 2 controllers at noon"
    );
}

#[test]
fn a_pass_that_deletes_a_pod_of_a_set_that_has_too_few_is_found() {
    let mut history = rollout();
    history.host("pods", with(pod("b", "ReplicaSet", "new"), &deleted()));
    let wrong = history.wrong();
    assert!(
        wrong[0].contains("pod b of new is deleted at noon, though there are 2 pods and 2"),
        "{wrong:?}"
    );
    // The pass did not know yet that the user had taken one.
    let mut history = rollout();
    history.host("pods", pod("c", "ReplicaSet", "new"));
    history.user("pods", with(pod("a", "ReplicaSet", "new"), &deleted()));
    history.host("pods", with(pod("b", "ReplicaSet", "new"), &deleted()));
    let errors = history.oracles.replicasets.errors;
    assert_eq!(errors, [""; 0]);
}

#[test]
fn more_pods_than_the_surge_allows_are_found() {
    let mut history = rollout();
    history.host("pods", pod("c", "ReplicaSet", "new"));
    assert_eq!(history.oracles.deployments.errors, [""; 0]);
    history.host("pods", pod("d", "ReplicaSet", "new"));
    assert_eq!(
        history.oracles.deployments.errors,
        ["ant: 4 pods, where 3 are allowed, at noon"]
    );
    // As many were allowed until the controllers knew better.
    let mut history = rollout();
    history.user("deployments", deployment(4, 2));
    history.user(
        "deployments",
        with(
            deployment(2, 2),
            &json!({ "metadata": { "generation": 3 } }),
        ),
    );
    for name in ["c", "d", "e"] {
        history.host("pods", pod(name, "ReplicaSet", "new"));
    }
    assert_eq!(history.oracles.deployments.errors, [""; 0]);
}

#[test]
fn fewer_ready_pods_than_must_be_are_found_unless_others_took_them() {
    let mut history = rollout();
    history.host("pods", with(pod("a", "ReplicaSet", "new"), &deleted()));
    assert_eq!(history.oracles.deployments.errors, [""; 0]);
    history.host("pods", with(pod("b", "ReplicaSet", "new"), &deleted()));
    assert_eq!(
        history.oracles.deployments.errors,
        ["ant: 0 pods are ready, and 1 must be, at noon"]
    );
    let mut history = rollout();
    history.user("pods", with(pod("a", "ReplicaSet", "new"), &deleted()));
    history.host("pods", with(pod("b", "ReplicaSet", "new"), &deleted()));
    assert_eq!(history.oracles.deployments.errors, [""; 0]);
}

#[test]
fn a_deployment_whose_old_set_keeps_pods_is_found_at_rest() {
    let mut history = rollout();
    history.host("replicasets", set("old", "old", 1, 1));
    history.host("pods", pod("c", "ReplicaSet", "old"));
    history.host("deployments", deployment(2, 2));
    assert!(
        history.wrong()[0].starts_with("W2 deployments: ant at rest:"),
        "the set keeps a replica"
    );
    let mut history = rollout();
    history.host("deployments", deployment(2, 1));
    assert_eq!(
        history.wrong(),
        ["W2 deployments: ant at rest: replicas is 1, and 2 is wanted"]
    );
}

fn job(succeeded: i64, failed: i64, complete: &str) -> Value {
    let more = json!({
        "spec": { "parallelism": 2, "completions": 2 },
        "status": {
            "succeeded": succeeded, "failed": failed, "active": 0,
            "conditions": [{ "type": "Complete", "status": complete }],
        },
    });
    object("Job", "dog", &more)
}

fn of_job(name: &str, phase: &str, tracked: &[&str]) -> Value {
    let more = json!({
        "metadata": { "finalizers": tracked },
        "status": { "phase": phase, "conditions": [] },
    });
    with(pod(name, "Job", "dog"), &more)
}

const TRACKED: &[&str] = &["batch.kubernetes.io/job-tracking"];

/// A Job whose pods end so, and lose the finalizer.
fn ended(phases: &[&str]) -> History {
    let mut history = History::default();
    history.user("jobs", job(0, 0, "False"));
    for (number, phase) in phases.iter().enumerate() {
        let name = format!("p{number}");
        history.host("pods", of_job(&name, "Running", TRACKED));
        history.user("pods", of_job(&name, phase, TRACKED));
        history.host("pods", of_job(&name, phase, &[]));
    }
    history
}

#[test]
fn a_job_that_counts_each_pod_once_is_right() {
    let mut history = ended(&["Succeeded", "Failed", "Succeeded"]);
    history.host("jobs", job(2, 1, "True"));
    assert_eq!(history.wrong(), [""; 0]);
}

#[test]
fn a_pod_that_is_counted_twice_or_never_is_found() {
    for (phases, succeeded, failed, want) in [
        (
            ["Succeeded", "Succeeded"],
            1,
            0,
            "2 to 2 pods have succeeded, and it counts 1",
        ),
        (
            ["Succeeded", "Failed"],
            1,
            2,
            "1 to 1 pods have failed, and it counts 2",
        ),
        (
            ["Succeeded", "Running"],
            2,
            0,
            "1 to 1 pods have succeeded, and it counts 2",
        ),
    ] {
        let mut history = ended(&phases);
        let complete = if succeeded == 2 { "True" } else { "False" };
        history.host("jobs", job(succeeded, failed, complete));
        assert_eq!(history.wrong()[0], format!("W3 jobs: dog at rest: {want}"));
    }
}

#[test]
fn a_pod_that_was_deleted_counts_once_either_way() {
    for (succeeded, failed, is_right) in [(2, 0, true), (1, 1, false), (2, 1, false)] {
        let mut history = ended(&["Succeeded"]);
        history.host("pods", of_job("q", "Running", TRACKED));
        history.user("pods", with(of_job("q", "Running", TRACKED), &deleted()));
        history.host("pods", with(of_job("q", "Succeeded", &[]), &deleted()));
        let complete = if succeeded == 2 { "True" } else { "False" };
        history.host("jobs", job(succeeded, failed, complete));
        assert_eq!(history.wrong().is_empty(), is_right, "{succeeded} {failed}");
    }
}

#[test]
fn more_pods_at_a_time_than_the_parallelism_are_found() {
    let mut history = History::default();
    history.user("jobs", job(0, 0, "False"));
    for name in ["a", "b", "c"] {
        history.host("pods", of_job(name, "Running", TRACKED));
    }
    assert_eq!(
        history.oracles.jobs.errors,
        ["dog has 3 pods at a time, where 2 are allowed, at noon"]
    );
}

#[test]
fn a_wrong_end_of_a_job_is_found() {
    let mut history = ended(&["Succeeded"]);
    history.host("jobs", job(1, 0, "True"));
    assert!(history.wrong()[0].contains("is complete with 1 of 2 successes"));
    let mut history = ended(&["Succeeded", "Succeeded", "Succeeded"]);
    history.host("jobs", job(3, 0, "True"));
    assert!(history.wrong()[0].contains("counts 3 successes, where 2 are wanted"));
    let mut history = ended(&["Succeeded", "Succeeded"]);
    history.host("jobs", job(2, 0, "False"));
    assert!(history.wrong()[0].contains("that it is complete is false"));
}

#[test]
fn a_pod_that_keeps_or_never_had_the_finalizer_is_found() {
    let mut history = History::default();
    history.user("jobs", job(0, 0, "False"));
    history.host("pods", of_job("a", "Running", &[]));
    assert!(history.wrong()[0].contains("pod a begins without the finalizer"));
    let mut history = ended(&["Succeeded", "Succeeded"]);
    history.host("pods", of_job("z", "Failed", TRACKED));
    history.host("jobs", job(2, 0, "True"));
    assert!(history.wrong()[0].contains("pod z has ended, and is not counted at rest"));
}
