//! What a guest gives to an import, in the contract's words.

use serde_json::{Value, json};

use crate::plugin::bindings::cluster::{
    Consistency, DeleteOptions, ListQuery, PatchType, Propagation,
};
use crate::plugin::bindings::events::{Event, Severity};
use crate::plugin::bindings::types::ObjectRef;

/// The API server takes no larger object; of what is larger the text is noted, and refused.
const LARGEST: usize = 3 << 20;

/// The JSON of a text that a guest or a host gives; the text itself if it is none.
pub(in crate::plugin) fn object(text: &str) -> Value {
    if text.len() > LARGEST {
        return text.into();
    }
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

pub(in crate::plugin) fn one(text: &str) -> Value {
    json!({ "object": object(text) })
}

pub(in crate::plugin) fn children(texts: &[String]) -> Value {
    let children: Value = texts.iter().map(|text| object(text)).collect();
    json!({ "children": children })
}

pub(in crate::plugin) fn get(
    target: &ObjectRef,
    subresource: Option<&str>,
    consistency: Consistency,
) -> Value {
    let mut said = json!({ "target": reference(target), "consistency": how(consistency) });
    add(&mut said, "subresource", subresource);
    said
}

pub(in crate::plugin) fn list(query: &ListQuery) -> Value {
    let mut said = json!({
        "apiVersion": query.api_version,
        "kind": query.kind,
        "consistency": how(query.consistency),
    });
    add(&mut said, "namespace", query.namespace.as_deref());
    add(&mut said, "labelSelector", query.label_selector.as_deref());
    add(&mut said, "fieldSelector", query.field_selector.as_deref());
    add(&mut said, "limit", query.limit);
    said
}

pub(in crate::plugin) fn post(parent: &ObjectRef, subresource: &str, text: &str) -> Value {
    json!({ "parent": reference(parent), "subresource": subresource, "object": object(text) })
}

pub(in crate::plugin) fn patch(
    target: &ObjectRef,
    subresource: Option<&str>,
    patch_type: PatchType,
    text: &str,
) -> Value {
    let kind = match patch_type {
        PatchType::Json => "json",
        PatchType::Merge => "merge",
    };
    let mut said = json!({ "target": reference(target), "patchType": kind, "patch": object(text) });
    add(&mut said, "subresource", subresource);
    said
}

pub(in crate::plugin) fn delete(target: &ObjectRef, options: &DeleteOptions) -> Value {
    let mut said = json!({ "target": reference(target) });
    add(&mut said, "uid", options.uid.as_deref());
    add(
        &mut said,
        "resourceVersion",
        options.resource_version.as_deref(),
    );
    let propagation = options.propagation.map(|propagation| match propagation {
        Propagation::Background => "background",
        Propagation::Foreground => "foreground",
        Propagation::Orphan => "orphan",
    });
    add(&mut said, "propagation", propagation);
    add(
        &mut said,
        "gracePeriodSeconds",
        options.grace_period_seconds,
    );
    said
}

pub(in crate::plugin) fn event(event: &Event) -> Value {
    let severity = match event.severity {
        Severity::Normal => "normal",
        Severity::Warning => "warning",
    };
    let mut said = json!({
        "severity": severity,
        "reason": event.reason,
        "action": event.action,
        "note": event.note,
    });
    add(
        &mut said,
        "regarding",
        event.regarding.as_ref().map(reference),
    );
    add(&mut said, "related", event.related.as_ref().map(reference));
    said
}

fn reference(target: &ObjectRef) -> Value {
    let mut said = json!({
        "apiVersion": target.api_version,
        "kind": target.kind,
        "name": target.name,
    });
    add(&mut said, "namespace", target.namespace.as_deref());
    said
}

fn how(consistency: Consistency) -> &'static str {
    match consistency {
        Consistency::Stored => "stored",
        Consistency::Latest => "latest",
    }
}

/// Adds what is given.
fn add(said: &mut Value, name: &str, value: Option<impl Into<Value>>) {
    if let (Value::Object(fields), Some(value)) = (said, value) {
        fields.insert(name.to_owned(), value.into());
    }
}
