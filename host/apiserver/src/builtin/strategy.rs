//! What the real server does to objects of built-in kinds before it keeps them: strategies, the admission
//! plugins that are on by default, and the allocation of addresses and ports.
//!
//! - It comes after [decoding](super::decode()) and [defaults](super::default()), and after metadata has its
//!   uid; afterwards the object is read again as from storage, so both are done once more here.
//! - All that depends on other objects is asked of [`Cluster`].
//! - Quotas and limit ranges are not enforced, and no webhook is called.

mod claim;
mod classes;
mod disabled;
mod job;
mod pod;
mod priority;
mod qos;
mod runtime;
mod service;
mod signing;
mod status;
mod tolerations;
mod update;

use http::StatusCode;
use serde_json::{Value, json};

use super::default::{is_empty, object, put};
use super::{decode, default};
use crate::json::Fields;
use crate::json::text;
use crate::registry::Resource;
use crate::request::User;
use crate::seams::Rng;
use crate::status::{Named, Refusal};

pub(crate) use qos::class as qos_class;
pub use status::{prepare_update_approval, prepare_update_status};
use update::copy;
pub use update::prepare_update;

/// The other objects, as far as they decide about one.
pub trait Cluster {
    /// An object of a built-in kind; the namespace is empty for kinds without.
    fn get(&self, resource: Named<'_>, namespace: &str, name: &str) -> Option<Value>;
    /// All objects of a built-in kind, in all namespaces.
    fn list(&self, resource: Named<'_>) -> Vec<Value>;
}

/// A write of an object of a built-in kind.
#[derive(Clone, Copy)]
pub struct BuiltInWrite<'a> {
    /// The kind.
    pub resource: &'a Resource,
    /// Where the object lies; empty for kinds without namespaces.
    pub namespace: &'a str,
    /// The time, as metadata has it.
    pub now: &'a str,
    /// For names and addresses.
    pub rng: &'a Rng,
    /// The other objects.
    pub cluster: &'a dyn Cluster,
    /// Who writes.
    pub user: &'a User,
    /// Whether nothing will be kept.
    pub is_dry_run: bool,
}

/// Completes an object that is created.
///
/// # Errors
/// If the cluster does not allow it.
pub fn prepare_create(object: &mut Value, write: BuiltInWrite<'_>) -> Result<(), Refusal> {
    if let Value::Object(fields) = object {
        admit(fields, write)?;
        create(fields, write);
        if write.is("", "services") {
            service::allocate(fields, None, write)?;
        }
    }
    reread(object, write.resource);
    Ok(())
}

/// Reads an object as from storage.
fn reread(object: &mut Value, resource: &Resource) {
    let _ = decode(object, resource);
    default(object, resource);
}

impl BuiltInWrite<'_> {
    fn is(&self, group: &str, plural: &str) -> bool {
        self.resource.group == group && self.resource.plural == plural
    }

    fn named(&self) -> Named<'_> {
        Named {
            group: &self.resource.group,
            resource: &self.resource.plural,
        }
    }

    /// 403, by an admission plugin.
    fn forbidden(&self, object: &Fields, why: &str) -> Refusal {
        let metadata = object.get("metadata").and_then(Value::as_object);
        let name = metadata
            .map(|metadata| text(metadata, "name"))
            .unwrap_or_default();
        Refusal::forbidden(self.named(), name, why)
    }
}

/// What admission plugins add.
fn admit(fields: &mut Fields, write: BuiltInWrite<'_>) -> Result<(), Refusal> {
    match (
        write.resource.group.as_str(),
        write.resource.plural.as_str(),
    ) {
        ("", "pods") => pod::admit(fields, write)?,
        ("", "nodes") => taint(fields),
        ("", "persistentvolumes") => protect(fields, "kubernetes.io/pv-protection"),
        ("", "persistentvolumeclaims") => {
            protect(fields, "kubernetes.io/pvc-protection");
            classes::set_default(fields, &classes::STORAGE, write);
        }
        ("storage.k8s.io", "volumeattributesclasses") => {
            protect(fields, "kubernetes.io/vac-protection");
        }
        ("networking.k8s.io", "ingresses") => {
            classes::set_default(fields, &classes::INGRESS, write);
        }
        ("scheduling.k8s.io", "priorityclasses") => priority::check(fields, None, write)?,
        _ => {}
    }
    Ok(())
}

