//! W3: a Job counts each of its pods once, never has more at a time than it may, and ends when enough have succeeded.
//!
//! - A pod is to be counted as what it was when it lost the finalizer. Of a pod that was deleted before it had ended, nobody
//!   can tell whether it succeeded or failed: it counts once.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::replicasets::count;
use crate::workloads::fact::{
    Fact, controller, has_ended, holds, is_active, is_going, is_ready, is_tracked, list, number,
    text,
};

/// What is known of the Jobs.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    jobs: BTreeMap<String, Job>,
    pods: BTreeMap<String, Pod>,
    /// What is wrong.
    pub(super) errors: Vec<String>,
}

#[derive(Debug, Default)]
struct Job {
    object: Value,
    /// The most pods at a time since the controller has shown that it knows.
    most: i64,
    tally: Tally,
}

/// The pods of a Job that have lost the finalizer.
#[derive(Debug, Default)]
struct Tally {
    succeeded: i64,
    failed: i64,
    /// They were deleted before they had ended.
    either: i64,
    /// The indexes of those that succeeded, and of those that may have.
    indexes: BTreeSet<String>,
    perhaps: BTreeSet<String>,
}

#[derive(Debug)]
struct Pod {
    object: Value,
    /// Whether somebody deleted it before it had ended.
    is_doomed: bool,
}

impl Jobs {
    pub(super) fn see(&mut self, fact: &Fact) {
        match fact.plural.as_str() {
            "jobs" => self.see_job(fact),
            "pods" => self.see_pod(fact),
            _ => {}
        }
    }

    fn see_job(&mut self, fact: &Fact) {
        let uid = text(fact.object(), "/metadata/uid").to_owned();
        if fact.after.is_null() {
            self.jobs.remove(&uid);
            return;
        }
        let active = self.active(&uid);
        let job = self.jobs.entry(uid).or_default();
        let now = most(&fact.after);
        job.most = job.most.max(now);
        // A status is written at the version that it was made from.
        if fact.by_host && active <= now {
            job.most = now;
        }
        let (before, name) = (&job.object, text(&fact.after, "/metadata/name"));
        let wrong = wrong_status(before, &fact.after);
        let wrong = wrong.map(|what| format!("{name} {what}, at {}", fact.when));
        self.errors.extend(wrong);
        job.object = fact.after.clone();
    }

    fn see_pod(&mut self, fact: &Fact) {
        let uid = text(fact.object(), "/metadata/uid").to_owned();
        let known = self.pods.remove(&uid);
        let owner = controller(&fact.after).or(controller(&fact.before));
        let Some(("Job", job)) = owner else {
            return;
        };
        let (job, name) = (job.to_owned(), text(fact.object(), "/metadata/name"));
        let was_doomed = known.is_some_and(|pod| pod.is_doomed);
        if fact.before.is_null() && !is_tracked(&fact.after) {
            let text = format!("pod {name} begins without the finalizer at {}", fact.when);
            self.errors.push(text);
        }
        if is_tracked(&fact.before) && !is_tracked(&fact.after) {
            self.release(&job, &fact.before, was_doomed);
        }
        if !fact.after.is_null() {
            let is_doomed = was_doomed || is_going(&fact.after) && !has_ended(&fact.after);
            let object = fact.after.clone();
            self.pods.insert(uid, Pod { object, is_doomed });
        }
        let active = self.active(&job);
        if let Some(job) = self.jobs.get(&job)
            && active > job.most
            && !is_active(&fact.before)
        {
            self.errors.push(format!(
                "{} has {active} pods at a time, where {} are allowed, at {}",
                text(&job.object, "/metadata/name"),
                job.most,
                fact.when
            ));
        }
    }

    /// A pod loses the finalizer.
    fn release(&mut self, job: &str, pod: &Value, was_doomed: bool) {
        let Some(job) = self.jobs.get_mut(job) else {
            return;
        };
        let tally = &mut job.tally;
        let index = text(
            pod,
            "/metadata/annotations/batch.kubernetes.io~1job-completion-index",
        );
        if was_doomed {
            tally.either += 1;
            tally.perhaps.insert(index.to_owned());
            return;
        }
        match text(pod, "/status/phase") {
            "Succeeded" => {
                tally.succeeded += 1;
                tally.indexes.insert(index.to_owned());
                tally.perhaps.insert(index.to_owned());
            }
            "Failed" => tally.failed += 1,
            // It is given up.
            _ => {}
        }
    }

    fn of(&self, job: &str) -> impl Iterator<Item = &Value> {
        let pods = self.pods.values().map(|pod| &pod.object);
        pods.filter(move |pod| controller(pod).is_some_and(|(_, of)| of == job))
    }

