//! MutatingAdmissionPolicies: what they make of an object
//! (apiserver `pkg/admission/plugin/policy/mutating`).
//!
//! - Nobody owns the fields that a policy sets.
//! - A policy with `reinvocationPolicy: IfNeeded` is asked once more where any policy has mutated.

use std::sync::Arc;

use kube_cel::cel::Value as Cel;
use serde_json::Value;

use super::admission::Admission;
use super::cel::{self, Failure};
use super::definition::{Binding, Mutation, Patch, Policy};
use super::validating::{conditions_hold, frames};
use super::{matching, params};
use crate::fields;
use crate::patch;
use crate::registry::Resource;
use crate::schema::rules::Budget;
use crate::status::{Cause, Refusal};

const POLICIES: &str = "mutatingadmissionpolicies";
const BINDINGS: &str = "mutatingadmissionpolicybindings";

/// What is wrong with a policy, and with which binding.
struct Broken {
    text: String,
    /// `Invalid` where the policy was asked; empty where it could not be.
    reason: &'static str,
}

/// Has all policies mutate the object of a request; `complete` puts in defaults.
///
/// # Errors
/// 403 if a policy that is to fail cannot be asked.
pub(super) fn mutate(
    admission: &Admission<'_>,
    object: &mut Value,
    complete: impl Fn(Value) -> Result<Value, Refusal>,
) -> Result<(), Refusal> {
    let server = admission.call.server;
    let hooks = server.policies().hooks(server.store(), POLICIES, BINDINGS);
    let mut all_broken = Vec::new();
    let mut mutated = false;
    for again in [false, true] {
        if again && !mutated {
            break;
        }
        for (policy, bindings) in &hooks {
            if again && !policy.again {
                continue;
            }
            for binding in bindings {
                let mut broken = Vec::new();
                let asked = Asked {
                    policy,
                    binding,
                    complete: &complete,
                };
                mutated |= asked.mutate(admission, object, &mut broken)?;
                if policy.fails && !again {
                    all_broken.extend(broken);
                }
            }
        }
    }
    if all_broken.is_empty() {
        return Ok(());
    }
    Err(refusal(admission, object, &all_broken))
}

fn refusal(admission: &Admission<'_>, object: &Value, broken: &[Broken]) -> Refusal {
    let admission = Admission {
        object: Some(object),
        ..admission.clone()
    };
    let mut refusal = Refusal::forbidden(admission.call.named(), admission.shown_name(), "");
    if let Some(first) = broken.first() {
        refusal.message.clone_from(&first.text);
        if !first.reason.is_empty() {
            refusal.reason = first.reason;
        }
    }
    refusal.details.causes = broken
        .iter()
        .map(|broken| Cause {
            reason: "",
            message: broken.text.clone(),
            field: String::new(),
        })
        .collect();
    refusal
}

/// The resource that a request is taken for, and the parameters.
type Found = (Arc<Resource>, Vec<Value>);

/// A policy with one of its bindings.
struct Asked<'a, F> {
    policy: &'a Policy,
    binding: &'a Binding,
    complete: &'a F,
}

