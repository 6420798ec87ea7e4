//! What is wrong with admission policies and their bindings
//! (kubernetes `pkg/apis/admissionregistration/validation/validation.go`).

use std::collections::BTreeSet;

use super::admission::{self, FAILURE_POLICIES, REINVOCATIONS, is_unchanged};
use super::conditions;
use super::spot::{Causes, Spot};
use crate::json_path::JsonPath;
use crate::names;
use crate::policy::check::{ExpectedType, PolicyVariables};
use crate::schema::rules::RESERVED;
use crate::status::Cause;

const ACTIONS: &[&str] = &["Audit", "Deny", "Warn"];
const REASONS: &[&str] = &["Forbidden", "Invalid", "RequestEntityTooLarge"];
const PATCH_TYPES: &[&str] = &["ApplyConfiguration", "JSONPatch"];
const MUTABLE: &[&str] = &["*", "CONNECT", "CREATE", "UPDATE"];
const MOST_ANNOTATIONS: usize = 20;
const LONGEST_VALUE: usize = 5 * 1024;
const NO_EXPRESSION: &str = "expression is not specified";

/// A ValidatingAdmissionPolicy.
pub(super) fn validating(policy: &Spot<'_>, old: Option<&Spot<'_>>, causes: &mut Causes) {
    let spec = policy.of("spec");
    let mut known = common(&spec, old, false, causes);
    if !spec.of("variables").is_empty() {
        known = known.with_variables();
    }
    variables(&spec, &mut known, causes);
    let (validations, annotations) = (spec.of("validations"), spec.of("auditAnnotations"));
    if validations.is_empty() && annotations.is_empty() {
        let why = "validations or auditAnnotations must contain at least one item";
        validations.required(why, causes);
        annotations.required(why, causes);
        return;
    }
    for one in validations.items() {
        validation(&one, &known, causes);
    }
    if annotations.len() > MOST_ANNOTATIONS {
        let why = format!("must not have more than {MOST_ANNOTATIONS} auditAnnotations");
        annotations.invalid(&why, causes);
    }
    let name = policy.of("metadata.name");
    let mut seen = BTreeSet::new();
    for one in annotations.items() {
        annotation(&one, name.text(), &known, causes);
        let key = one.of("key");
        if !seen.insert(key.text().to_owned()) {
            key.duplicate(causes);
        }
    }
}

/// A MutatingAdmissionPolicy.
pub(super) fn mutating(policy: &Spot<'_>, old: Option<&Spot<'_>>, causes: &mut Causes) {
    let spec = policy.of("spec");
    let mut known = common(&spec, old, true, causes).with_variables();
    variables(&spec, &mut known, causes);
    let mutations = spec.of("mutations");
    if mutations.is_empty() {
        mutations.required("mutations must contain at least one item", causes);
    }
    for one in mutations.items() {
        mutation(&one, &known, causes);
    }
    spec.of("reinvocationPolicy").one_of(REINVOCATIONS, causes);
}

/// A binding of a policy; `mutates` says of which kind.
pub(super) fn binding(binding: &Spot<'_>, mutates: bool, causes: &mut Causes) {
    let spec = binding.of("spec");
    spec.of("policyName").named(names::subdomain, causes);
    admission::param_ref(&spec.of("paramRef"), causes);
    let resources = spec.of("matchResources");
    admission::match_resources(&resources, causes);
    if mutates {
        mutable(&resources, causes);
    } else {
        actions(&spec.of("validationActions"), causes);
    }
}

/// The status of a ValidatingAdmissionPolicy.
pub(super) fn status(policy: &Spot<'_>, causes: &mut Causes) {
    let warnings = policy.of("status.typeChecking");
    for warning in warnings.of("expressionWarnings").items() {
        let text = warning.of("warning");
        if text.is_empty() {
            text.required("", causes);
        }
        let place = warning.of("fieldRef");
        let path = place.text().trim();
        if path.is_empty() {
            place.required("", causes);
        } else if let Err(why) = JsonPath::parse(path) {
            let why = format!("invalid JSONPath: {why}");
            causes.push(Cause::invalid(place.path(), &path.into(), &why));
        }
    }
    conditions::conditions(&policy.of("status.conditions"), causes);
}

