//! What an update of the status of a built-in kind keeps of the object that it changes.

use serde_json::Value;

use super::update::count_templates;
use super::{BuiltInWrite, Fields, copy, object, put, reread, signing};
use crate::builtin::default::TEMPLATES;
use crate::json::text;
use crate::metadata::STATUS_KEEPS;
use crate::registry::Resource;
use crate::strategy::Strategy;

/// Completes an object whose status takes the place of that of `old`: all else stays, but for what a
/// status update may say about metadata.
pub fn prepare_update_status(object: &mut Value, old: &Value, write: BuiltInWrite<'_>) {
    if let (Value::Object(fields), Value::Object(old)) = (&mut *object, old) {
        let group = write.resource.group.as_str();
        let plural = write.resource.plural.as_str();
        for name in kept(write.resource) {
            keep_metadata(fields, old, name);
        }
        let names: Vec<String> = fields.keys().chain(old.keys()).cloned().collect();
        for name in names {
            if !matches!(name.as_str(), "apiVersion" | "kind" | "metadata" | "status") {
                copy(fields, old, &name);
            }
        }
        match (group, plural) {
            ("", "nodes") => keep_config(fields, old),
            ("", "pods") => {
                keep_class(fields, old);
                keep_generations(fields, old);
            }
            ("", "persistentvolumes") => note_phase(fields, old, write.now),
            ("apps", "daemonsets") => keep_templates(fields, old),
            ("certificates.k8s.io", _) => {
                signing::keep_decisions(fields, old);
                signing::conditions(fields, old, write);
            }
            _ => {}
        }
    }
    reread(object, write.resource);
}

/// Completes a request for a certificate whose conditions alone take the place of those of `old`.
pub fn prepare_update_approval(object: &mut Value, old: &Value, write: BuiltInWrite<'_>) {
    if let (Value::Object(fields), Value::Object(old)) = (&mut *object, old) {
        signing::conditions(fields, old, write);
    }
    reread(object, write.resource);
}

/// The fields of metadata that an update of the status leaves as they were.
fn kept(resource: &Resource) -> impl Iterator<Item = &'static str> {
    let resets = Strategy::of(resource).status_resets.iter();
    resets
        .flat_map(|path| match path {
            ["metadata"] => &STATUS_KEEPS[..],
            ["metadata", field @ ..] => field,
            _ => &[],
        })
        .copied()
}

fn keep_metadata(fields: &mut Fields, old: &Fields, name: &str) {
    let held = old.get("metadata").and_then(Value::as_object);
    if let (Some(metadata), Some(held)) = (object(fields, "metadata"), held) {
        copy(metadata, held, name);
    }
}

fn held<'a>(old: &'a Fields, name: &str) -> Option<&'a Value> {
    old.get("status")?.get(name)
}

/// Nothing configures a node by its status any more.
fn keep_config(node: &mut Fields, old: &Fields) {
    if held(old, "config").is_none()
        && let Some(status) = object(node, "status")
    {
        status.remove("config");
    }
}

/// The annotation that counts templates is a part of the spec to the server.
fn keep_templates(set: &mut Fields, old: &Fields) {
    let held = old.get("metadata").and_then(|held| held.get("annotations"));
    let count = held.and_then(|held| held.get(TEMPLATES)?.as_str()?.parse().ok());
    count_templates(set, count.unwrap_or(0));
}

/// Old kubelets drop the class of a pod.
fn keep_class(pod: &mut Fields, old: &Fields) {
    if let (Some(status), Some(held)) = (object(pod, "status"), held(old, "qosClass")) {
        put(status, "qosClass", held.clone());
    }
}

/// Old kubelets drop the generations that the status of a pod and its conditions are about.
fn keep_generations(pod: &mut Fields, old: &Fields) {
    const FIELD: &str = "observedGeneration";
    let Some(status) = object(pod, "status") else {
        return;
    };
    if let Some(generation) = held(old, FIELD) {
        keep_number(status, FIELD, generation);
    }
    let conditions = held(old, "conditions").and_then(Value::as_array);
    let mut before: Vec<&Fields> = conditions
        .into_iter()
        .flatten()
        .filter_map(Value::as_object)
        .collect();
    let Some(Value::Array(conditions)) = status.get_mut("conditions") else {
        return;
    };
    for condition in conditions.iter_mut().filter_map(Value::as_object_mut) {
        let same = |held: &&Fields| text(held, "type") == text(condition, "type");
        if let Some(at) = before.iter().position(same)
            && let Some(generation) = before.remove(at).get(FIELD)
        {
            keep_number(condition, FIELD, generation);
        }
    }
}

