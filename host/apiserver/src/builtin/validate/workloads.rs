//! What is wrong with the workloads of the group `apps`.

mod status;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::spot::{Causes, Spot};
use super::{claims, labels, pods};
use crate::names;

pub(super) use status::validate_status;

const ALWAYS: &[&str] = &["Always"];
const KEPT: &[&str] = &["Retain", "Delete"];
/// What may change in a StatefulSet.
const FREE: [&str; 7] = [
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];
const STATEFUL: &str = "updates to statefulset spec for fields other than 'replicas', 'ordinals', \
     'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and \
     'minReadySeconds' are forbidden";

pub(super) fn deployment(object: &Spot<'_>, causes: &mut Causes) {
    let spec = object.of("spec");
    let counts = &["replicas", "minReadySeconds", "revisionHistoryLimit"];
    spec.not_negative(counts, causes);
    if selection(&spec, "deployment", causes) {
        mismatch(&spec, causes);
        template(&spec, "ReplicaSet", causes);
    }
    strategy(&spec.of("strategy"), causes);
    let progress = spec.of("progressDeadlineSeconds");
    if let Some(seconds) = progress.number() {
        spec.not_negative(&["progressDeadlineSeconds"], causes);
        if seconds <= spec.of("minReadySeconds").number().unwrap_or(0) {
            progress.invalid("must be greater than minReadySeconds", causes);
        }
    }
}

pub(super) fn replica_set(object: &Spot<'_>, causes: &mut Causes) {
    let spec = object.of("spec");
    spec.not_negative(&["replicas", "minReadySeconds"], causes);
    if selection(&spec, "deployment", causes) {
        mismatch(&spec, causes);
        template(&spec, "ReplicaSet", causes);
    }
}

pub(super) fn daemon_set(object: &Spot<'_>, causes: &mut Causes) {
    let spec = object.of("spec");
    let selector = spec.of("selector");
    if !selector.is_set() || labels::selector(&selector, causes) {
        mismatch(&spec, causes);
    }
    not_everything(&selector, "daemonset", causes);
    template(&spec, "DaemonSet", causes);
    spec.not_negative(&["minReadySeconds", "revisionHistoryLimit"], causes);
    daemon_strategy(&spec.of("updateStrategy"), causes);
}

pub(super) fn stateful_set(object: &Spot<'_>, is_new: bool, causes: &mut Causes) {
    let spec = object.of("spec");
    let (policy, strategy) = (spec.of("podManagementPolicy"), spec.of("updateStrategy"));
    match policy.text() {
        "" => policy.required("", causes),
        "OrderedReady" | "Parallel" => {}
        _ => policy.invalid("must be 'OrderedReady' or 'Parallel'", causes),
    }
    let rolling = strategy.of("rollingUpdate");
    match strategy.of("type").text() {
        "" => strategy.required("", causes),
        "OnDelete" if rolling.is_set() => {
            rolling.invalid("only allowed for updateStrategy 'RollingUpdate'", causes);
        }
        "OnDelete" => {}
        "RollingUpdate" => stateful_rolling(&rolling, causes),
        _ => strategy.invalid("must be 'RollingUpdate' or 'OnDelete'", causes),
    }
    let kept = spec.of("persistentVolumeClaimRetentionPolicy");
    for field in ["whenDeleted", "whenScaled"] {
        kept.of(field).one_of_if_set(KEPT, causes);
    }
    spec.not_negative(&["replicas", "minReadySeconds", "ordinals.start"], causes);
    let claims = spec.of("volumeClaimTemplates");
    if is_new {
        spec.of("serviceName").fits_if_set(names::label, causes);
        claims
            .items()
            .for_each(|claim| claims::spec(&claim.of("spec"), causes));
    }
    if selection(&spec, "statefulset", causes) {
        mismatch(&spec, causes);
        let value = with_claims(spec.of("template").value(), &claims);
        pods::template(&spec.of("template").instead(&value), causes);
        only_always(&spec, "StatefulSet", causes);
    }
}

/// The template as the controller uses it: with a volume for each claim, and names of its own.
fn with_claims(template: &Value, claims: &Spot<'_>) -> Value {
    let mut template = template.clone();
    let Some(Value::Object(spec)) = template.get_mut("spec") else {
        return template;
    };
    spec.remove("subdomain");
    spec.remove("hostname");
    if claims.is_empty() {
        return template;
    }
    let names: BTreeSet<&str> = claims
        .value()
        .as_array()
        .into_iter()
        .flatten()
        .map(|claim| {
            let name = claim.pointer("/metadata/name");
            name.and_then(Value::as_str).unwrap_or_default()
        })
        .collect();
    let volume = |name| json!({ "name": name, "persistentVolumeClaim": { "claimName": name } });
    let mut volumes: Vec<Value> = names.iter().map(volume).collect();
    let own = spec
        .get("volumes")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter(|volume| {
            let name = volume.get("name").and_then(Value::as_str);
            !names.contains(name.unwrap_or_default())
        });
    volumes.extend(own.cloned());
    spec.insert("volumes".to_owned(), volumes.into());
    template
}

/// Judges what a StatefulSet has become.
pub(super) fn stateful_update(new: &Spot<'_>, old: &Spot<'_>, causes: &mut Causes) {
    stateful_set(new, false, causes);
    let fixed = |spec: &Value| {
        let mut spec = spec.clone();
        if let Some(fields) = spec.as_object_mut() {
            fields.retain(|name, _| !FREE.contains(&name.as_str()));
        }
        spec
    };
    let (new, old) = (new.of("spec"), old.of("spec"));
    if fixed(new.value()) != fixed(old.value()) {
        new.forbidden(STATEFUL, causes);
    }
}

