//! What of a job may change.

use serde_json::Value;

use super::judge;
use crate::builtin::validate::spot::{Causes, Spot};

/// What of a job stays, beside its template and its completions.
const FIXED: &[&str] = &[
    "selector",
    "completionMode",
    "podFailurePolicy",
    "backoffLimitPerIndex",
    "managedBy",
    "successPolicy",
];
/// The labels by which newer servers know the pods of a job.
const PREFIXED: [&str; 2] = [
    "batch.kubernetes.io/job-name",
    "batch.kubernetes.io/controller-uid",
];
/// What of the template of a suspended job may change, beside its metadata, the affinity to nodes and what
/// its containers ask for.
const DIRECTIVES: [&str; 3] = ["nodeSelector", "tolerations", "schedulingGates"];

/// Judges what a job has become.
pub(in super::super) fn job_update(new: &Spot<'_>, old: &Spot<'_>, causes: &mut Causes) {
    let held = old.of("spec.template.metadata.labels");
    let had_prefixed = PREFIXED.iter().all(|label| held.key(label).is_set());
    judge(new, had_prefixed, causes);
    let is_free = is_free(old);
    let (new, old) = (new.of("spec"), old.of("spec"));
    completions(&new, &old, causes);
    new.fixed(&old, FIXED, causes);
    let (template, held) = (new.of("template"), old.of("template"));
    if !is_free {
        return template.fixed_itself(&held, causes);
    }
    let (wanted, held) = (template.of("spec"), held.of("spec"));
    let (mut one, mut other) = (wanted.value().clone(), held.value().clone());
    for spec in [&mut one, &mut other] {
        without_directives(spec);
    }
    for list in ["containers", "initContainers"] {
        without_resources(&mut one, &mut other, list);
    }
    if one != other {
        wanted.invalid("field is immutable", causes);
    }
}

/// Whether the job is suspended and has no pods (`shouldAllowMutablePodTemplate`).
fn is_free(job: &Spot<'_>) -> bool {
    let status = job.of("status");
    let conditions = status.of("conditions");
    let is_suspended = conditions.items().any(|condition| {
        condition.of("type").text() == "Suspended" && condition.of("status").text() == "True"
    });
    let is_new = !status.of("startTime").is_set();
    job.of("spec.suspend").is_true()
        && (is_new || is_suspended)
        && status.of("active").number().unwrap_or(0) == 0
}

fn without_directives(spec: &mut Value) {
    let Value::Object(fields) = spec else { return };
    for field in DIRECTIVES {
        fields.remove(field);
    }
    if let Some(Value::Object(affinity)) = fields.get_mut("affinity") {
        affinity.remove("nodeAffinity");
        if affinity.is_empty() {
            fields.remove("affinity");
        }
    }
}

/// Removes what containers ask for that are the same in both.
fn without_resources(one: &mut Value, other: &mut Value, list: &str) {
    let of = |spec: &mut Value| spec.get_mut(list).map(Value::take);
    let (Some(Value::Array(mut ones)), Some(Value::Array(mut others))) = (of(one), of(other))
    else {
        return;
    };
    if ones.len() == others.len() {
        for (one, other) in ones.iter_mut().zip(&mut others) {
            if one.get("name") == other.get("name") {
                for container in [one, other] {
                    container
                        .as_object_mut()
                        .map(|fields| fields.remove("resources"));
                }
            }
        }
    }
    for (spec, containers) in [(one, ones), (other, others)] {
        if let Some(place) = spec.get_mut(list) {
            *place = Value::Array(containers);
        }
    }
}

/// An indexed job can be made longer and shorter, along with its parallelism.
fn completions(new: &Spot<'_>, old: &Spot<'_>, causes: &mut Causes) {
    let (wanted, held) = (new.of("completions"), old.of("completions"));
    if wanted.value() == held.value() {
        return;
    }
    if new.of("completionMode").text() != "Indexed" {
        return wanted.invalid("field is immutable", causes);
    }
    if wanted.is_set() && wanted.value() != new.of("parallelism").value() {
        let why = "can only be modified in tandem with spec.parallelism";
        wanted.invalid(why, causes);
    }
}