/// Puts a number where there is none, or a zero.
fn keep_number(fields: &mut Fields, name: &str, held: &Value) {
    if fields.get(name).and_then(Value::as_i64).unwrap_or(0) == 0 {
        fields.insert(name.to_owned(), held.clone());
    }
}

/// A volume says since when it is in its phase.
fn note_phase(volume: &mut Fields, old: &Fields, now: &str) {
    const FIELD: &str = "lastPhaseTransitionTime";
    let since = held(old, FIELD);
    let before = held(old, "phase").cloned();
    let Some(status) = object(volume, "status") else {
        return;
    };
    let said = status.get(FIELD).filter(|time| !time.is_null());
    if status.get("phase") == before.as_ref() {
        if let (None, Some(since)) = (said, since) {
            status.insert(FIELD.to_owned(), since.clone());
        }
    } else if said.is_none() || said == since {
        status.insert(FIELD.to_owned(), now.into());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{Others, write};
    use super::*;
    use crate::builtin::resources;
    use crate::seams::Rng;

    /// What becomes of an object of a kind whose status is written.
    fn written(plural: &str, new: &Value, old: &Value) -> Value {
        let resources = resources();
        let mut all = resources.iter();
        let resource = all.find(|found| found.plural == plural).unwrap();
        let (others, rng) = (Others::default(), Rng::seeded(1));
        let mut object = new.clone();
        prepare_update_status(&mut object, old, write(resource, &others, &rng));
        object
    }

    #[test]
    fn each_kind_keeps_its_own_part_of_metadata() {
        let old = json!({ "metadata": { "name": "a" } });
        let sent = json!({ "metadata": {
            "name": "a", "labels": { "l": "1" }, "annotations": { "a": "1" }, "finalizers": ["x/f"],
            "ownerReferences": [{ "name": "o" }],
        } });
        let all = ["annotations", "finalizers", "labels", "ownerReferences"];
        for (plural, want) in [
            ("deployments", &[all[0], all[1], all[3]][..]),
            ("pods", &all[..3]),
            ("replicasets", &all),
            ("certificatesigningrequests", &all),
            ("servicecidrs", &[]),
            ("volumeattachments", &[]),
            ("validatingadmissionpolicies", &[]),
            ("resourceclaims", &[]),
            ("flowschemas", &[]),
            ("prioritylevelconfigurations", &[]),
            ("apiservices", &[]),
        ] {
            let object = written(plural, &sent, &old);
            let metadata = object["metadata"].as_object().unwrap();
            let found: Vec<&str> = all
                .into_iter()
                .filter(|name| metadata.contains_key(*name))
                .collect();
            assert_eq!(found, want, "{plural}");
        }
    }

    #[test]
    fn a_volume_says_since_when_it_is_in_its_phase() {
        let volume = |phase: &str, since: Value| json!({ "status": { "phase": phase, "lastPhaseTransitionTime": since } });
        let (then, later) = ("2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z");
        let old = volume("Available", then.into());
        let now = super::super::tests::NOW;
        for (phase, said, want) in [
            ("Available", Value::Null, then),
            ("Available", later.into(), later),
            ("Bound", Value::Null, now),
            ("Bound", then.into(), now),
            ("Bound", later.into(), later),
        ] {
            let object = written("persistentvolumes", &volume(phase, said), &old);
            assert_eq!(object["status"]["lastPhaseTransitionTime"], want, "{phase}");
        }
    }

    #[test]
    fn a_pod_keeps_the_generations_that_its_status_is_about() {
        let condition = |kind: &str, generation: i64| json!({ "type": kind, "status": "True", "observedGeneration": generation });
        let old = json!({ "status": {
            "observedGeneration": 3, "conditions": [condition("Ready", 2), condition("x/y", 1)],
        } });
        let new = json!({ "status": { "conditions": [
            { "type": "x/y", "status": "True" }, condition("Ready", 4), { "type": "Ready", "status": "True" },
        ] } });
        let status = &written("pods", &new, &old)["status"];
        assert_eq!(status["observedGeneration"], 3);
        let found: Vec<&Value> = status["conditions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|found| &found["observedGeneration"])
            .collect();
        assert_eq!(found, [&json!(1), &json!(4), &Value::Null]);
    }
}
