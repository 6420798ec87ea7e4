//! What is wrong with when a container starts again.

use std::collections::BTreeSet;

use crate::builtin::validate::spot::{Causes, Spot};
use crate::status::Cause;

const POLICIES: &[&str] = &["Always", "Never", "OnFailure"];
const ACTIONS: &[&str] = &["Restart", "RestartAllContainers"];
const OPERATORS: &[&str] = &["In", "NotIn"];
const RESIZED: &[&str] = &["cpu", "memory"];
const RESIZES: &[&str] = &["NotRequired", "RestartContainer"];
const NEEDS_POLICY: &str = "must specify restartPolicy when restart rules are used";
const MOST_RULES: usize = 20;
const MOST_CODES: usize = 255;

/// Judges the policy of a container and its rules (`validateContainerRestartPolicy`).
pub(super) fn policy(container: &Spot<'_>, causes: &mut Causes) {
    let (policy, rules) = (
        container.of("restartPolicy"),
        container.of("restartPolicyRules"),
    );
    if !policy.is_set() && !rules.is_empty() {
        policy.required(NEEDS_POLICY, causes);
    }
    policy.one_of_if_set(POLICIES, causes);
    if rules.len() > MOST_RULES {
        causes.push(Cause::too_many(
            rules.path(),
            rules.len(),
            MOST_RULES as u64,
        ));
    }
    for rule in rules.items() {
        let (action, codes) = (rule.of("action"), rule.of("exitCodes"));
        if !ACTIONS.contains(&action.text()) {
            action.unsupported(ACTIONS, causes);
        }
        if !codes.is_set() {
            codes.required("must be specified", causes);
            continue;
        }
        let (operator, values) = (codes.of("operator"), codes.of("values"));
        if !OPERATORS.contains(&operator.text()) {
            operator.unsupported(OPERATORS, causes);
        }
        if values.len() > MOST_CODES {
            causes.push(Cause::too_many(
                values.path(),
                values.len(),
                MOST_CODES as u64,
            ));
        }
    }
}

/// The same for a container that comes first, whose rules need a policy (`validateInitContainerRestartPolicy`).
pub(super) fn first_policy(container: &Spot<'_>, causes: &mut Causes) {
    let (policy, rules) = (
        container.of("restartPolicy"),
        container.of("restartPolicyRules"),
    );
    if policy.is_set() {
        self::policy(container, causes);
    } else if !rules.is_empty() {
        policy.required(NEEDS_POLICY, causes);
    }
}

/// Judges what happens to a container that is resized, in a pod with this spec (`validateResizePolicy`).
pub(super) fn resize(policies: &Spot<'_>, spec: &Spot<'_>, causes: &mut Causes) {
    let never = spec.of("restartPolicy").text() == "Never";
    let mut seen = BTreeSet::new();
    for policy in policies.items() {
        let (name, how) = (policy.of("resourceName"), policy.of("restartPolicy"));
        if !seen.insert(name.text().to_owned()) {
            causes.push(Cause::duplicate(policy.path(), name.value()));
        }
        for (text, allowed) in [(&name, RESIZED), (&how, RESIZES)] {
            if text.is_empty() {
                policies.required("", causes);
            } else if !allowed.contains(&text.text()) {
                let all: Vec<String> = allowed.iter().map(|text| (*text).to_owned()).collect();
                causes.push(Cause::unsupported(policies.path(), text.value(), &all));
            }
        }
        if never && how.text() != "NotRequired" {
            let why = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            causes.push(Cause::invalid(policies.path(), &how.text().into(), why));
        }
    }
}

/// The resize policies of a container that ends before the others start.
pub(super) fn first_resize(policies: &Spot<'_>, causes: &mut Causes) {
    for policy in policies.items() {
        let how = policy.of("restartPolicy");
        if how.text() == "RestartContainer" {
            let why = "must not be set to 'RestartContainer' for non-sidecar initContainers";
            how.invalid(why, causes);
        }
    }
}