/// Adds a finalizer.
fn protect(fields: &mut Fields, finalizer: &str) {
    let Some(metadata) = object(fields, "metadata") else {
        return;
    };
    put(metadata, "finalizers", json!([]));
    if let Some(Value::Array(finalizers)) = metadata.get_mut("finalizers")
        && !finalizers.iter().any(|found| found == finalizer)
    {
        finalizers.push(finalizer.into());
    }
}

/// A node is not ready until it says so.
fn taint(fields: &mut Fields) {
    let taint = json!({ "key": "node.kubernetes.io/not-ready", "effect": "NoSchedule" });
    put(fields, "spec", json!({}));
    let Some(spec) = object(fields, "spec") else {
        return;
    };
    put(spec, "taints", json!([]));
    if let Some(Value::Array(taints)) = spec.get_mut("taints") {
        let same = |found: &Value| {
            found.get("key") == taint.get("key") && found.get("effect") == taint.get("effect")
        };
        if !taints.iter().any(same) {
            taints.push(taint);
        }
    }
}

/// What the strategy of the kind does.
fn create(fields: &mut Fields, write: BuiltInWrite<'_>) {
    let resource = write.resource;
    // A kubelet tells about its node as it creates it.
    if resource.subresource("status").is_some() && !write.is("", "nodes") {
        fields.remove("status");
    }
    if super::default::counts_generations(resource) {
        put(fields, "metadata", json!({}));
        if let Some(metadata) = object(fields, "metadata") {
            metadata.insert("generation".to_owned(), 1.into());
        }
    }
    disabled::drop(fields, None, write);
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "pods") => pod::create(fields, write.now),
        ("", "limitranges") => name_by_uid(fields, write),
        ("", "serviceaccounts") => only_names(fields),
        ("", "namespaces") => finalize(fields),
        ("", "persistentvolumes") => {
            let status = json!({ "phase": "Pending", "lastPhaseTransitionTime": write.now });
            fields.insert("status".to_owned(), status);
        }
        ("", "persistentvolumeclaims") => claim::sources(fields, None),
        ("apps", "daemonsets") => update::count_templates(fields, 1),
        ("batch", "jobs") => job::select(fields),
        ("certificates.k8s.io", "certificatesigningrequests") => signing::create(fields, write),
        ("apiregistration.k8s.io", "apiservices") => serve_locally(fields, write.now),
        _ => {}
    }
}

/// Of the secrets of an account only the names are kept.
fn only_names(account: &mut Fields) {
    let secrets = account.get_mut("secrets").and_then(Value::as_array_mut);
    for secret in secrets
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        secret.retain(|field, _| field == "name");
    }
}

/// A limit range needs no name.
fn name_by_uid(range: &mut Fields, write: BuiltInWrite<'_>) {
    put(range, "metadata", json!({}));
    if let Some(metadata) = object(range, "metadata")
        && metadata.get("name").is_none_or(is_empty)
    {
        metadata.insert("name".to_owned(), write.rng.uid().into());
    }
}

/// What no other server answers for is there.
fn serve_locally(service: &mut Fields, now: &str) {
    let spec = service.get("spec");
    if spec.and_then(|spec| spec.get("service")).is_some() {
        return;
    }
    let available = json!({
        "type": "Available",
        "status": "True",
        "lastTransitionTime": now,
        "reason": "Local",
        "message": "Local APIServices are always available",
    });
    service.insert("status".to_owned(), json!({ "conditions": [available] }));
}

/// The namespace controller has its word before a namespace goes.
fn finalize(namespace: &mut Fields) {
    put(namespace, "spec", json!({}));
    let Some(spec) = object(namespace, "spec") else {
        return;
    };
    put(spec, "finalizers", json!([]));
    if let Some(Value::Array(finalizers)) = spec.get_mut("finalizers")
        && !finalizers.iter().any(|found| found == "kubernetes")
    {
        finalizers.push("kubernetes".into());
    }
}

/// 500: what the real server takes for a fault of its own.
fn fault(message: impl Into<String>) -> Refusal {
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", message)
}

#[cfg(test)]
mod tests;
