//! Admission at a request: what LimitRanger and MutatingAdmissionPolicies make of an object, and what LimitRanger,
//! PodSecurity, PodResizeValidator, ValidatingAdmissionPolicies and ResourceQuota refuse (apiserver
//! `pkg/admission/plugin`).
//!
//! - The plugins come in the order of kubernetes `pkg/kubeapiserver/options/plugins.go`.
//! - A policy is compiled when a request first meets it, and again when it has changed.
//! - Policies and bindings are asked in the order of their names; the real server has no order.
//! - A change holds at once; the real server needs a moment to see it. There is no audit log, so `Audit`
//!   and audit annotations leave no trace; what fails in them still counts.

pub(crate) mod amounts;
mod attributes;
mod guard;
mod invocation;
mod limits;
mod matching;
mod mutating;
mod needs;
mod params;
pub(crate) mod quota;
mod resize;
mod security;
mod validating;

use serde_json::Value;

use crate::policy::{GROUP, Patch};
use crate::registry::Resource;
use crate::status::Refusal;

pub(crate) use attributes::Admission;
pub(crate) use guard::allow;

/// No policy sees policies and bindings, so that each can be undone (apiserver
/// `pkg/admission/plugin/policy/generic/plugin.go`).
const OWN: [&str; 4] = [
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
];

/// Reviews are no objects, so no policy sees them (kubernetes `pkg/kubeapiserver/admission/exclusion`).
const REVIEWS: [(&str, &str); 6] = [
    ("authentication.k8s.io", "selfsubjectreviews"),
    ("authentication.k8s.io", "tokenreviews"),
    ("authorization.k8s.io", "localsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
    ("authorization.k8s.io", "subjectaccessreviews"),
];

/// Whether policies see a resource.
fn is_seen(resource: &Resource) -> bool {
    let (group, plural) = (resource.group.as_str(), resource.plural.as_str());
    !(group == GROUP && OWN.contains(&plural) || REVIEWS.contains(&(group, plural)))
}

/// Has all mutating plugins change the object of a write; `complete` puts in defaults after a policy.
///
/// # Errors
/// 403 if a policy that is to fail cannot be asked.
pub(crate) fn mutate(
    admission: &Admission<'_>,
    object: &mut Value,
    complete: impl Fn(Value, Patch) -> Result<Value, Refusal>,
) -> Result<(), Refusal> {
    limits::mutate(admission, object);
    if !is_seen(admission.call.resource) {
        return Ok(());
    }
    mutating::mutate(admission, object, complete)
}

/// Judges a request by all validating plugins; notes what they warn of.
///
/// # Errors
/// The refusal of the first plugin that denies it.
pub(crate) fn validate(admission: &Admission<'_>) -> Result<(), Refusal> {
    limits::validate(admission)?;
    security::validate(admission)?;
    resize::validate(admission)?;
    if !is_seen(admission.call.resource) {
        return Ok(());
    }
    validating::validate(admission)
}
