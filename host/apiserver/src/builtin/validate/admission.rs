//! What webhook configurations and admission policies have in common: rules, selectors and conditions
//! (kubernetes `pkg/apis/admissionregistration/validation/validation.go`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::labels;
use super::spot::{Causes, Spot};
use crate::names;
use crate::policy::check::{ExpectedType, PolicyVariables};
use crate::status::Cause;

pub(super) const FAILURE_POLICIES: &[&str] = &["Fail", "Ignore"];
pub(super) const MATCH_POLICIES: &[&str] = &["Equivalent", "Exact"];
pub(super) const REINVOCATIONS: &[&str] = &["IfNeeded", "Never"];
const OPERATIONS: &[&str] = &["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const SCOPES: &[&str] = &["*", "Cluster", "Namespaced"];
const MOST_CONDITIONS: usize = 64;

/// A `RuleWithOperations`.
pub(super) fn rule(rule: &Spot<'_>, causes: &mut Causes) {
    let operations = rule.of("operations");
    alone(&operations, "operations", causes);
    for operation in operations.items() {
        if !OPERATIONS.contains(&operation.text()) {
            operation.unsupported(OPERATIONS, causes);
        }
    }
    alone(&rule.of("apiGroups"), "API groups", causes);
    let versions = rule.of("apiVersions");
    alone(&versions, "API versions", causes);
    for version in versions.items() {
        if version.is_empty() {
            version.required("", causes);
        }
    }
    resources(&rule.of("resources"), causes);
    rule.of("scope").one_of_if_set(SCOPES, causes);
}

/// There must be something, and `*` alone if at all.
fn alone(list: &Spot<'_>, what: &str, causes: &mut Causes) {
    if list.is_empty() {
        list.required("", causes);
    }
    if list.len() > 1 && list.items().any(|item| item.text() == "*") {
        let why = format!("if '*' is present, must not specify other {what}");
        list.invalid(&why, causes);
    }
}

fn resources(resources: &Spot<'_>, causes: &mut Causes) {
    if resources.is_empty() {
        resources.required("", causes);
    }
    let (mut with_all_parts, mut parts_of_all) = (BTreeSet::new(), BTreeSet::new());
    let mut plain = false;
    for resource in resources.items() {
        let text = resource.text();
        if text.is_empty() {
            resource.required("", causes);
            continue;
        }
        let Some((of, part)) = text.split_once('/') else {
            plain = text != "*";
            continue;
        };
        if with_all_parts.contains(of) {
            let why = format!("if '{of}/*' is present, must not specify {text}");
            resource.invalid(&why, causes);
        }
        if parts_of_all.contains(part) {
            let why = format!("if '*/{part}' is present, must not specify {text}");
            resource.invalid(&why, causes);
        }
        if part == "*" {
            with_all_parts.insert(of.to_owned());
        }
        if of == "*" {
            parts_of_all.insert(part.to_owned());
        }
    }
    let has = |wanted: &str| resources.items().any(|item| item.text() == wanted);
    if resources.len() > 1 && has("*/*") {
        let why = "if '*/*' is present, must not specify other resources";
        resources.invalid(why, causes);
    }
    if has("*") && plain {
        let why = "if '*' is present, must not specify other resources without subresources";
        resources.invalid(why, causes);
    }
}

/// `MatchResources`, where there are some.
pub(super) fn match_resources(matched: &Spot<'_>, causes: &mut Causes) {
    if !matched.is_set() {
        return;
    }
    matched
        .of("matchPolicy")
        .set_and_one_of(MATCH_POLICIES, causes);
    for field in ["namespaceSelector", "objectSelector"] {
        let selector = matched.of(field);
        if selector.is_set() {
            labels::selector(&selector, causes);
        } else {
            selector.required("", causes);
        }
    }
    for field in ["resourceRules", "excludeResourceRules"] {
        for named in matched.of(field).items() {
            names(&named.of("resourceNames"), causes);
            rule(&named, causes);
        }
    }
}

fn names(all: &Spot<'_>, causes: &mut Causes) {
    let mut seen = BTreeSet::new();
    for name in all.items() {
        name.fits(names::path_segment, causes);
        if !seen.insert(name.text().to_owned()) {
            name.duplicate(causes);
        }
    }
}

/// `matchConditions`, unless they are as they were.
pub(super) fn conditions(conditions: &Spot<'_>, params: bool, causes: &mut Causes) {
    if conditions.len() > MOST_CONDITIONS {
        let (path, most) = (conditions.path(), MOST_CONDITIONS as u64);
        causes.push(Cause::too_many(path, conditions.len(), most));
    }
    let known = PolicyVariables::new(params);
    let mut seen = BTreeSet::new();
    for condition in conditions.items() {
        let (name, expression) = (condition.of("name"), condition.of("expression"));
        match expression.text().trim() {
            "" => expression.required("", causes),
            text => {
                if let Some(why) = known.fault(text, ExpectedType::Bool) {
                    causes.push(Cause::invalid(expression.path(), &text.into(), &why));
                }
            }
        }
        name.named(names::label_key, causes);
        if !name.is_empty() && !seen.insert(name.text().to_owned()) {
            name.duplicate(causes);
        }
    }
}

/// A `paramRef`, where there is one.
pub(super) fn param_ref(param: &Spot<'_>, causes: &mut Causes) {
    if !param.is_set() {
        return;
    }
    let (name, selector) = (param.of("name"), param.of("selector"));
    let why = "name and selector are mutually exclusive";
    let both = !name.is_empty() && selector.is_set();
    name.fits_if_set(names::path_segment, causes);
    if both {
        name.forbidden(why, causes);
    }
    if selector.is_set() {
        labels::selector(&selector, causes);
        if both {
            selector.forbidden(why, causes);
        }
    }
    if name.is_empty() && !selector.is_set() {
        param.required("one of name or selector must be specified", causes);
    }
    let action = param.of("parameterNotFoundAction");
    action.one_of(&["Deny", "Allow"], causes);
}

/// Whether a field is what it was.
pub(super) fn is_unchanged(new: &Spot<'_>, old: Option<&Spot<'_>>, field: &str) -> bool {
    let held = |spot: &Spot<'_>| -> Value { spot.of(field).value().clone() };
    old.is_some_and(|old| held(old) == held(new))
}
