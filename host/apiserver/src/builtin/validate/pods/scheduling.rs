//! What is wrong with where a pod may run: its affinity, spread and gates.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::builtin::validate::labels;
use crate::builtin::validate::spot::{Causes, Spot};
use crate::names;
use crate::status::Cause;

const ACTIONS: &[&str] = &["DoNotSchedule", "ScheduleAnyway"];
const POLICIES: &[&str] = &["Honor", "Ignore"];
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Judges where a pod may run.
pub(super) fn affinity(affinity: &Spot<'_>, causes: &mut Causes) {
    let nodes = affinity.of("nodeAffinity");
    let required = nodes.of(REQUIRED);
    if required.is_set() {
        let terms = required.of("nodeSelectorTerms");
        if terms.is_empty() {
            terms.required("must have at least one node selector term", causes);
        }
        terms
            .items()
            .for_each(|term| node_term(&term, true, causes));
    }
    for term in nodes.of(PREFERRED).items() {
        weight(&term.of("weight"), causes);
        node_term(&term.of("preference"), false, causes);
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let pods = affinity.of(kind);
        pods.of(REQUIRED)
            .items()
            .for_each(|term| pod_term(&term, causes));
        for term in pods.of(PREFERRED).items() {
            weight(&term.of("weight"), causes);
            pod_term(&term.of("podAffinityTerm"), causes);
        }
    }
}

fn weight(weight: &Spot<'_>, causes: &mut Causes) {
    let number = weight.number().unwrap_or(0);
    if !(1..=100).contains(&number) {
        let why = "must be in the range 1-100";
        causes.push(Cause::invalid(weight.path(), &number.into(), why));
    }
}

