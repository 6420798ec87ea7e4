//! What is wrong with jobs and cron jobs.

mod policies;

use serde_json::Value;

use super::spot::{Causes, Spot};
use super::{labels, pods, schedule, workloads};
use crate::status::Cause;

const COUNTS: &[&str] = &[
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
];
/// What of a job stays, beside its template and its completions.
const FIXED: &[&str] = &[
    "selector",
    "completionMode",
    "podFailurePolicy",
    "backoffLimitPerIndex",
    "managedBy",
    "successPolicy",
];
/// What of the template of a suspended job may change.
const DIRECTIVES: [&str; 5] = [
    "/spec/nodeSelector",
    "/spec/tolerations",
    "/metadata/annotations",
    "/metadata/labels",
    "/spec/schedulingGates",
];
const UID: &str = "batch.kubernetes.io/controller-uid";

pub(super) fn job(job: &Spot<'_>, causes: &mut Causes) {
    generated(job, causes);
    let spec = job.of("spec");
    of_spec(&spec, causes);
    let selector = spec.of("selector");
    if !selector.is_set() {
        selector.required("", causes);
    } else if !labels::selector(&selector, causes) {
        return;
    }
    workloads::mismatch(&spec, causes);
}

/// The labels by which a job knows its pods are as they were made.
fn generated(job: &Spot<'_>, causes: &mut Causes) {
    let spec = job.of("spec");
    if spec.of("manualSelector").is_true() || !spec.of("selector").is_set() {
        return;
    }
    let (uid, name) = (
        job.of("metadata.uid").text(),
        job.of("metadata.name").text(),
    );
    let metadata = spec.of("template.metadata");
    let held = metadata.of("labels");
    let mut expected = serde_json::Map::new();
    for (key, value) in [
        ("controller-uid", uid),
        ("job-name", name),
        (UID, uid),
        ("batch.kubernetes.io/job-name", name),
    ] {
        expected.insert(key.to_owned(), value.into());
        let found = held.key(key);
        if !found.is_set() {
            let why = format!("must be '{value}'");
            causes.push(Cause::required(found.path(), &why));
        } else if found.text() != value {
            let why = format!("must be '{value}'");
            causes.push(Cause::invalid(found.path(), held.value(), &why));
        }
    }
    let selector = spec.of("selector");
    if !labels::selects(selector.value(), &Value::Object(expected)) {
        selector.invalid("`selector` not auto-generated", causes);
    }
}

fn of_spec(spec: &Spot<'_>, causes: &mut Causes) {
    spec.not_negative(COUNTS, causes);
    let modes = &["NonIndexed", "Indexed"];
    spec.of("completionMode").one_of_if_set(modes, causes);
    let is_indexed = spec.of("completionMode").text() == "Indexed";
    if is_indexed && !spec.of("completions").is_set() {
        spec.of("completions")
            .required("when completion mode is Indexed", causes);
    }
    for field in ["backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"] {
        let part = spec.of(field);
        if !is_indexed && part.is_set() {
            part.invalid("requires indexed completion mode", causes);
        }
    }
    if spec.of("podFailurePolicy").is_set() {
        policies::failure(spec, causes);
    }
    if is_indexed && spec.of("successPolicy").is_set() {
        policies::success(spec, causes);
    }
    let replacement = spec.of("podReplacementPolicy");
    if spec.of("podFailurePolicy").is_set() {
        replacement.one_of_if_set(&["Failed"], causes);
    } else {
        replacement.one_of_if_set(&["Failed", "TerminatingOrFailed"], causes);
    }
    pods::template(&spec.of("template"), &[], causes);
    let policy = spec.of("template.spec.restartPolicy");
    match policy.text() {
        "" | "Always" => policy.required("valid values: \"OnFailure\", \"Never\"", causes),
        "OnFailure" if spec.of("podFailurePolicy").is_set() => {
            let why = "only \"Never\" is supported when podFailurePolicy is specified";
            policy.invalid(why, causes);
        }
        "OnFailure" | "Never" => {}
        _ => policy.unsupported(&["OnFailure", "Never"], causes),
    }
}