/// What both kinds of policies have; answers the names that expressions know.
fn common(
    spec: &Spot<'_>,
    old: Option<&Spot<'_>>,
    mutates: bool,
    causes: &mut Causes,
) -> PolicyVariables {
    spec.of("failurePolicy")
        .set_and_one_of(FAILURE_POLICIES, causes);
    let kind = spec.of("paramKind");
    if kind.is_set() {
        param_kind(&kind, causes);
    }
    let constraints = spec.of("matchConstraints");
    if constraints.is_set() {
        admission::match_resources(&constraints, causes);
        let rules = constraints.of("resourceRules");
        if rules.is_empty() {
            rules.required("", causes);
        }
        if mutates {
            mutable(&constraints, causes);
        }
    } else {
        constraints.required("", causes);
    }
    let held = old.map(|old| old.of("spec"));
    let held = held.as_ref();
    if !is_unchanged(spec, held, "paramKind") || !is_unchanged(spec, held, "matchConditions") {
        admission::conditions(&spec.of("matchConditions"), kind.is_set(), causes);
    }
    PolicyVariables::new(kind.is_set())
}

fn param_kind(param: &Spot<'_>, causes: &mut Causes) {
    let (version, kind) = (param.of("apiVersion"), param.of("kind"));
    let wrong = |text: &str, problems: &[String]| {
        let why = problems.join(",");
        Cause::invalid(version.path(), &text.into(), &why)
    };
    let said = version.text();
    match said.matches('/').count() {
        _ if said.is_empty() => version.required("", causes),
        0 | 1 => {
            let (group, version) = said.split_once('/').unwrap_or(("", said));
            let problems = names::subdomain(group);
            if !group.is_empty() && !problems.is_empty() {
                causes.push(wrong(group, &problems));
            }
            let problems = names::label_1035(version);
            if version.is_empty() {
                causes.push(wrong(said, &["version must be specified".to_owned()]));
            } else if !problems.is_empty() {
                causes.push(wrong(version, &problems));
            }
        }
        _ => version.invalid(&format!("unexpected GroupVersion string: {said}"), causes),
    }
    let problems = names::label_1035(&kind.text().to_lowercase());
    if kind.is_empty() {
        kind.required("", causes);
    } else if !problems.is_empty() {
        let why = format!(
            "may have mixed case, but should otherwise match: {}",
            problems.join(",")
        );
        kind.invalid(&why, causes);
    }
}

fn variables(spec: &Spot<'_>, known: &mut PolicyVariables, causes: &mut Causes) {
    for variable in spec.of("variables").items() {
        let (name, expression) = (variable.of("name"), variable.of("expression"));
        if name.text().trim().is_empty() {
            name.required("name is not specified", causes);
        } else if !is_identifier(name.text()) {
            name.invalid("must be a valid CEL identifier", causes);
        }
        if expression.text().trim().is_empty() {
            expression.required(NO_EXPRESSION, causes);
        } else if let Some(why) = known.declare(name.text(), expression.text()) {
            expression.invalid(&why, causes);
        }
    }
}

fn is_identifier(name: &str) -> bool {
    let fine = |c: char| c == '_' || c.is_ascii_alphanumeric();
    name.chars().all(fine)
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && !RESERVED.contains(&name)
}

fn validation(one: &Spot<'_>, known: &PolicyVariables, causes: &mut Causes) {
    let (expression, message) = (one.of("expression"), one.of("message"));
    judge(
        &expression,
        NO_EXPRESSION,
        known,
        ExpectedType::Bool,
        causes,
    );
    let said = one.of("messageExpression");
    let blank = "must be non-empty if specified";
    if !said.text().is_empty() && said.text().trim().is_empty() {
        said.invalid(blank, causes);
    } else if !said.text().is_empty() {
        let known = known.without_rights();
        judge(&said, "", &known, ExpectedType::Text, causes);
    }
    let text = message.text();
    if !text.is_empty() && text.trim().is_empty() {
        message.invalid(blank, causes);
    } else if text.trim().contains(['\n', '\r']) {
        message.invalid("must not contain line breaks", causes);
    }
    one.of("reason").one_of_if_set(REASONS, causes);
}