    fn active(&self, job: &str) -> i64 {
        count(self.of(job).filter(|pod| is_active(pod)))
    }

    /// At rest.
    pub(super) fn rest(&mut self) {
        let mut errors = Vec::new();
        for (uid, job) in self.jobs.iter().filter(|(_, job)| !is_going(&job.object)) {
            let mut wrong = counts(job);
            let pods = [
                ("active", count(self.of(uid).filter(|pod| is_active(pod)))),
                ("ready", count(self.of(uid).filter(|pod| is_ready(pod)))),
            ];
            for (field, is) in pods {
                let said = number(&job.object, &format!("/status/{field}"));
                if said != is {
                    wrong.push(format!("{is} pods are {field}, and it says {said}"));
                }
            }
            let name = text(&job.object, "/metadata/name");
            let wrong = wrong.into_iter();
            errors.extend(wrong.map(|text| format!("{name} at rest: {text}")));
        }
        for pod in self.pods.values().filter(|pod| is_tracked(&pod.object)) {
            let has_job =
                controller(&pod.object).is_some_and(|(_, uid)| self.jobs.contains_key(uid));
            let name = text(&pod.object, "/metadata/name");
            if !has_job {
                errors.push(format!("pod {name} of no Job has the finalizer at rest"));
            } else if has_ended(&pod.object) {
                errors.push(format!("pod {name} has ended, and is not counted at rest"));
            }
        }
        self.errors.extend(errors);
    }
}

/// How many pods a Job may have at a time.
fn most(job: &Value) -> i64 {
    if job.pointer("/spec/suspend") == Some(&Value::Bool(true)) {
        return 0;
    }
    let said = job.pointer("/spec/parallelism").and_then(Value::as_i64);
    said.unwrap_or(1)
}

/// What must not be in the status of a Job at any time.
fn wrong_status(before: &Value, job: &Value) -> Option<String> {
    let (succeeded, wanted) = (
        number(job, "/status/succeeded"),
        number(job, "/spec/completions"),
    );
    if succeeded > wanted {
        return Some(format!(
            "counts {succeeded} successes, where {wanted} are wanted"
        ));
    }
    for field in ["succeeded", "failed"] {
        let at = format!("/status/{field}");
        let (was, is) = (number(before, &at), number(job, &at));
        if is < was {
            return Some(format!("counted {was} as {field}, and counts {is}"));
        }
    }
    let (complete, failed) = (holds(job, "Complete"), holds(job, "Failed"));
    if complete && failed {
        return Some("is complete and has failed".to_owned());
    }
    if complete && succeeded < wanted {
        return Some(format!(
            "is complete with {succeeded} of {wanted} successes"
        ));
    }
    let ended = ["Complete", "Failed"];
    let mut ended = ended.iter().filter(|kind| holds(before, kind));
    let lost = ended.find(|kind| !holds(job, kind))?;
    Some(format!("is not {lost} any more"))
}

/// What is wrong with the counts of a Job at rest.
fn counts(job: &Job) -> Vec<String> {
    let (object, tally) = (&job.object, &job.tally);
    let succeeded = number(object, "/status/succeeded");
    let failed = number(object, "/status/failed");
    let mut wrong = Vec::new();
    let is_indexed = text(object, "/spec/completionMode") == "Indexed";
    let (least, most) = if is_indexed {
        (count(tally.indexes.iter()), count(tally.perhaps.iter()))
    } else {
        (tally.succeeded, tally.succeeded + tally.either)
    };
    if !(least..=most).contains(&succeeded) {
        wrong.push(format!(
            "{least} to {most} pods have succeeded, and it counts {succeeded}"
        ));
    }
    let (least, most) = (tally.failed, tally.failed + tally.either);
    if !(least..=most).contains(&failed) {
        wrong.push(format!(
            "{least} to {most} pods have failed, and it counts {failed}"
        ));
    }
    let all = tally.succeeded + tally.failed + tally.either;
    if !is_indexed && succeeded + failed != all {
        wrong.push(format!(
            "{all} pods are over, and it counts {}",
            succeeded + failed
        ));
    }
    let uncounted = ["succeeded", "failed"].iter().any(|field| {
        let at = format!("/status/uncountedTerminatedPods/{field}");
        list(object, &at).next().is_some()
    });
    if uncounted {
        wrong.push("some pods are not counted yet".to_owned());
    }
    let (complete, failed) = (holds(object, "Complete"), holds(object, "Failed"));
    let enough = succeeded >= number(object, "/spec/completions");
    if complete != (enough && !failed) {
        wrong.push(format!(
            "it has {succeeded} successes, and that it is complete is {complete}"
        ));
    }
    if !complete && !failed && self::most(object) > 0 {
        wrong.push("it has not ended".to_owned());
    }
    wrong
}
