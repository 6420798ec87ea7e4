//! What is wrong with jobs and cron jobs.

mod indexed;
mod policies;
mod update;
mod zones;

use serde_json::Value;

use super::spot::{Causes, Spot};
use super::{labels, pods, schedule, workloads};
use crate::names;
use crate::status::Cause;

pub(super) use update::job_update;

const COUNTS: &[&str] = &[
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
];
const LONGEST_MANAGER: usize = 63;
const PATH: &str = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";
const UID: &str = "batch.kubernetes.io/controller-uid";

pub(super) fn job(job: &Spot<'_>, causes: &mut Causes) {
    self::judge(job, true, causes);
}

/// Judges a job, whose pods need not have the newer labels yet if it is an old one without them.
fn judge(job: &Spot<'_>, needs_prefixed: bool, causes: &mut Causes) {
    generated(job, needs_prefixed, causes);
    let spec = job.of("spec");
    of_spec(&spec, causes);
    indexed::name(job, causes);
    let selector = spec.of("selector");
    if !selector.is_set() {
        selector.required("", causes);
    } else if !labels::selector(&selector, causes) {
        return;
    }
    workloads::mismatch(&spec, causes);
}

/// Who acts on a job beside the cluster's own controller (`IsDomainPrefixedPath`).
fn managed_by(manager: &Spot<'_>, causes: &mut Causes) {
    if !manager.is_set() {
        return;
    }
    let text = manager.text();
    let wrong = |value: &str, why: &str| Cause::invalid(manager.path(), &value.into(), why);
    match text.split_once('/') {
        _ if text.is_empty() => manager.required("", causes),
        Some((host, path)) if !host.is_empty() && !path.is_empty() => {
            let hosts = names::subdomain(host);
            causes.extend(hosts.iter().map(|why| wrong(host, why)));
            let fine = |c: char| c.is_ascii_alphanumeric() || "/-._~%!$&'()*+,;=:".contains(c);
            if !path.chars().all(fine) {
                causes.push(wrong(path, PATH));
            }
        }
        _ => {
            let why = "must be a domain-prefixed path (such as \"acme.io/foo\")";
            causes.push(wrong(text, why));
        }
    }
    if text.len() > LONGEST_MANAGER {
        causes.push(Cause::too_long(manager.path(), LONGEST_MANAGER as u64));
    }
}

/// The labels by which a job knows its pods are as they were made.
fn generated(job: &Spot<'_>, needs_prefixed: bool, causes: &mut Causes) {
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
        if !needs_prefixed && key.contains('/') {
            continue;
        }
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
    let mut ignored = Causes::new();
    if labels::selector(&selector, &mut ignored)
        && !labels::selects(selector.value(), &Value::Object(expected))
    {
        selector.invalid("`selector` not auto-generated", causes);
    }
}

fn of_spec(spec: &Spot<'_>, causes: &mut Causes) {
    spec.not_negative(COUNTS, causes);
    managed_by(&spec.of("managedBy"), causes);
    indexed::spec(spec, causes);
    let is_indexed = spec.of("completionMode").text() == "Indexed";
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
    pods::template(&spec.of("template"), causes);
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
        zones::zone(&zone, causes);
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
