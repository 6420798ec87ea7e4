//! What the real server puts where nothing was said.
//!
//! - Most of it is data, learnt from the real server by `make apiserver-data`: by type, and a little by
//!   kind.
//! - What depends on other fields is code, in the rooms below: [`core`], [`workloads`], [`others`]. The list
//!   of it is in the capture, which fails when the real server comes to have more.
//! - The outer type goes first, as in Go, so that what it puts in is filled up in turn.

mod core;
mod image;
mod others;
mod workloads;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

use crate::json::Fields;
use crate::kinds::catalog;
use crate::kinds::data;
use crate::kinds::structs;
use crate::kinds::types;
use crate::registry::Resource;
use crate::schema::View;
pub(super) use workloads::TEMPLATES;

#[derive(Debug, Default, Deserialize)]
struct Learnt {
    /// By type and field.
    types: BTreeMap<String, Fields>,
    /// By kind (`v1 Pod`) and path.
    kinds: BTreeMap<String, Fields>,
    /// Kinds whose metadata counts what was asked for.
    generations: Vec<String>,
}

static LEARNT: LazyLock<Learnt> = LazyLock::new(|| {
    let text = data::unpack(data::DEFAULTS);
    serde_json::from_str(&text).unwrap_or_default()
});

/// Fills up an object of a built-in kind that was [decoded](super::decode()).
pub fn default(object: &mut Value, resource: &Resource) {
    let entry = catalog::resource(&resource.group, &resource.version, &resource.plural);
    let (Some(entry), Value::Object(fields)) = (entry, &mut *object) else {
        return;
    };
    of_kind(fields, &entry.type_name);
    let learnt = LEARNT
        .kinds
        .get(&format!("{} {}", resource.api_version(), resource.kind));
    for (path, value) in learnt.into_iter().flatten() {
        put_at(fields, path, value);
    }
    default_type(object, &entry.type_name);
}

/// Whether metadata counts how often something else was asked for.
pub fn counts_generations(resource: &Resource) -> bool {
    let kind = format!("{} {}", resource.api_version(), resource.kind);
    LEARNT.generations.contains(&kind)
}

/// The same for any type, such as that of a subresource.
pub fn default_type(object: &mut Value, type_name: &str) {
    let schema = types::schema(type_name);
    walk(object, schema.view());
}

/// What is done for an object as a whole.
fn of_kind(object: &mut Fields, type_name: &str) {
    match type_name.trim_start_matches("io.k8s.") {
        "api.apps.v1.DaemonSet" => workloads::daemon_set(object),
        "api.batch.v1.Job" => workloads::job(object),
        "api.core.v1.Namespace" => core::namespace(object),
        "api.core.v1.Pod" => core::pod(object),
        "api.core.v1.ReplicationController" => workloads::replication_controller(object),
        "api.core.v1.Secret" => core::secret(object),
        "apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition" => {
            others::crd(object);
        }
        _ => {}
    }
}

/// What is done for a part of an object, before the constants of its type.
fn of_type(fields: &mut Fields, type_name: &str) {
    match type_name.trim_start_matches("io.k8s.") {
        "api.apps.v1.DaemonSetUpdateStrategy" | "api.apps.v1.DeploymentStrategy" => {
            workloads::rolling_update(fields);
        }
        "api.apps.v1.StatefulSetUpdateStrategy" => workloads::stateful_update(fields),
        "api.autoscaling.v2.HorizontalPodAutoscalerBehavior" => others::behavior(fields),
        "api.authentication.v1.TokenRequestSpec" => put(fields, "expirationSeconds", 3600),
        "api.core.v1.Container" | "api.core.v1.EphemeralContainer" => core::container(fields),
        "api.core.v1.ImageVolumeSource" => core::image_volume(fields),
        "api.core.v1.LimitRangeItem" => core::limit_range_item(fields),
        "api.core.v1.NodeSpec" => core::node_spec(fields),
        "api.core.v1.NodeStatus" => core::node_status(fields),
        "api.core.v1.PodSpec" => core::pod_spec(fields),
        "api.core.v1.PodStatus" => core::pod_status(fields),
        "api.core.v1.ServiceSpec" => core::service_spec(fields),
        "api.core.v1.Volume" => core::volume(fields),
        "api.flowcontrol.v1.ExemptPriorityLevelConfiguration" => others::exempt(fields),
        "api.networking.v1.NetworkPolicySpec" => others::network_policy(fields),
        "api.rbac.v1.Subject" => others::subject(fields),
        "kube-aggregator.pkg.apis.apiregistration.v1.ServiceReference" => put(fields, "port", 443),
        "api.resource.v1.DeviceSubRequest" | "api.resource.v1.ExactDeviceRequest" => {
            others::device_request(fields);
        }
        _ => {}
    }
}

fn walk(value: &mut Value, view: View<'_>) {
    match value {
        Value::Object(fields) => match (view.type_name(), view.values()) {
            (_, Some(below)) => fields.values_mut().for_each(|value| walk(value, below)),
            (Some("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"), _) => {}
            (Some(name), _) => {
                of_type(fields, name);
                constants(fields, name);
                for (name, value) in fields {
                    if let Some(below) = view.property(name) {
                        walk(value, below);
                    }
                }
            }
            (None, _) => {}
        },
        Value::Array(items) => {
            if let Some(below) = view.items() {
                items.iter_mut().for_each(|item| walk(item, below));
            }
        }
        _ => {}
    }
}

fn constants(fields: &mut Fields, type_name: &str) {
    let Some(known) = structs::of(type_name) else {
        return;
    };
    let defaults = known.defaults.get_or_init(|| {
        // What an ephemeral container has in common with others is one type in Go.
        let learnt = LEARNT.types.get(match type_name {
            "io.k8s.api.core.v1.EphemeralContainer" => "io.k8s.api.core.v1.Container",
            other => other,
        });
        let learnt = learnt.into_iter().flatten();
        let known = learnt.filter_map(|(name, value)| {
            let field = known.field(name)?;
            Some((field.name, value.clone(), field.is_pointer()))
        });
        known.collect()
    });
    for (name, value, is_pointer) in defaults {
        let is_unset = match fields.get(*name) {
            None | Some(Value::Null) => true,
            Some(found) => !is_pointer && is_empty(found),
        };
        if is_unset {
            fields.insert((*name).to_owned(), value.clone());
        }
    }
}

pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(truth) => !truth,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

/// Puts a value where nothing is; objects on the way to it must be there.
fn put_at(fields: &mut Fields, path: &str, value: &Value) {
    match path.split_once('.') {
        None => put(fields, path, value.clone()),
        Some((name, rest)) => {
            if let Some(Value::Object(below)) = fields.get_mut(name) {
                put_at(below, rest, value);
            }
        }
    }
}

/// Puts a value in a field that is not there.
pub(super) fn put(fields: &mut Fields, name: &str, value: impl Into<Value>) {
    if fields.get(name).is_none_or(Value::is_null) {
        fields.insert(name.to_owned(), value.into());
    }
}

/// An object in a field.
pub(super) fn object<'a>(fields: &'a mut Fields, name: &str) -> Option<&'a mut Fields> {
    fields.get_mut(name)?.as_object_mut()
}

/// The objects in a list.
pub(super) fn objects<'a>(
    fields: &'a mut Fields,
    name: &str,
) -> impl Iterator<Item = &'a mut Fields> {
    let items = fields.get_mut(name).and_then(Value::as_array_mut);
    items.into_iter().flatten().filter_map(Value::as_object_mut)
}