impl<F: Fn(Value) -> Result<Value, Refusal>> Asked<'_, F> {
    /// Mutates the object; answers whether it has become another one.
    fn mutate(
        &self,
        admission: &Admission<'_>,
        object: &mut Value,
        broken: &mut Vec<Broken>,
    ) -> Result<bool, Refusal> {
        let before = object.clone();
        let seen = Admission {
            object: Some(&before),
            ..admission.clone()
        };
        let (policy, binding) = (&self.policy.name, &self.binding.name);
        let found = match self.found(&seen) {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(false),
            Err((of_binding, why)) => {
                let text = if of_binding {
                    format!(
                        "policy '{policy}' with binding '{binding}' denied request: failed to configure \
                         binding: {why}"
                    )
                } else {
                    format!("policy {policy:?} denied request: failed to configure policy: {why}")
                };
                broken.push(Broken { text, reason: "" });
                return Ok(false);
            }
        };
        let (resource, all) = found;
        for param in &all {
            if let Err(why) = self.with(admission, object, &resource, param)? {
                let text =
                    format!("policy '{policy}' with binding '{binding}' denied request: {why}");
                let reason = "Invalid";
                broken.push(Broken { text, reason });
            }
        }
        Ok(*object != before)
    }

    /// The resource that the request is taken for, and the parameters; an error says whether it is the
    /// binding's.
    fn found(&self, admission: &Admission<'_>) -> Result<Option<Found>, (bool, String)> {
        let of_policy = |why| (false, why);
        let of_binding = |why| (true, why);
        let matched = matching::matched(&self.policy.constraints, admission).map_err(of_policy)?;
        let Some(resource) = matched else {
            return Ok(None);
        };
        let kind = params::kind(&self.policy.param_kind, admission).map_err(of_policy)?;
        let resources = &self.binding.resources;
        if !resources.is_null()
            && matching::matched(resources, admission)
                .map_err(of_binding)?
                .is_none()
        {
            return Ok(None);
        }
        let all = params::collect(kind.as_deref(), &self.binding.param_ref, admission);
        Ok(Some((resource, all.map_err(of_binding)?)))
    }

    /// All mutations of the policy, with one parameter; the last that cannot be made says why.
    fn with(
        &self,
        admission: &Admission<'_>,
        object: &mut Value,
        resource: &Resource,
        param: &Value,
    ) -> Result<Result<(), String>, Refusal> {
        let mut result = Ok(());
        for (index, mutation) in self.policy.mutations.iter().enumerate() {
            let before = object.clone();
            let seen = Admission {
                object: Some(&before),
                ..admission.clone()
            };
            let frames = match frames(self.policy, &seen, resource, param) {
                Ok(frames) => frames,
                Err(why) => return Ok(Err(why)),
            };
            if index == 0 {
                match conditions_hold(&self.policy.conditions, &frames.conditions) {
                    Ok(true) => {}
                    Ok(false) => return Ok(Ok(())),
                    Err(why) => return Ok(Err(why)),
                }
            }
            let made = mutation.program.run(&frames.all, &mut Budget::of_rules());
            let made = made.map_err(Failure::told);
            let versioned = seen.versioned(&before, resource);
            let patched = made.and_then(|made| patched(mutation, &made, &versioned, resource));
            match patched {
                Ok(patched) => {
                    *object = (self.complete)(admission.as_asked(patched, resource))?;
                }
                Err(why) => result = Err(why),
            }
        }
        Ok(result)
    }
}

/// An object with a mutation in it.
fn patched(
    mutation: &Mutation,
    made: &Cel,
    object: &Value,
    resource: &Resource,
) -> Result<Value, String> {
    let made = cel::json(made)?;
    match mutation.patch {
        Patch::Apply => apply(made, object, resource),
        Patch::Json => json_patch(&made, object),
    }
}

fn apply(mut config: Value, object: &Value, resource: &Resource) -> Result<Value, String> {
    if let Value::Object(fields) = &mut config {
        for name in ["apiVersion", "kind"] {
            let held = object.get(name).cloned().unwrap_or_default();
            fields.insert(name.to_owned(), held);
        }
    }
    let anything = crate::schema::anything();
    let schema = resource.schema().unwrap_or(&anything);
    let merged = fields::merged(object, &config, schema.view());
    merged.map_err(|why| format!("error applying patch: {why}"))
}

/// A test that fails leaves the object as it was.
fn json_patch(patch: &Value, object: &Value) -> Result<Value, String> {
    if !patch.is_array() {
        let why = "type mismatch: JSONPatchType.expression should evaluate to array";
        return Err(why.to_owned());
    }
    let failed = match patch::json_steps(object, patch) {
        Ok(patched) => return Ok(patched),
        Err(index) => patch.get(index).unwrap_or(&Value::Null),
    };
    let said = |name| failed.get(name).and_then(Value::as_str);
    match said("op").unwrap_or_default() {
        "test" => Ok(object.clone()),
        op => Err(format!(
            "JSON Patch: {op} operation does not apply: doc is missing path: {:?}: missing value",
            said("path").unwrap_or_default()
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_patch_is_a_list_of_which_a_failing_test_changes_nothing() {
        let object = json!({ "a": 1 });
        assert!(json_patch(&json!({}), &object).is_err_and(|why| why.contains("array")));
        let add = json!({ "op": "add", "path": "/b", "value": 2 });
        let test = json!({ "op": "test", "path": "/b", "value": 3 });
        let patched = json_patch(&json!([add]), &object);
        assert_eq!(patched, Ok(json!({ "a": 1, "b": 2 })));
        assert_eq!(json_patch(&json!([add, test]), &object), Ok(object));
    }
}
