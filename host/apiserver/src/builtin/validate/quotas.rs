//! What is wrong with resource quotas.

use std::collections::BTreeSet;

use super::resources;
use super::spot::{Causes, Spot};
use crate::status::Cause;

const PAIRS: [[&str; 2]; 2] = [
    ["BestEffort", "NotBestEffort"],
    ["Terminating", "NotTerminating"],
];
const COMPUTE: [&str; 7] = [
    "pods",
    "cpu",
    "memory",
    "limits.cpu",
    "limits.memory",
    "requests.cpu",
    "requests.memory",
];
const STORAGE: [&str; 2] = ["persistentvolumeclaims", "requests.storage"];
const ONLY_EXISTS: &str = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
     ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or \
     ResourceQuotaScopeCrossNamespacePodAffinity";

pub(super) fn quota(quota: &Spot<'_>, causes: &mut Causes) {
    let spec = quota.of("spec");
    amounts(&spec.of("hard"), causes);
    scopes(&spec, causes);
    if spec.of("scopeSelector").is_set() {
        selector(&spec, causes);
    }
    status(quota, causes);
}

pub(super) fn status(quota: &Spot<'_>, causes: &mut Causes) {
    let status = quota.of("status");
    amounts(&status.of("hard"), causes);
    amounts(&status.of("used"), causes);
}

/// Judges what a quota has become: it is about the same scopes.
pub(super) fn update(new: &Spot<'_>, old: &Spot<'_>, causes: &mut Causes) {
    quota(new, causes);
    let set = |quota: &Spot<'_>| -> BTreeSet<String> {
        let scopes = quota.of("spec.scopes");
        scopes
            .items()
            .map(|scope| scope.text().to_owned())
            .collect()
    };
    if set(new) != set(old) {
        new.of("spec.scopes").invalid("field is immutable", causes);
    }
}

fn amounts(hard: &Spot<'_>, causes: &mut Causes) {
    for (name, amount) in hard.entries() {
        let wrong = resources::of_quota(name);
        let cause = |why: &String| Cause::invalid(amount.path(), &name.into(), why);
        causes.extend(wrong.iter().map(cause));
        causes.extend(resources::amount(name, &amount, &amount.path()));
    }
}

/// Whether a scope is one that the server knows.
fn is_known(scope: &str) -> bool {
    let others = [
        "PriorityClass",
        "VolumeAttributesClass",
        "CrossNamespacePodAffinity",
    ];
    PAIRS.as_flattened().contains(&scope) || others.contains(&scope)
}

/// Whether a scope can be about a resource that the server knows.
fn fits(scope: &str, resource: &str) -> bool {
    match scope {
        _ if !resources::is_for_quotas(resource) => true,
        "BestEffort" => resource == "pods",
        "VolumeAttributesClass" => STORAGE.contains(&resource),
        scope if is_known(scope) => COMPUTE.contains(&resource),
        _ => true,
    }
}

fn scopes(spec: &Spot<'_>, causes: &mut Causes) {
    let (hard, scopes) = (spec.of("hard"), spec.of("scopes"));
    let mut seen = BTreeSet::new();
    for scope in scopes.items() {
        if !is_known(scope.text()) {
            scopes.invalid("unsupported scope", causes);
        }
        for (resource, _) in hard.entries() {
            if !fits(scope.text(), resource) {
                scopes.invalid("unsupported scope applied to resource", causes);
            }
        }
        seen.insert(scope.text().to_owned());
    }
    conflicts(&seen, &scopes, &scopes.path(), causes);
}

fn conflicts(seen: &BTreeSet<String>, scopes: &Spot<'_>, told: &str, causes: &mut Causes) {
    for pair in PAIRS {
        if pair.iter().all(|scope| seen.contains(*scope)) {
            causes.push(Cause::invalid(told, scopes.value(), "conflicting scopes"));
        }
    }
}

fn selector(spec: &Spot<'_>, causes: &mut Causes) {
    let (hard, selector) = (spec.of("hard"), spec.of("scopeSelector"));
    let all = selector.of("matchExpressions");
    let mut seen = BTreeSet::new();
    for one in all.items() {
        let (scope, operator, values) = (one.of("scopeName"), one.of("operator"), one.of("values"));
        let at = |field: &str| format!("{}.{field}", all.path());
        if !is_known(scope.text()) {
            let name = scope.text().into();
            causes.push(Cause::invalid(at("scopeName"), &name, "unsupported scope"));
        }
        for (resource, _) in hard.entries() {
            if !fits(scope.text(), resource) {
                let why = "unsupported scope applied to resource";
                causes.push(Cause::invalid(all.path(), selector.value(), why));
            }
        }
        let wrong = |why| Cause::invalid(at("operator"), &operator.text().into(), why);
        let takes_values = matches!(scope.text(), "PriorityClass" | "VolumeAttributesClass");
        if is_known(scope.text()) && !takes_values && operator.text() != "Exists" {
            causes.push(wrong(ONLY_EXISTS));
        }
        match (operator.text(), values.is_empty()) {
            ("In" | "NotIn", true) => {
                let why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
                causes.push(Cause::required(at("values"), why));
            }
            ("Exists" | "DoesNotExist", false) => {
                let why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
                causes.push(Cause::invalid(at("values"), values.value(), why));
            }
            ("In" | "NotIn" | "Exists" | "DoesNotExist", _) => {}
            _ => causes.push(wrong("not a valid selector operator")),
        }
        seen.insert(scope.text().to_owned());
    }
    conflicts(&seen, &spec.of("scopes"), &all.path(), causes);
}