fn annotation(one: &Spot<'_>, policy: &str, known: &PolicyVariables, causes: &mut Causes) {
    let (key, expression) = (one.of("key"), one.of("valueExpression"));
    if policy.is_empty() {
        key.invalid("requires metadata.name be non-empty", causes);
    } else {
        let whole = format!("{policy}/{}", key.text());
        for why in names::label_key(&whole) {
            causes.push(Cause::invalid(key.path(), &whole.as_str().into(), &why));
        }
    }
    let text = expression.text().trim();
    if text.is_empty() {
        expression.required("valueExpression is not specified", causes);
    } else if text.len() > LONGEST_VALUE {
        let why = format!("must not exceed {LONGEST_VALUE} bytes in length");
        expression.required(&why, causes);
    } else if let Some(why) = known.fault(text, ExpectedType::TextOrNull) {
        expression.invalid(&why, causes);
    }
}

fn mutation(one: &Spot<'_>, known: &PolicyVariables, causes: &mut Causes) {
    let kind = one.of("patchType");
    let (apply, patch) = (one.of("applyConfiguration"), one.of("jsonPatch"));
    let (own, other, shown, wanted) = match kind.text() {
        "JSONPatch" => (patch, apply, "{applyConfiguration}", ExpectedType::Patches),
        "ApplyConfiguration" => (apply, patch, "{jsonPatch}", ExpectedType::Object),
        _ => return kind.one_of(PATCH_TYPES, causes),
    };
    let name = kind.text();
    if own.is_set() {
        let expression = own.of("expression");
        match expression.text().trim() {
            "" => expression.required("", causes),
            text => {
                if let Some(why) = known.fault(text, wanted) {
                    causes.push(Cause::invalid(expression.path(), &text.into(), &why));
                }
            }
        }
    } else {
        let why = format!("must be specified when patchType is {name}");
        own.required(&why, causes);
    }
    if other.is_set() {
        let why = format!("must not be specified when patchType is {name}");
        causes.push(Cause::invalid(other.path(), &shown.into(), &why));
    }
}

/// An expression that must be there, if `absent` says what is wrong without.
fn judge(
    place: &Spot<'_>,
    absent: &str,
    known: &PolicyVariables,
    wanted: ExpectedType,
    causes: &mut Causes,
) {
    if place.text().trim().is_empty() {
        place.required(absent, causes);
    } else if let Some(why) = known.fault(place.text(), wanted) {
        place.invalid(&why, causes);
    }
}

/// Only what is created or changed can be mutated.
fn mutable(resources: &Spot<'_>, causes: &mut Causes) {
    let path = format!("{}.resourceRules.operations", resources.path());
    let allowed: Vec<String> = MUTABLE.iter().map(|text| (*text).to_owned()).collect();
    for rule in resources.of("resourceRules").items() {
        for operation in rule.of("operations").items() {
            if !MUTABLE.contains(&operation.text()) {
                let cause = Cause::unsupported(path.as_str(), operation.value(), &allowed);
                causes.push(cause);
            }
        }
    }
}

fn actions(actions: &Spot<'_>, causes: &mut Causes) {
    let mut seen = BTreeSet::new();
    for action in actions.items() {
        if !ACTIONS.contains(&action.text()) {
            action.unsupported(ACTIONS, causes);
        }
        if !seen.insert(action.text().to_owned()) {
            action.duplicate(causes);
        }
    }
    let has = |wanted: &str| seen.contains(wanted);
    if has("Deny") && has("Warn") {
        let why = "must not contain both Deny and Warn (repeating the same validation failure \
                   information in the API response and headers serves no purpose)";
        actions.invalid(why, causes);
    }
    if seen.is_empty() {
        actions.required("at least one validation action is required", causes);
    }
}
