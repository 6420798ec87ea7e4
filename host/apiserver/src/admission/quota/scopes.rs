//! Whether an object is in the scopes of a quota (kubernetes `pkg/quota/v1/evaluator/core`).

use serde_json::Value;

use crate::json::{get, list, text, texts};

/// Whether a pod is in all scopes of a quota.
pub(super) fn have_pod(quota: &Value, pod: &Value) -> bool {
    of(quota).all(|scope| has_pod(&scope, pod))
}

/// Whether a claim is in all scopes of a quota.
pub(super) fn have_claim(quota: &Value, claim: &Value) -> bool {
    of(quota).all(|scope| {
        let names = classes(claim);
        scope.name == "VolumeAttributesClass" && scope.selects(&names)
    })
}

/// Whether a quota has any scope.
pub(super) fn are_there(quota: &Value) -> bool {
    of(quota).next().is_some()
}

struct Scope<'a> {
    name: &'a str,
    operator: &'a str,
    values: Vec<&'a str>,
}

impl Scope<'_> {
    /// Whether one of these values is selected; without values, whether their absence is.
    fn selects(&self, names: &[&str]) -> bool {
        let has = |name: &&str| self.values.contains(name);
        match self.operator {
            "Exists" => !names.is_empty(),
            "DoesNotExist" => names.is_empty(),
            "In" => names.iter().any(has),
            "NotIn" => names.is_empty() || !names.iter().all(has),
            _ => false,
        }
    }
}

fn of(quota: &Value) -> impl Iterator<Item = Scope<'_>> {
    let spec = get(quota, "spec");
    let named = texts(spec, "scopes").map(|name| Scope {
        name,
        operator: "Exists",
        values: Vec::new(),
    });
    let selected = list(get(spec, "scopeSelector"), "matchExpressions").iter();
    named.chain(selected.map(|selector| Scope {
        name: text(selector, "scopeName"),
        operator: text(selector, "operator"),
        values: texts(selector, "values").collect(),
    }))
}

fn has_pod(scope: &Scope<'_>, pod: &Value) -> bool {
    let spec = get(pod, "spec");
    let class = Some(text(spec, "priorityClassName")).filter(|name| !name.is_empty());
    match scope.name {
        "Terminating" => is_terminating(pod),
        "NotTerminating" => !is_terminating(pod),
        "BestEffort" => is_best_effort(spec),
        "NotBestEffort" => !is_best_effort(spec),
        "PriorityClass" => scope.selects(class.as_slice()),
        "CrossNamespacePodAffinity" => crosses_namespaces(spec),
        _ => false,
    }
}

/// Whether a pod ends at a set time.
pub(super) fn is_terminating(pod: &Value) -> bool {
    let deadline = get(get(pod, "spec"), "activeDeadlineSeconds").as_i64();
    deadline.is_some_and(|seconds| seconds >= 0)
}

fn is_best_effort(spec: &Value) -> bool {
    spec.as_object()
        .is_none_or(|spec| crate::builtin::qos_class(spec) == "BestEffort")
}

fn crosses_namespaces(spec: &Value) -> bool {
    let affinity = get(spec, "affinity");
    ["podAffinity", "podAntiAffinity"].iter().any(|kind| {
        let terms = get(affinity, kind);
        let required = list(terms, "requiredDuringSchedulingIgnoredDuringExecution").iter();
        let preferred = list(terms, "preferredDuringSchedulingIgnoredDuringExecution").iter();
        let preferred = preferred.map(|term| get(term, "podAffinityTerm"));
        required.chain(preferred).any(|term| {
            !list(term, "namespaces").is_empty() || !get(term, "namespaceSelector").is_null()
        })
    })
}

/// The VolumeAttributesClasses that a claim has, had or is to have.
fn classes(claim: &Value) -> Vec<&str> {
    let (spec, status) = (get(claim, "spec"), get(claim, "status"));
    let target = get(status, "modifyVolumeStatus");
    let all = [
        text(spec, "volumeAttributesClassName"),
        text(status, "currentVolumeAttributesClassName"),
        text(target, "targetVolumeAttributesClassName"),
    ];
    all.into_iter().filter(|name| !name.is_empty()).collect()
}
