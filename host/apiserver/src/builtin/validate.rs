//! What is wrong with objects of built-in kinds, as far as people run into it
//! (kubernetes `pkg/apis/*/validation`).
//!
//! - Each room judges a few kinds; a [`Spot`](spot::Spot) is a value with its place.
//! - Objects are judged in the form in which they are kept, as the real server judges its own form.
//! - Metadata is judged elsewhere.

mod admission;
mod aggregation;
mod autoscaler;
mod claims;
mod conditions;
mod data;
mod endpoints;
mod events;
mod jobs;
mod labels;
mod limits;
mod network;
mod network_policies;
mod nodes;
mod others;
mod pods;
mod policies;
mod quotas;
mod ranges;
mod resources;
mod schedule;
mod services;
mod signing;
mod spot;
mod warnings;
mod webhooks;
mod workloads;

use std::borrow::Cow;

use serde_json::Value;

use crate::rbac;
use crate::registry::Resource;
use crate::status::Cause;
use spot::{Causes, Spot};

pub(crate) use nodes::is_extended;
pub(crate) use resources::is_native;
pub use warnings::warnings;

/// What is wrong with a new object, beside its metadata.
pub fn validate_create(object: &Value, resource: &Resource) -> Vec<Cause> {
    let object = in_stored_version(object, resource);
    let mut causes = Causes::new();
    let new = Spot::root(&object);
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "pods") => pods::validate(&new, &mut causes),
        ("", "endpoints") => endpoints::endpoints(&new, None, &mut causes),
        ("", "events") | ("events.k8s.io", "events") => {
            events::event(&new, resource.group.is_empty(), &mut causes);
        }
        ("admissionregistration.k8s.io", plural) => admitting(&new, None, plural, &mut causes),
        ("apps", "statefulsets") => workloads::stateful_set(&new, true, &mut causes),
        ("autoscaling", _) => autoscaler::autoscaler(&new, None, &mut causes),
        ("batch", "cronjobs") => jobs::cron_job(&new, None, &mut causes),
        ("certificates.k8s.io", "certificatesigningrequests") => {
            signing::validate(&new.of("spec"), &mut causes);
        }
        ("discovery.k8s.io", "endpointslices") => {
            endpoints::slice(&new, None, &mut causes);
        }
        ("networking.k8s.io", plural) => networking(&new, None, plural, &mut causes),
        ("scheduling.k8s.io", "priorityclasses") => others::priority_class(&new, &mut causes),
        ("rbac.authorization.k8s.io", plural) => {
            return rbac::validate::causes(&object, None, plural);
        }
        _ => always(&new, resource, &mut causes),
    }
    causes
}

/// What is wrong with an object whether it is new or changed.
fn always(object: &Spot<'_>, resource: &Resource, causes: &mut Causes) {
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "configmaps") => data::config_map(object, causes),
        ("", "secrets") => data::secret(object, causes),
        ("", "nodes") => nodes::node(object, causes),
        ("", "services") => services::service(object, None, causes),
        ("", "persistentvolumeclaims") => claims::spec(&object.of("spec"), causes),
        ("", "limitranges") => limits::limit_range(object, causes),
        ("", "resourcequotas") => quotas::quota(object, causes),
        ("apiregistration.k8s.io", "apiservices") => aggregation::api_service(object, causes),
        ("apps", "deployments") => workloads::deployment(object, causes),
        ("apps", "replicasets") => workloads::replica_set(object, causes),
        ("apps", "daemonsets") => workloads::daemon_set(object, causes),
        ("batch", "jobs") => jobs::job(object, causes),
        ("coordination.k8s.io", "leases") => others::lease(object, causes),
        ("policy", "poddisruptionbudgets") => others::disruption_budget(object, causes),
        ("storage.k8s.io", "storageclasses") => others::storage_class(object, causes),
        _ => {}
    }
}

/// What is wrong with what decides about the admission of other objects.
fn admitting(new: &Spot<'_>, old: Option<&Spot<'_>>, plural: &str, causes: &mut Causes) {
    match plural {
        "validatingadmissionpolicies" => policies::validating(new, old, causes),
        "mutatingadmissionpolicies" => policies::mutating(new, old, causes),
        "validatingadmissionpolicybindings" => policies::binding(new, false, causes),
        "mutatingadmissionpolicybindings" => policies::binding(new, true, causes),
        "validatingwebhookconfigurations" => webhooks::configuration(new, old, false, causes),
        "mutatingwebhookconfigurations" => webhooks::configuration(new, old, true, causes),
        _ => {}
    }
}

