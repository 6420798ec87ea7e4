//! ValidatingAdmissionPolicies: what they decide, and what becomes of it
//! (apiserver `pkg/admission/plugin/policy/validating/{dispatcher,validator}.go`).

use http::StatusCode;
use kube_cel::cel::Value as Cel;
use serde_json::Value;

use super::attributes::Admission;
use super::invocation::{self, Invocation};
use super::matching;
use crate::policy::authorizer;
use crate::policy::cel::{self, Failure, Frame, Program};
use crate::policy::definition::{Binding, Policy, Validation};
use crate::rbac::attributes::Objects;
use crate::registry::Resource;
use crate::schema::rules::Budget;
use crate::status::{Cause, Refusal};

const POLICIES: &str = "validatingadmissionpolicies";
const BINDINGS: &str = "validatingadmissionpolicybindings";
/// A longer message is not used.
const LONGEST_MESSAGE: usize = 5 * 1024;

/// A no.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Denial {
    message: String,
    /// Empty for what could not be asked.
    reason: String,
}

impl Denial {
    fn of(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            reason: String::new(),
        }
    }
}

/// What a policy says of a request with one parameter.
#[derive(Debug, Default)]
struct Verdict {
    /// What its validations deny: bindings say what becomes of it.
    denials: Vec<Denial>,
    /// What fails in audit annotations: it denies the request whatever bindings say.
    broken: Vec<Denial>,
}

impl Verdict {
    /// That of a policy that cannot be asked.
    fn failed(policy: &Policy, why: String) -> Self {
        let mut verdict = Self::default();
        if policy.fails {
            verdict.denials.push(Denial::of(why));
        }
        verdict
    }
}

/// Asks all policies.
///
/// # Errors
/// The refusal of the first that denies the request.
pub(super) fn validate(admission: &Admission<'_>) -> Result<(), Refusal> {
    let server = admission.call.state;
    let hooks = server.policies().hooks(server.store(), POLICIES, BINDINGS);
    let mut denied = Vec::new();
    for (policy, bindings) in &hooks {
        for invocation in invocation::of(policy, bindings, admission) {
            match invocation {
                Ok(invocation) => denied.extend(ask(&invocation, admission)),
                Err(wrong) if policy.fails => {
                    let denial = Denial::of(wrong.why);
                    denied.push((denied_by(policy, wrong.binding, &denial), denial));
                }
                Err(_) => {}
            }
        }
    }
    match denied.into_iter().next() {
        Some((text, denial)) => Err(refusal(admission, &text, &denial)),
        None => Ok(()),
    }
}

/// Asks a policy; answers what it denies, with whole messages.
fn ask(invocation: &Invocation<'_>, admission: &Admission<'_>) -> Vec<(String, Denial)> {
    let (policy, binding) = (invocation.policy, invocation.binding);
    let verdict = evaluate(policy, admission, &invocation.resource, &invocation.param);
    enforce(policy, binding, verdict, admission)
}

/// What a binding does about what its policy says: warns, or denies.
fn enforce(
    policy: &Policy,
    binding: &Binding,
    verdict: Verdict,
    admission: &Admission<'_>,
) -> Vec<(String, Denial)> {
    let mut denied = Vec::new();
    for denial in verdict.denials {
        for action in &binding.actions {
            match action.as_str() {
                "Deny" => denied.push((denied_by(policy, Some(binding), &denial), denial.clone())),
                "Warn" => admission.call.warnings.add(format!(
                    "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {}",
                    policy.name, binding.name, denial.message
                )),
                _ => {}
            }
        }
    }
    for denial in verdict.broken {
        denied.push((denied_by(policy, Some(binding), &denial), denial));
    }
    denied
}

fn denied_by(policy: &Policy, binding: Option<&Binding>, denial: &Denial) -> String {
    let (policy, message) = (&policy.name, &denial.message);
    match binding {
        Some(binding) => format!(
            "ValidatingAdmissionPolicy '{policy}' with binding '{}' denied request: {message}",
            binding.name
        ),
        None => format!("ValidatingAdmissionPolicy '{policy}' denied request: {message}"),
    }
}