/// `ValidateNodeSelectorTerm`; the values of labels only count where the term must hold.
fn node_term(term: &Spot<'_>, is_strict: bool, causes: &mut Causes) {
    for requirement in term.of("matchExpressions").items() {
        let (operator, values) = (requirement.of("operator"), requirement.of("values"));
        match operator.text() {
            "In" | "NotIn" if values.is_empty() => {
                values.required(
                    "must be specified when `operator` is 'In' or 'NotIn'",
                    causes,
                );
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                values.forbidden(why, causes);
            }
            "Gt" | "Lt" if values.len() != 1 => {
                let why = "must be specified single value when `operator` is 'Lt' or 'Gt'";
                values.required(why, causes);
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
            _ => operator.invalid_text("not a valid selector operator", causes),
        }
        label(&requirement.of("key"), causes);
        for value in values.items().filter(|_| is_strict) {
            value.fits(names::label_value, causes);
        }
    }
    for requirement in term.of("matchFields").items() {
        let (operator, values) = (requirement.of("operator"), requirement.of("values"));
        match operator.text() {
            "In" | "NotIn" if values.len() != 1 => {
                let why = "must be only one value when `operator` is 'In' or 'NotIn' for node field \
                           selector";
                values.required(why, causes);
            }
            "In" | "NotIn" => {}
            _ => operator.invalid_text("not a valid selector operator", causes),
        }
        if requirement.of("key").text() == "metadata.name" {
            values
                .items()
                .for_each(|value| value.fits(names::subdomain, causes));
        } else {
            requirement
                .of("key")
                .invalid_text("not a valid field selector key", causes);
        }
    }
}

fn label(key: &Spot<'_>, causes: &mut Causes) {
    for why in names::label_key(key.text()) {
        key.invalid_text(&why, causes);
    }
}

/// `validatePodAffinityTerm`.
fn pod_term(term: &Spot<'_>, causes: &mut Causes) {
    for selector in ["labelSelector", "namespaceSelector"] {
        if term.of(selector).is_set() {
            labels::selector(&term.of(selector), causes);
        }
    }
    let at = term.of("namespace");
    for namespace in term.of("namespaces").items() {
        for why in names::label(namespace.text()) {
            causes.push(Cause::invalid(at.path(), namespace.value(), &why));
        }
    }
    keys(term, causes);
    let key = term.of("topologyKey");
    if key.is_empty() {
        key.required("can not be empty", causes);
    }
    label(&key, causes);
}

/// `ValidateMatchLabelKeysAndMismatchLabelKeys`.
fn keys(term: &Spot<'_>, causes: &mut Causes) {
    let (matched, mismatched) = (term.of("matchLabelKeys"), term.of("mismatchLabelKeys"));
    let selector = term.of("labelSelector");
    for list in [&matched, &mismatched] {
        if !list.is_empty() && !selector.is_set() {
            let why = "must not be specified when labelSelector is not set";
            list.forbidden(why, causes);
        } else {
            list.items().for_each(|key| label(&key, causes));
        }
    }
    let selected = selector.of("matchLabels");
    let mut seen: Vec<String> = selected.entries().map(|(key, _)| key.to_owned()).collect();
    for expression in selector.of("matchExpressions").items() {
        let key = expression.of("key");
        let index = matched.items().position(|held| held.value() == key.value());
        if let (Some(index), true) = (index, seen.iter().any(|held| held == key.text())) {
            let why = "exists in both matchLabelKeys and labelSelector";
            causes.push(Cause::invalid(
                format!("{}[{index}]", term.path()),
                key.value(),
                why,
            ));
        }
        seen.push(key.text().to_owned());
    }
    for key in matched.items() {
        if mismatched.items().any(|other| other.value() == key.value()) {
            key.invalid(
                "exists in both matchLabelKeys and mismatchLabelKeys",
                causes,
            );
        }
    }
}

/// `validateTopologySpreadConstraints`.
pub(super) fn spread(constraints: &Spot<'_>, causes: &mut Causes) {
    let kinds: Vec<(String, String)> = constraints.items().map(|found| kind(&found)).collect();
    for (index, constraint) in constraints.items().enumerate() {
        constraint.of("maxSkew").positive(causes);
        let (key, action) = (
            constraint.of("topologyKey"),
            constraint.of("whenUnsatisfiable"),
        );
        if key.is_empty() {
            key.required("can not be empty", causes);
        }
        if !ACTIONS.contains(&action.text()) {
            let all: Vec<String> = ACTIONS.iter().map(|text| (*text).to_owned()).collect();
            causes.push(Cause::unsupported(
                action.path(),
                &action.text().into(),
                &all,
            ));
        }
        let own = kind(&constraint);
        if kinds.iter().skip(index + 1).any(|other| *other == own) {
            let shown = Value::from(format!("{{{}, {}}}", own.0, own.1));
            let at = constraint.of("{topologyKey, whenUnsatisfiable}");
            causes.push(Cause::duplicate(at.path(), &shown));
        }
        let domains = constraint.of("minDomains");
        if domains.is_set() {
            domains.positive(causes);
            if action.text() != "DoNotSchedule" {
                let why = format!(
                    "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {}",
                    action.text()
                );
                domains.invalid(&why, causes);
            }
        }
        for policy in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            constraint.of(policy).one_of_if_set(POLICIES, causes);
        }
        keys(&constraint, causes);
        if constraint.of("labelSelector").is_set() {
            labels::selector(&constraint.of("labelSelector"), causes);
        }
    }
}

fn kind(constraint: &Spot<'_>) -> (String, String) {
    let text = |field: &str| constraint.of(field).text().to_owned();
    (text("topologyKey"), text("whenUnsatisfiable"))
}

/// What holds a pod back, and what it waits for to be ready.
pub(super) fn gates(spec: &Spot<'_>, causes: &mut Causes) {
    for gate in spec.of("readinessGates").items() {
        label(&gate.of("conditionType"), causes);
    }
    let mut seen = BTreeSet::new();
    for gate in spec.of("schedulingGates").items() {
        let name = gate.of("name").text();
        for why in names::label_key(name) {
            causes.push(Cause::invalid(gate.path(), &name.into(), &why));
        }
        if !seen.insert(name.to_owned()) {
            causes.push(Cause::duplicate(gate.path(), &name.into()));
        }
    }
}
