//! For which bindings and parameters a policy is asked about a request
//! (apiserver `pkg/admission/plugin/policy/generic/policy_dispatcher.go`).

use std::sync::Arc;

use serde_json::Value;

use super::attributes::Admission;
use super::{matching, params};
use crate::policy::definition::{Binding, Policy};
use crate::registry::Resource;

/// A policy with one of its bindings and one parameter.
#[derive(Debug)]
pub(super) struct Invocation<'a> {
    pub(super) policy: &'a Policy,
    pub(super) binding: &'a Binding,
    /// The resource that the request is taken for.
    pub(super) resource: Arc<Resource>,
    /// `null` where there is none.
    pub(super) param: Value,
}

/// A policy that is about a request, and cannot be asked.
#[derive(Debug)]
pub(super) struct Misconfigured<'a> {
    /// None where it is the policy's fault.
    pub(super) binding: Option<&'a Binding>,
    pub(super) why: String,
}

impl<'a> Misconfigured<'a> {
    fn policy(why: &str) -> Self {
        Self {
            binding: None,
            why: format!("failed to configure policy: {why}"),
        }
    }

    fn binding(binding: &'a Binding, why: &str) -> Self {
        Self {
            binding: Some(binding),
            why: format!("failed to configure binding: {why}"),
        }
    }
}

/// How a policy is asked about a request, in the order of its bindings.
pub(super) fn of<'a>(
    policy: &'a Policy,
    bindings: &'a [Arc<Binding>],
    admission: &Admission<'_>,
) -> Vec<Result<Invocation<'a>, Misconfigured<'a>>> {
    let resource = match matching::matched(&policy.constraints, admission) {
        Ok(Some(resource)) => resource,
        Ok(None) => return Vec::new(),
        Err(why) => return vec![Err(Misconfigured::policy(&why))],
    };
    let kind = match params::kind(&policy.param_kind, admission) {
        Ok(kind) => kind,
        Err(why) => return vec![Err(Misconfigured::policy(&why))],
    };
    let mut all = Vec::new();
    for binding in bindings {
        match with_binding(binding, kind.as_deref(), admission) {
            Ok(params) => all.extend(params.into_iter().map(|param| {
                Ok(Invocation {
                    policy,
                    binding,
                    resource: Arc::clone(&resource),
                    param,
                })
            })),
            Err(why) => all.push(Err(Misconfigured::binding(binding, &why))),
        }
    }
    all
}

/// The parameters of a binding; nothing if it is not about the request.
fn with_binding(
    binding: &Binding,
    kind: Option<&Resource>,
    admission: &Admission<'_>,
) -> Result<Vec<Value>, String> {
    let resources = &binding.resources;
    if !resources.is_null() && matching::matched(resources, admission)?.is_none() {
        return Ok(Vec::new());
    }
    params::collect(kind, &binding.param_ref, admission)
}