/// What is wrong with a changed object, beside its metadata.
pub fn validate_update(new: &Value, old: &Value, resource: &Resource) -> Vec<Cause> {
    let (object, held) = (
        in_stored_version(new, resource),
        in_stored_version(old, resource),
    );
    let mut causes = Causes::new();
    let (new, old) = (Spot::root(&object), Spot::root(&held));
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "configmaps") => {
            data::immutable(&new, &old, &["data", "binaryData"], &mut causes);
            data::config_map(&new, &mut causes);
        }
        ("", "secrets") => {
            new.fixed(&old, &["type"], &mut causes);
            data::immutable(&new, &old, &["data"], &mut causes);
            data::secret(&new, &mut causes);
        }
        ("", "nodes") => {
            nodes::node(&new, &mut causes);
            nodes::update(&new, &old, &mut causes);
        }
        ("", "pods") => pods::validate_update(&new, &old, &mut causes),
        ("", "services") => services::service(&new, Some(&old), &mut causes),
        ("", "persistentvolumeclaims") => claims::update(&new, &old, &mut causes),
        ("", "resourcequotas") => quotas::update(&new, &old, &mut causes),
        ("", "endpoints") => endpoints::endpoints(&new, Some(&old), &mut causes),
        ("", "events") | ("events.k8s.io", "events") => {
            events::event_update(&new, &old, resource.group.is_empty(), &mut causes);
        }
        ("admissionregistration.k8s.io", plural) => {
            admitting(&new, Some(&old), plural, &mut causes);
        }
        ("apps", "deployments" | "replicasets" | "daemonsets") => {
            always(&new, resource, &mut causes);
            new.fixed(&old, &["spec.selector"], &mut causes);
        }
        ("apps", "statefulsets") => workloads::stateful_update(&new, &old, &mut causes),
        ("autoscaling", _) => autoscaler::autoscaler(&new, Some(&old), &mut causes),
        ("batch", "jobs") => jobs::job_update(&new, &old, &mut causes),
        ("batch", "cronjobs") => jobs::cron_job(&new, Some(&old), &mut causes),
        ("discovery.k8s.io", "endpointslices") => {
            endpoints::slice(&new, Some(&old), &mut causes);
        }
        ("networking.k8s.io", plural) => networking(&new, Some(&old), plural, &mut causes),
        ("scheduling.k8s.io", "priorityclasses") => {
            others::priority_class_update(&new, &old, &mut causes);
        }
        ("storage.k8s.io", "storageclasses") => {
            others::storage_class_update(&new, &old, &mut causes);
        }
        ("rbac.authorization.k8s.io", plural) => {
            return rbac::validate::causes(&object, Some(&held), plural);
        }
        _ => always(&new, resource, &mut causes),
    }
    causes
}

/// What is wrong with a kind of the group `networking.k8s.io`.
fn networking(new: &Spot<'_>, old: Option<&Spot<'_>>, plural: &str, causes: &mut Causes) {
    match plural {
        "ingresses" => network::ingress(new, old.is_none(), causes),
        "networkpolicies" => network_policies::network_policy(new, old, causes),
        "ipaddresses" => ranges::ip_address(new, old, causes),
        "servicecidrs" => ranges::service_cidr(new, old, causes),
        _ => {}
    }
}

/// What is wrong with the addresses of a service and their families: a service gets none if there is anything.
pub(super) fn validate_service_addresses(service: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Causes::new();
    let held = old.and_then(|old| old.get("spec")).unwrap_or(&Value::Null);
    services::addresses(&Spot::root(service).of("spec"), held, &mut causes);
    causes
}

/// The problems of a pod whose ephemeral containers alone have changed, beside its metadata.
pub fn validate_ephemeral(new: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = Causes::new();
    pods::validate_ephemeral(&Spot::root(new), &Spot::root(old), &mut causes);
    causes
}

/// The problems of a pod whose containers are resized, beside its metadata.
pub fn validate_resize(new: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = Causes::new();
    pods::validate_resize(&Spot::root(new), &Spot::root(old), &mut causes);
    causes
}

/// What is wrong with an object whose status has changed, beside its metadata.
pub fn validate_status_update(new: &Value, old: &Value, resource: &Resource) -> Vec<Cause> {
    let (object, held) = (
        in_stored_version(new, resource),
        in_stored_version(old, resource),
    );
    let mut causes = Causes::new();
    let (new, old) = (Spot::root(&object), Spot::root(&held));
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "nodes") => nodes::update(&new, &old, &mut causes),
        ("", "pods") => pods::validate_status(&new, &old, &mut causes),
        ("apps", plural) | ("batch", plural @ "jobs") => {
            workloads::validate_status(&new, &old, plural, &mut causes);
        }
        ("", "resourcequotas") => quotas::status(&new, &mut causes),
        ("certificates.k8s.io", _) => signing::status(&new, &old, &mut causes),
        ("admissionregistration.k8s.io", _) => policies::status(&new, &mut causes),
        ("apiregistration.k8s.io", _) => aggregation::status(&new, &mut causes),
        ("autoscaling", _) => autoscaler::status(&new, &mut causes),
        ("networking.k8s.io", "ingresses") => network::ingress_status(&new, &mut causes),
        ("policy", "poddisruptionbudgets") => {
            others::disruption_budget_status(&new, &mut causes);
        }
        _ => {}
    }
    causes
}

/// Problems of a request for a certificate that is approved or denied, beside its metadata.
pub fn validate_approval(new: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = Causes::new();
    signing::approval(&Spot::root(new), &Spot::root(old), &mut causes);
    causes
}

/// The object in the version in which it is kept.
fn in_stored_version<'a>(object: &'a Value, resource: &Resource) -> Cow<'a, Value> {
    let version = resource.stored_as();
    if resource.api_version() == version {
        return Cow::Borrowed(object);
    }
    let mut object = object.clone();
    super::convert(&mut object, &version);
    Cow::Owned(object)
}

#[cfg(test)]
mod tests;
