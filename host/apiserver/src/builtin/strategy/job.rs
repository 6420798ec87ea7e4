//! A job's pods are told apart by the job's uid.

use serde_json::{Value, json};

use super::{Fields, is_empty, object, put};
use crate::json::text;

const NAME_LABELS: [&str; 2] = ["batch.kubernetes.io/job-name", "job-name"];
const UID_LABELS: [&str; 2] = ["batch.kubernetes.io/controller-uid", "controller-uid"];

/// `generateSelector`, unless the selector is made by hand.
pub(super) fn select(job: &mut Fields) {
    let metadata = job.get("metadata").and_then(Value::as_object);
    let of = |field| metadata.map(|metadata| text(metadata, field).to_owned());
    let (name, uid) = (
        of("name").unwrap_or_default(),
        of("uid").unwrap_or_default(),
    );
    let Some(spec) = object(job, "spec") else {
        return;
    };
    if spec.get("manualSelector") != Some(&json!(true)) {
        put(spec, "selector", json!({}));
        if let Some(selector) = object(spec, "selector") {
            put(selector, "matchLabels", json!({}));
            if let Some(labels) = object(selector, "matchLabels") {
                put(labels, "batch.kubernetes.io/controller-uid", uid.as_str());
            }
        }
        label_template(spec, &name, &uid);
    }
    // As the defaults do, which waited for the labels of the template.
    let labels = spec
        .get("template")
        .and_then(|found| found.pointer("/metadata/labels"));
    if let (Some(labels), Some(metadata)) = (labels.cloned(), object(job, "metadata"))
        && metadata.get("labels").is_none_or(is_empty)
    {
        metadata.insert("labels".to_owned(), labels);
    }
}

fn label_template(spec: &mut Fields, name: &str, uid: &str) {
    put(spec, "template", json!({}));
    let Some(template) = object(spec, "template") else {
        return;
    };
    put(template, "metadata", json!({}));
    let Some(metadata) = object(template, "metadata") else {
        return;
    };
    put(metadata, "labels", json!({}));
    if let Some(labels) = object(metadata, "labels") {
        for label in NAME_LABELS {
            put(labels, label, name);
        }
        for label in UID_LABELS {
            put(labels, label, uid);
        }
    }
}