fn refusal(admission: &Admission<'_>, text: &str, denial: &Denial) -> Refusal {
    let name = admission.shown_name();
    let mut refusal = Refusal::forbidden(admission.call.named(), name, text);
    (refusal.code, refusal.reason) = match denial.reason.as_str() {
        "Forbidden" => (StatusCode::FORBIDDEN, "Forbidden"),
        "Unauthorized" => (StatusCode::UNAUTHORIZED, "Unauthorized"),
        "RequestEntityTooLarge" => (StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge"),
        _ => (StatusCode::UNPROCESSABLE_ENTITY, "Invalid"),
    };
    refusal.details.causes.push(Cause {
        reason: "",
        message: text.to_owned(),
        field: String::new(),
    });
    refusal
}

/// What expressions see of a request.
pub(super) fn frames(
    policy: &Policy,
    admission: &Admission<'_>,
    resource: &Resource,
    param: &Value,
) -> Result<Frames, String> {
    let versioned = |object: Option<&Value>| match object {
        Some(object) => cel::value(&admission.versioned(object, resource)),
        None => Cel::Null,
    };
    let own = admission.kind(admission.call.resource);
    let is_namespace = own.group.is_empty() && own.version == "v1" && own.kind == "Namespace";
    let namespace = match admission.namespace() {
        "" => Cel::Null,
        _ if is_namespace => Cel::Null,
        name => cel::value(&namespace_object(&matching::namespace(admission, name)?)),
    };
    let objects = [
        ("object", versioned(admission.object)),
        ("oldObject", versioned(admission.old)),
        ("params", cel::value(param)),
    ];
    let call = admission.call;
    let (authorizer, store) = (call.state.authorizer(), call.state.store());
    let objects_of_request = Objects {
        group: call.resource.group.clone(),
        plural: call.resource.plural.clone(),
        subresource: admission.subresource().to_owned(),
        namespace: admission.namespace().to_owned(),
        name: admission.name().to_owned(),
    };
    let rights = authorizer::values(authorizer, store, &call.request.user, objects_of_request);
    let with = |namespace: Cel, shown: &Resource| {
        let mut names = objects.to_vec();
        names.push(("request", cel::value(&admission.request(resource, shown))));
        names.push(("namespaceObject", namespace));
        names.extend(rights.clone());
        Frame::new(names, &policy.variables)
    };
    Ok(Frames {
        conditions: with(Cel::Null, admission.call.resource),
        all: with(namespace, resource),
    })
}

/// What expressions of different kinds see.
#[derive(Debug)]
pub(super) struct Frames {
    /// `matchConditions`: they do not see the namespace, and `request.resource` is that of the path.
    pub(super) conditions: Frame,
    /// All others.
    pub(super) all: Frame,
}

/// What is shown of a namespace (apiserver `CreateNamespaceObject`).
fn namespace_object(namespace: &Value) -> Value {
    let mut shown = namespace.clone();
    if let Value::Object(fields) = &mut shown {
        fields.retain(|name, _| matches!(name.as_str(), "metadata" | "spec" | "status"));
        if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
            metadata
                .retain(|name, _| !matches!(name.as_str(), "managedFields" | "ownerReferences"));
        }
    }
    shown
}

/// Whether the conditions of a policy hold.
///
/// # Errors
/// If one cannot be asked, and none says no.
pub(super) fn conditions_hold(conditions: &[Program], frame: &Frame) -> Result<bool, String> {
    let mut budget = Budget::of_conditions();
    let mut errors = Vec::new();
    let mut holds = true;
    for condition in conditions {
        match condition.run(frame, &mut budget) {
            Ok(Cel::Bool(false)) => holds = false,
            Ok(_) => {}
            // Go's aggregate tells equal errors once.
            Err(Failure::Wrong(why)) if errors.contains(&why) => {}
            Err(Failure::Wrong(why)) => errors.push(why),
            Err(Failure::Overspent(why)) => return Err(why),
        }
    }
    match errors.as_slice() {
        _ if !holds => Ok(false),
        [] => Ok(true),
        [one] => Err(one.clone()),
        all => Err(format!("[{}]", all.join(", "))),
    }
}

