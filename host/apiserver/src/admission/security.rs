//! PodSecurity: the labels of a namespace say how safe its pods must be (pod-security-admission `admission/admission.go`).
//!
//! There is no audit log, and nobody is exempt: `audit` labels are validated, and leave no trace.

mod baseline;
mod checks;
mod existing;
mod labels;
mod profiles;
mod restricted;
mod template;

use serde_json::Value;

use super::attributes::{Admission, AdmissionOperation};
use crate::json::{get, list, text};
use crate::status::{Named, Refusal};
use crate::store::{GroupResource, Labels, NamespacedName};
use labels::{LevelVersion, ModePolicies};
use template::PodTemplate;

/// The subresources of pods that leave the spec as it is.
const IGNORED: [&str; 8] = [
    "exec",
    "attach",
    "binding",
    "eviction",
    "log",
    "portforward",
    "proxy",
    "status",
];

/// Judges a request about namespaces, pods, or what makes pods; notes what it warns of.
///
/// # Errors
/// 403 for a pod that is not safe enough, 422 for labels that say nothing.
pub(super) fn validate(admission: &Admission<'_>) -> Result<(), Refusal> {
    let Some(object) = admission.object else {
        return Ok(());
    };
    let resource = admission.call.resource;
    let subresource = admission.subresource();
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "namespaces") if subresource.is_empty() => namespace(admission, object),
        ("", "pods") if !IGNORED.contains(&subresource) => pod(admission, object),
        (group, plural) if subresource.is_empty() => {
            if let Some(template) = template::of(group, plural, object) {
                workload(admission, &template);
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn namespace(admission: &Admission<'_>, object: &Value) -> Result<(), Refusal> {
    let (new, wrong) = labels::read(&labels::of(object));
    let (old, old_wrong) = admission
        .old
        .map(|old| labels::read(&labels::of(old)))
        .unwrap_or_default();
    if !wrong.is_empty() && (admission.old.is_none() || wrong != old_wrong) {
        return Err(Refusal::invalid(
            admission.call.kind(),
            admission.final_name(),
            wrong,
        ));
    }
    if admission.old.is_some() && new.enforce.is_stricter_than(old.enforce) {
        let name = admission.final_name();
        let warnings = existing::warnings(admission.call.state.store(), name, new.enforce);
        admission.call.warnings.extend(warnings);
    }
    Ok(())
}

fn pod(admission: &Admission<'_>, pod: &Value) -> Result<(), Refusal> {
    let Some(policies) = policies(admission) else {
        return Ok(());
    };
    let is_update = admission.operation == AdmissionOperation::Update;
    let old = admission.old.filter(|_| is_update);
    if policies.are_privileged() || old.is_some_and(|old| !is_significant(pod, old)) {
        return Ok(());
    }
    let template = PodTemplate::of(pod);
    if let Some(why) = violations(policies.enforce, &template) {
        let named = Named {
            group: "",
            resource: "pods",
        };
        let why = format!("violates PodSecurity \"{}\": {why}", policies.enforce);
        return Err(Refusal::forbidden(named, admission.final_name(), &why));
    }
    warn(admission, policies.warn, &template);
    Ok(())
}

fn workload(admission: &Admission<'_>, template: &PodTemplate<'_>) {
    if let Some(policies) = policies(admission) {
        warn(admission, policies.warn, template);
    }
}

fn warn(admission: &Admission<'_>, level: LevelVersion, template: &PodTemplate<'_>) {
    if let Some(why) = violations(level, template) {
        let warning = format!("would violate PodSecurity \"{level}\": {why}");
        admission.call.warnings.add(warning);
    }
}

/// All that a level forbids of a pod, with details.
fn violations(level: LevelVersion, template: &PodTemplate<'_>) -> Option<String> {
    let found = checks::violations(level, template);
    let texts: Vec<String> = found.iter().map(checks::Violation::detailed).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

/// The demands of the request's namespace; nothing if its labels demand nothing.
fn policies(admission: &Admission<'_>) -> Option<ModePolicies> {
    let place = GroupResource {
        group: String::new(),
        plural: "namespaces".to_owned(),
    };
    let key = NamespacedName::new("", admission.namespace());
    let held = admission.call.state.store().get(&place, &key)?;
    let labels: &Labels = held.labels.as_deref()?;
    labels::demand(labels).then(|| labels::read(labels).0)
}

/// Whether an update changes anything that the checks look at (`isSignificantPodUpdate`).
fn is_significant(pod: &Value, old: &Value) -> bool {
    let (spec, old) = (get(pod, "spec"), get(old, "spec"));
    let differ = |name| {
        let (new, old) = (list(spec, name), list(old, name));
        let image = |container| text(container, "image");
        new.len() != old.len() || !new.iter().map(image).eq(old.iter().map(image))
    };
    let held = list(old, "ephemeralContainers");
    let is_new = |container: &&Value| {
        let named = |held: &&Value| text(held, "name") == text(container, "name");
        let held = held.iter().find(named);
        held.is_none_or(|held| text(held, "image") != text(container, "image"))
    };
    differ("containers")
        || differ("initContainers")
        || list(spec, "ephemeralContainers")
            .iter()
            .any(|container| is_new(&container))
}

#[cfg(test)]
mod tests;