/// Judges what a job has become.
pub(super) fn job_update(new: &Spot<'_>, old: &Spot<'_>, causes: &mut Causes) {
    job(new, causes);
    let status = old.of("status");
    let (new, old) = (new.of("spec"), old.of("spec"));
    completions(&new, &old, causes);
    new.fixed(&old, FIXED, causes);
    let is_new = !status.of("startTime").is_set();
    let (template, held) = (new.of("template"), old.of("template"));
    let mut wanted = template.value().clone();
    let mut held = held.value().clone();
    if old.of("suspend").is_true() && is_new {
        for at in DIRECTIVES {
            for template in [&mut wanted, &mut held] {
                remove(template, at);
            }
        }
    }
    if wanted != held {
        template.invalid("field is immutable", causes);
    }
}

fn remove(object: &mut Value, at: &str) {
    if let Some((parent, field)) = at.rsplit_once('/')
        && let Some(Value::Object(parent)) = object.pointer_mut(parent)
    {
        parent.remove(field);
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

pub(super) fn cron_job(job: &Spot<'_>, old: Option<&Spot<'_>>, causes: &mut Causes) {
    let spec = job.of("spec");
    let text = spec.of("schedule");
    if text.is_empty() {
        text.required("", causes);
    } else {
        let had_zone = old.is_some_and(|old| old.of("spec.schedule").text().contains("TZ"));
        self::schedule(&text, had_zone, spec.of("timeZone").is_set(), causes);
    }
    let counts = &[
        "startingDeadlineSeconds",
        "successfulJobsHistoryLimit",
        "failedJobsHistoryLimit",
    ];
    spec.not_negative(counts, causes);
    let zone = spec.of("timeZone");
    if old.is_none_or(|old| old.of("spec.timeZone").value() != zone.value()) {
        time_zone(&zone, causes);
    }
    let policies = &["Allow", "Forbid", "Replace"];
    spec.of("concurrencyPolicy").one_of(policies, causes);
    let of_job = spec.of("jobTemplate.spec");
    of_spec(&of_job, causes);
    if of_job.of("selector").is_set() {
        of_job
            .of("selector")
            .invalid("`selector` will be auto-generated", causes);
    }
    if of_job.of("manualSelector").is_true() {
        of_job
            .of("manualSelector")
            .unsupported(&["nil", "false"], causes);
    }
    let name = job.of("metadata.name");
    if old.is_none() && name.text().len() > 52 {
        name.invalid("must be no more than 52 characters", causes);
    }
}

fn schedule(text: &Spot<'_>, had_zone: bool, has_zone: bool, causes: &mut Causes) {
    if let Err(why) = schedule::check(text.text()) {
        text.invalid(&why, causes);
    }
    if !text.text().contains("TZ") {
        return;
    }
    if !had_zone {
        let why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
        text.invalid(why, causes);
    } else if has_zone {
        let why = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
        text.invalid(why, causes);
    }
}

/// The name of a zone; which zones there are differs between machines.
fn time_zone(zone: &Spot<'_>, causes: &mut Causes) {
    if !zone.is_set() {
        return;
    }
    let text = zone.text();
    if text.is_empty() {
        return zone.invalid("timeZone must be nil or non-empty string", causes);
    }
    let fine = |part: &str| {
        let letters = part.chars();
        let known = |letter: char| letter.is_ascii_alphanumeric() || ".-_+".contains(letter);
        !matches!(part, "." | "..")
            && !part.starts_with('-')
            && (1..=14).contains(&part.len())
            && letters.into_iter().all(known)
    };
    if !text.split('/').all(fine) {
        return zone.invalid(&format!("unknown time zone {text}"), causes);
    }
    if text.eq_ignore_ascii_case("local") {
        let why =
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        zone.invalid(why, causes);
    }
}
