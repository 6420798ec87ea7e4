//! Defaults of workloads that depend on other fields.

use serde_json::{Value, json};

use super::{Fields, is_empty, object, put};
use crate::json::text;

/// A rolling update has parameters; other strategies have none.
pub(super) fn rolling_update(strategy: &mut Fields) {
    if matches!(text(strategy, "type"), "" | "RollingUpdate") {
        put(strategy, "rollingUpdate", json!({}));
    }
}

/// Here only a strategy that was left out gets parameters.
pub(super) fn stateful_update(strategy: &mut Fields) {
    if text(strategy, "type").is_empty() {
        put(strategy, "rollingUpdate", json!({}));
    }
}

/// The number of templates that a DaemonSet has had, which the real server keeps beside the annotations.
pub(crate) const TEMPLATES: &str = "deprecated.daemonset.template.generation";

/// That number is always there.
pub(super) fn daemon_set(set: &mut Fields) {
    put(set, "metadata", json!({}));
    if let Some(metadata) = object(set, "metadata") {
        put(metadata, "annotations", json!({}));
        if let Some(annotations) = object(metadata, "annotations") {
            put(annotations, TEMPLATES, "0");
        }
    }
}

/// A job that says nothing runs one pod once, and is labelled like its pods.
pub(super) fn job(job: &mut Fields) {
    // The labels of a new one are not complete before it has a uid.
    if job
        .get("metadata")
        .is_some_and(|metadata| metadata.get("uid").is_some())
    {
        label_like_template(job);
    }
    let Some(spec) = object(job, "spec") else {
        return;
    };
    let is_unset = |spec: &Fields, name: &str| spec.get(name).is_none_or(Value::is_null);
    if is_unset(spec, "completions") && is_unset(spec, "parallelism") {
        put(spec, "completions", 1);
    }
    let backoff = if is_unset(spec, "backoffLimitPerIndex") {
        6
    } else {
        i32::MAX
    };
    put(spec, "backoffLimit", backoff);
    let replacement = if is_unset(spec, "podFailurePolicy") {
        "TerminatingOrFailed"
    } else {
        "Failed"
    };
    put(spec, "podReplacementPolicy", replacement);
}

pub(super) fn replication_controller(controller: &mut Fields) {
    label_like_template(controller);
    let labels = template_labels(controller);
    if let (Some(labels), Some(spec)) = (labels, object(controller, "spec"))
        && spec.get("selector").is_none_or(is_empty)
    {
        spec.insert("selector".to_owned(), labels);
    }
}

fn template_labels(object: &Fields) -> Option<Value> {
    let labels = object
        .get("spec")?
        .get("template")?
        .get("metadata")?
        .get("labels")?;
    (!is_empty(labels)).then(|| labels.clone())
}

fn label_like_template(controller: &mut Fields) {
    let labels = template_labels(controller);
    put(controller, "metadata", json!({}));
    if let (Some(labels), Some(metadata)) = (labels, object(controller, "metadata"))
        && metadata.get("labels").is_none_or(is_empty)
    {
        metadata.insert("labels".to_owned(), labels);
    }
}