/// There must be a selector, and it must select something; says whether it can be used.
fn selection(spec: &Spot<'_>, kind: &str, causes: &mut Causes) -> bool {
    let selector = spec.of("selector");
    if !selector.is_set() {
        selector.required("", causes);
        return true;
    }
    let fine = labels::selector(&selector, causes);
    not_everything(&selector, kind, causes);
    if !fine {
        let why = if kind == "statefulset" {
            ""
        } else {
            "invalid label selector"
        };
        selector.invalid(why, causes);
    }
    fine
}

fn not_everything(selector: &Spot<'_>, kind: &str, causes: &mut Causes) {
    let is_empty = |field| selector.of(field).is_empty();
    if selector.is_set() && is_empty("matchLabels") && is_empty("matchExpressions") {
        let why = format!("empty selector is invalid for {kind}");
        selector.invalid(&why, causes);
    }
}

/// The selector must select the pods of the template.
pub(super) fn mismatch(spec: &Spot<'_>, causes: &mut Causes) {
    let held = spec.of("template.metadata.labels");
    if !labels::selects(spec.of("selector").value(), held.value()) {
        held.invalid("`selector` does not match template `labels`", causes);
    }
}

fn template(spec: &Spot<'_>, kind: &str, causes: &mut Causes) {
    pods::template(&spec.of("template"), causes);
    only_always(spec, kind, causes);
}

/// Pods that end are started again, and have no deadline.
fn only_always(spec: &Spot<'_>, kind: &str, causes: &mut Causes) {
    let policy = spec.of("template.spec.restartPolicy");
    if policy.text() != "Always" {
        policy.unsupported(ALWAYS, causes);
    }
    let deadline = spec.of("template.spec.activeDeadlineSeconds");
    if deadline.is_set() {
        let why = format!("activeDeadlineSeconds in {kind} is not Supported");
        deadline.forbidden(&why, causes);
    }
}

fn strategy(strategy: &Spot<'_>, causes: &mut Causes) {
    let rolling = strategy.of("rollingUpdate");
    match strategy.of("type").text() {
        "Recreate" if rolling.is_set() => {
            let why = "may not be specified when strategy `type` is 'Recreate'";
            rolling.forbidden(why, causes);
        }
        "Recreate" => {}
        "RollingUpdate" if rolling.is_set() => {
            let (unavailable, surge) = (rolling.of("maxUnavailable"), rolling.of("maxSurge"));
            count_or_percent(&unavailable, causes);
            count_or_percent(&surge, causes);
            if amount(&unavailable) == 0 && amount(&surge) == 0 {
                unavailable.invalid("may not be 0 when `maxSurge` is 0", causes);
            }
            not_above_all(&unavailable, causes);
        }
        "RollingUpdate" => {
            rolling.required("this should be defaulted and never be nil", causes);
        }
        _ => strategy.unsupported(&["Recreate", "RollingUpdate"], causes),
    }
}

fn daemon_strategy(strategy: &Spot<'_>, causes: &mut Causes) {
    let rolling = strategy.of("rollingUpdate");
    match strategy.of("type").text() {
        "OnDelete" => {}
        "RollingUpdate" if !rolling.is_set() => rolling.required("", causes),
        "RollingUpdate" => {
            let (unavailable, surge) = (rolling.of("maxUnavailable"), rolling.of("maxSurge"));
            for share in [&unavailable, &surge] {
                count_or_percent(share, causes);
                not_above_all(share, causes);
            }
            match (amount(&unavailable), amount(&surge)) {
                (0, 0) => unavailable.required("cannot be 0 when maxSurge is 0", causes),
                (_, 0) | (0, _) => {}
                _ => surge.invalid("may not be set when maxUnavailable is non-zero", causes),
            }
        }
        _ => strategy.unsupported(&["RollingUpdate", "OnDelete"], causes),
    }
}

fn stateful_rolling(rolling: &Spot<'_>, causes: &mut Causes) {
    rolling.not_negative(&["partition"], causes);
    let unavailable = rolling.of("maxUnavailable");
    if unavailable.is_set() {
        count_or_percent(&unavailable, causes);
        if amount(&unavailable) == 0 {
            unavailable.invalid("cannot be 0", causes);
        }
        not_above_all(&unavailable, causes);
    }
}

/// A number of pods, or a share of all.
pub(super) fn count_or_percent(share: &Spot<'_>, causes: &mut Causes) {
    match share.value() {
        Value::String(_) => share.fits(names::percent, causes),
        _ if share.number().is_some_and(|number| number < 0) => {
            share.invalid("must be greater than or equal to 0", causes);
        }
        _ => {}
    }
}

pub(super) fn not_above_all(share: &Spot<'_>, causes: &mut Causes) {
    if names::percent(share.text()).is_empty() && amount(share) > 100 {
        share.invalid("must not be greater than 100%", causes);
    }
}

/// A text that is not a share counts as the number that it is, or as none.
fn amount(share: &Spot<'_>) -> i64 {
    let text = share.text();
    let digits = if names::percent(text).is_empty() {
        text.trim_end_matches('%')
    } else {
        text
    };
    share.number().or_else(|| digits.parse().ok()).unwrap_or(0)
}
