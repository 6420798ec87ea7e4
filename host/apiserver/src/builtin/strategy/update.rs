//! What an update of a built-in kind may change, and what it counts.

use serde_json::{Value, json};

use super::{
    BuiltInWrite, Fields, claim, disabled, object, only_names, pod, priority, put, reread, service,
};
use crate::builtin::default::{TEMPLATES, counts_generations};
use crate::registry::Resource;
use crate::status::Refusal;

/// Completes an object that takes the place of `old`: the status stays, allocated addresses too, and the
/// generation counts what was asked for.
///
/// # Errors
/// If the cluster does not allow it.
pub fn prepare_update(
    object: &mut Value,
    old: &Value,
    write: BuiltInWrite<'_>,
) -> Result<(), Refusal> {
    if let (Value::Object(fields), Value::Object(old)) = (&mut *object, old) {
        if write.resource.subresource("status").is_some() {
            copy(fields, old, "status");
        }
        disabled::drop(fields, Some(old), write);
        if write.is("", "services") {
            service::allocate(fields, Some(old), write)?;
            service::drop_dependent(fields, old);
        }
        if write.is("", "pods") {
            keep_priority(fields, old);
            pod::tolerate(fields);
        }
        if write.is("", "serviceaccounts") {
            only_names(fields);
        }
        if write.is("", "persistentvolumeclaims") {
            claim::sources(fields, Some(old));
        }
        if write.is("scheduling.k8s.io", "priorityclasses") {
            priority::check(fields, Some(old), write)?;
        }
        if write.is("certificates.k8s.io", "certificatesigningrequests") {
            copy(fields, old, "spec");
        }
        reread(object, write.resource);
    }
    if let (Value::Object(fields), Value::Object(old)) = (&mut *object, old) {
        count(fields, old, write.resource);
    }
    Ok(())
}

/// Puts in what `old` has; nothing where it has nothing.
pub(super) fn copy(fields: &mut Fields, old: &Fields, name: &str) {
    match old.get(name) {
        Some(value) => {
            fields.insert(name.to_owned(), value.clone());
        }
        None => {
            fields.remove(name);
        }
    }
}

fn keep_priority(pod: &mut Fields, old: &Fields) {
    let Some(old) = old.get("spec").and_then(Value::as_object) else {
        return;
    };
    if let Some(spec) = object(pod, "spec") {
        for field in ["priority", "preemptionPolicy"] {
            if let Some(value) = old.get(field) {
                put(spec, field, value.clone());
            }
        }
    }
}

/// Counts what was asked for: all but metadata and status.
fn count(fields: &mut Fields, old: &Fields, resource: &Resource) {
    if !counts_generations(resource) {
        return;
    }
    let is_part = |name: &String| !matches!(name.as_str(), "metadata" | "status");
    let mut names = fields.keys().chain(old.keys()).filter(|name| is_part(name));
    let changed = names.any(|name| fields.get(name) != old.get(name));
    let in_metadata = |fields: &Fields, name| fields.get("metadata")?.get(name).cloned();
    // A Deployment hands its annotations down, and a slice is found by its labels.
    let counted = match (resource.group.as_str(), resource.plural.as_str()) {
        ("apps", "deployments") => Some("annotations"),
        ("discovery.k8s.io", "endpointslices") => Some("labels"),
        _ => None,
    };
    let differs = |name| in_metadata(fields, name) != in_metadata(old, name);
    let changed = changed || counted.is_some_and(differs);
    let before = |name: &str| {
        old.get("metadata")
            .and_then(|found| found.get(name))
            .cloned()
    };
    let generation = before("generation")
        .and_then(|found| found.as_i64())
        .unwrap_or(0);
    if let Some(metadata) = object(fields, "metadata") {
        let generation = generation + i64::from(changed);
        if generation > 0 {
            metadata.insert("generation".to_owned(), generation.into());
        }
    }
    if resource.group == "apps" && resource.plural == "daemonsets" {
        let template = |fields: &Fields| fields.get("spec")?.get("template").cloned();
        let so_far = before("annotations")
            .and_then(|found| found.get(TEMPLATES).cloned())
            .and_then(|found| found.as_str()?.parse().ok())
            .unwrap_or(0_i64);
        count_templates(
            fields,
            so_far + i64::from(template(fields) != template(old)),
        );
    }
}

/// The number of templates that a DaemonSet has had.
pub(super) fn count_templates(set: &mut Fields, number: i64) {
    let Some(metadata) = object(set, "metadata") else {
        return;
    };
    put(metadata, "annotations", json!({}));
    if let Some(annotations) = object(metadata, "annotations") {
        annotations.insert(TEMPLATES.to_owned(), number.to_string().into());
    }
}
