//! MutatingAdmissionPolicies: what they make of an object
//! (apiserver `pkg/admission/plugin/policy/mutating`).
//!
//! - Nobody owns the fields that a policy sets.
//! - In each round, policies and bindings are matched with the object as it was before the round.
//! - A policy with `reinvocationPolicy: IfNeeded` that was asked is asked once more where any policy has mutated.

use std::collections::BTreeSet;

use kube_cel::cel::Value as Cel;
use serde_json::Value;

use super::attributes::Admission;
use super::invocation::{self, Invocation, Misconfigured};
use super::validating::{Frames, conditions_hold, frames};
use crate::fields;
use crate::json::text;
use crate::meta;
use crate::patch::{self, Undone};
use crate::policy::cel::{self, Failure};
use crate::policy::definition::{Hook, Mutation, Patch};
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

/// A policy, a binding, and the namespace and the name of a parameter.
type InvocationKey = [String; 4];

/// Has all policies mutate the object of a request; `complete` puts in defaults.
///
/// # Errors
/// 403 if a policy that is to fail cannot be asked, and whatever `complete` refuses.
pub(super) fn mutate(
    admission: &Admission<'_>,
    object: &mut Value,
    complete: impl Fn(Value, Patch) -> Result<Value, Refusal>,
) -> Result<(), Refusal> {
    let server = admission.call.state;
    let hooks = server.policies().hooks(server.store(), POLICIES, BINDINGS);
    if hooks.is_empty() {
        return Ok(());
    }
    let round = |object: &mut Value, only: Option<&BTreeSet<InvocationKey>>| {
        let sent = object.clone();
        let admission = Admission {
            object: Some(&sent),
            ..admission.clone()
        };
        let mut round = Round {
            admission: &admission,
            complete: &complete,
            only,
            broken: Vec::new(),
            mutated: false,
            eligible: BTreeSet::new(),
        };
        round.run(&hooks, object)?;
        match round.broken.as_slice() {
            [] => Ok(round.mutated.then_some(round.eligible)),
            broken => Err(refusal(&admission, broken)),
        }
    };
    match round(object, None)? {
        Some(eligible) => round(object, Some(&eligible)).map(drop),
        None => Ok(()),
    }
}

fn refusal(admission: &Admission<'_>, broken: &[Broken]) -> Refusal {
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

/// Each policy once, in the order of their names.
struct Round<'a, F> {
    /// With the object as it is before the round.
    admission: &'a Admission<'a>,
    complete: &'a F,
    /// Those that are asked; all of them in the first round.
    only: Option<&'a BTreeSet<InvocationKey>>,
    broken: Vec<Broken>,
    /// Whether anything was made of the object, the same object included.
    mutated: bool,
    /// Those that may be asked once more.
    eligible: BTreeSet<InvocationKey>,
}

impl<F: Fn(Value, Patch) -> Result<Value, Refusal>> Round<'_, F> {
    fn run(&mut self, hooks: &[Hook], object: &mut Value) -> Result<(), Refusal> {
        let mut invocations = Vec::new();
        for (policy, bindings) in hooks {
            for invocation in invocation::of(policy, bindings, self.admission) {
                match invocation {
                    Ok(invocation) => invocations.push(invocation),
                    Err(misconfigured) if policy.fails => self.broken.push(Broken {
                        text: misconfigured.message(&policy.name),
                        reason: "",
                    }),
                    Err(_) => {}
                }
            }
        }
        for invocation in &invocations {
            self.invoke(invocation, object)?;
        }
        Ok(())
    }

    /// All mutations of a policy, with one binding and one parameter.
    fn invoke(&mut self, invocation: &Invocation<'_>, object: &mut Value) -> Result<(), Refusal> {
        let policy = invocation.policy;
        let conditions = self
            .frames(invocation, object)
            .and_then(|frames| conditions_hold(&policy.conditions, &frames.conditions));
        match conditions {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(why) => {
                self.note(invocation, &why);
                return Ok(());
            }
        }
        let key = key(invocation);
        if self.only.is_some_and(|only| !only.contains(&key)) {
            return Ok(());
        }
        for mutation in &policy.mutations {
            match self.patched(invocation, mutation, object) {
                Ok(patched) => {
                    let patched = self.admission.as_asked(patched, &invocation.resource);
                    *object = (self.complete)(patched, mutation.patch)?;
                    self.mutated = true;
                }
                Err(why) => self.note(invocation, &why),
            }
        }
        if policy.again {
            self.eligible.insert(key);
        }
        Ok(())
    }

    fn note(&mut self, invocation: &Invocation<'_>, why: &str) {
        let (policy, binding) = (invocation.policy, invocation.binding);
        if policy.fails {
            self.broken.push(Broken {
                text: denied(&policy.name, Some(&binding.name), why),
                reason: "Invalid",
            });
        }
    }

    fn frames(&self, invocation: &Invocation<'_>, object: &Value) -> Result<Frames, String> {
        let seen = Admission {
            object: Some(object),
            ..self.admission.clone()
        };
        let (resource, param) = (&invocation.resource, &invocation.param);
        frames(invocation.policy, &seen, resource, param)
    }

    /// The object with a mutation in it.
    fn patched(
        &self,
        invocation: &Invocation<'_>,
        mutation: &Mutation,
        object: &Value,
    ) -> Result<Value, String> {
        let frames = self.frames(invocation, object)?;
        let made = mutation
            .program
            .run(&frames.all, &mut Budget::of_rules())
            .map_err(Failure::message)?;
        let resource = &invocation.resource;
        let versioned = self.admission.versioned(object, resource);
        patched(mutation, &made, &versioned, resource)
    }
}

impl Misconfigured<'_> {
    fn message(&self, policy: &str) -> String {
        let binding = self.binding.map(|binding| binding.name.as_str());
        denied(policy, binding, &self.why)
    }
}

fn denied(policy: &str, binding: Option<&str>, why: &str) -> String {
    match binding {
        Some(binding) => {
            format!("policy '{policy}' with binding '{binding}' denied request: {why}")
        }
        None => format!("policy {policy:?} denied request: {why}"),
    }
}

fn key(invocation: &Invocation<'_>) -> InvocationKey {
    let param = &invocation.param;
    let of_param = |field| meta::text(param, field).to_owned();
    [
        invocation.policy.name.clone(),
        invocation.binding.name.clone(),
        of_param("namespace"),
        of_param("name"),
    ]
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
    let operations: Vec<patch::Made<'_>> = patch
        .as_array()
        .into_iter()
        .flatten()
        .map(|operation| patch::Made {
            op: text(operation, "op"),
            path: text(operation, "path"),
            from: text(operation, "from"),
            value: operation.get("value"),
        })
        .collect();
    match patch::json_made(object, &operations) {
        Ok(patched) => Ok(patched),
        Err(Undone::Test(_)) => Ok(object.clone()),
        Err(Undone::Other(why)) => Err(format!("JSON Patch: {why}")),
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
