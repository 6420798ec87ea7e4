//! What is wrong with leases, disruption budgets, and classes of priority and storage.

use super::conditions;
use super::labels;
use super::spot::{Causes, Spot};
use super::workloads::{count_or_percent, not_above_all};
use crate::names;
use crate::status::Cause;
use crate::status::shown::json;

/// The most important that a user can make a pod.
const HIGHEST: i64 = 1_000_000_000;
const POLICIES: &[&str] = &["PreemptLowerPriority", "Never"];
/// What of a storage class stays.
const CLASS: &[&str] = &[
    "parameters",
    "provisioner",
    "reclaimPolicy",
    "volumeBindingMode",
];

pub(super) fn lease(lease: &Spot<'_>, causes: &mut Causes) {
    let spec = lease.of("spec");
    let seconds = spec.of("leaseDurationSeconds");
    if seconds.number().is_some_and(|seconds| seconds <= 0) {
        seconds.invalid("must be greater than 0", causes);
    }
    spec.not_negative(&["leaseTransitions"], causes);
    let strategy = spec.of("strategy");
    if strategy.is_set() {
        if strategy.text().contains('/') {
            strategy.fits(names::label_key, causes);
        } else if strategy.text() != "OldestEmulationVersion" {
            let all = ["OldestEmulationVersion".to_owned()];
            let field = format!("{}.strategy", strategy.path());
            causes.push(Cause::unsupported(field, strategy.value(), &all));
        }
    }
    let holder = spec.of("preferredHolder");
    if !holder.is_empty() && strategy.is_empty() {
        holder.forbidden("may only be specified if `strategy` is defined", causes);
    }
}

pub(super) fn disruption_budget(budget: &Spot<'_>, causes: &mut Causes) {
    let spec = budget.of("spec");
    let (least, most) = (spec.of("minAvailable"), spec.of("maxUnavailable"));
    let policy = spec.of("unhealthyPodEvictionPolicy");
    if least.is_set() && most.is_set() {
        // The real server shows its own type, which has other names.
        let shown = format!(
            "{{\"MinAvailable\":{},\"Selector\":{},\"MaxUnavailable\":{},\"UnhealthyPodEvictionPolicy\":{}}}",
            json(least.value()),
            json(spec.of("selector").value()),
            json(most.value()),
            json(policy.value()),
        );
        let why = "minAvailable and maxUnavailable cannot be both set";
        causes.push(Cause::invalid_as(spec.path(), &shown, why));
    }
    for share in [least, most] {
        count_or_percent(&share, causes);
        not_above_all(&share, causes);
    }
    if spec.of("selector").is_set() {
        labels::selector(&spec.of("selector"), causes);
    }
    policy.one_of_if_set(&["AlwaysAllow", "IfHealthyBudget"], causes);
}

pub(super) fn disruption_budget_status(budget: &Spot<'_>, causes: &mut Causes) {
    let counts = &[
        "disruptionsAllowed",
        "currentHealthy",
        "desiredHealthy",
        "expectedPods",
    ];
    conditions::conditions(&budget.of("status.conditions"), causes);
    budget.of("status").not_negative(counts, causes);
}

pub(super) fn priority_class(class: &Spot<'_>, causes: &mut Causes) {
    let (name, value) = (class.of("metadata.name"), class.of("value"));
    if name.text().starts_with("system-") {
        if let Err(why) = of_system(name.text(), value.number(), class) {
            let why = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {why}"
            );
            name.forbidden(&why, causes);
        }
    } else if value.number().is_some_and(|value| value > HIGHEST) {
        let why = format!("maximum allowed value of a user defined priority is {HIGHEST}");
        value.forbidden(&why, causes);
    }
    class.of("preemptionPolicy").one_of_if_set(POLICIES, causes);
}

fn of_system(name: &str, value: Option<i64>, class: &Spot<'_>) -> Result<(), String> {
    let known = match name {
        "system-node-critical" => 2_000_001_000,
        "system-cluster-critical" => 2_000_000_000,
        _ => return Err(format!("{name} is not a known system priority class")),
    };
    if value != Some(known) {
        return Err(format!("value of {name} PriorityClass must be {known}"));
    }
    if class.of("globalDefault").is_true() {
        return Err(format!(
            "globalDefault of {name} PriorityClass must be false"
        ));
    }
    Ok(())
}

pub(super) fn priority_class_update(new: &Spot<'_>, old: &Spot<'_>, causes: &mut Causes) {
    if new.of("value").value() != old.of("value").value() {
        new.of("value")
            .forbidden("may not be changed in an update.", causes);
    }
    new.fixed(old, &["preemptionPolicy"], causes);
}

pub(super) fn storage_class(class: &Spot<'_>, causes: &mut Causes) {
    let provisioner = class.of("provisioner");
    let lower = |text: &str| names::label_key(&text.to_lowercase());
    provisioner.named(lower, causes);
    let policies = &["Delete", "Retain"];
    class.of("reclaimPolicy").one_of_if_set(policies, causes);
    let modes = &["Immediate", "WaitForFirstConsumer"];
    class.of("volumeBindingMode").one_of(modes, causes);
}

pub(super) fn storage_class_update(new: &Spot<'_>, old: &Spot<'_>, causes: &mut Causes) {
    storage_class(new, causes);
    new.fixed(old, CLASS, causes);
}
