//! Admission policies as they are written: compiled, and kept until they change
//! (apiserver `pkg/admission/plugin/policy`). [`admission`](crate::admission) asks them about requests.

pub(crate) mod authorizer;
pub(crate) mod cel;
pub(crate) mod check;
pub(crate) mod definition;

pub(crate) use definition::{Patch, Policies};

/// The group of policies and bindings.
pub(crate) const GROUP: &str = "admissionregistration.k8s.io";