fn evaluate(
    policy: &Policy,
    admission: &Admission<'_>,
    resource: &Resource,
    param: &Value,
) -> Verdict {
    let frames = match frames(policy, admission, resource, param) {
        Ok(frames) => frames,
        Err(why) => return Verdict::failed(policy, why),
    };
    match conditions_hold(&policy.conditions, &frames.conditions) {
        Ok(true) => {}
        Ok(false) => return Verdict::default(),
        Err(why) => return Verdict::failed(policy, why),
    }
    judge(policy, &frames.all).unwrap_or_else(|why| Verdict::failed(policy, why))
}

/// What validations and audit annotations say; an error if they cost too much.
fn judge(policy: &Policy, frame: &Frame) -> Result<Verdict, String> {
    let mut verdict = Verdict::default();
    let failed = |denials: &mut Vec<Denial>, why: String| {
        if policy.fails {
            denials.push(Denial::of(why));
        }
    };
    let mut budget = Budget::of_rules();
    let programs = policy.validations.iter().map(|one| Some(&one.program));
    let results = all(programs, frame, &mut budget)?;
    let messages = policy
        .validations
        .iter()
        .map(|one| one.message_program.as_ref());
    let messages = all(messages, &frame.again(), &mut budget);
    for (index, (validation, result)) in policy.validations.iter().zip(results).enumerate() {
        match (result, &messages) {
            (Some(Err(why)), _) => failed(&mut verdict.denials, why),
            (_, Err(why)) => {
                failed(
                    &mut verdict.denials,
                    format!("failed messageExpression: {why}"),
                );
            }
            (Some(Ok(Cel::Bool(true))) | None, _) => {}
            (Some(Ok(_)), Ok(messages)) => {
                let said = messages.get(index).and_then(Option::as_ref);
                verdict.denials.push(denial(validation, said));
            }
        }
    }
    let annotations = policy.annotations.iter().map(Some);
    let annotations = all(annotations, &frame.again(), &mut Budget::of_rules())?;
    for why in annotations.into_iter().flatten().filter_map(Result::err) {
        failed(&mut verdict.broken, why);
    }
    Ok(verdict)
}

/// What expressions come to, one after the other.
///
/// # Errors
/// If they cost too much together.
fn all<'a>(
    programs: impl Iterator<Item = Option<&'a Program>>,
    frame: &Frame,
    budget: &mut Budget,
) -> Result<Vec<Option<Result<Cel, String>>>, String> {
    let mut results = Vec::new();
    for program in programs {
        results.push(match program.map(|program| program.run(frame, budget)) {
            Some(Err(Failure::Overspent(why))) => return Err(why),
            Some(result) => Some(result.map_err(Failure::message)),
            None => None,
        });
    }
    Ok(results)
}

/// What a validation that does not hold says; `said` is what its own expression for that comes to.
fn denial(validation: &Validation, said: Option<&Result<Cel, String>>) -> Denial {
    let said = match said {
        Some(Ok(Cel::String(text))) => Some(text.trim().to_owned()),
        _ => None,
    };
    let usable =
        |text: &String| !text.is_empty() && text.len() <= LONGEST_MESSAGE && !text.contains('\n');
    let message = match said.filter(usable) {
        Some(text) => text,
        None if validation.message.is_empty() => {
            format!("failed expression: {}", validation.program.text.trim())
        }
        None => validation.message.clone(),
    };
    let reason = match validation.reason.as_str() {
        "" => "Invalid",
        said => said,
    };
    Denial {
        message,
        reason: reason.to_owned(),
    }
}
