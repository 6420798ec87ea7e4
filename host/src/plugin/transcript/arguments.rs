//! What a guest gives to an import, in the contract's words.

use serde_json::{Value, json};

use crate::memory;
use crate::plugin::bindings::cluster::{
    Consistency, DeleteOptions, ListQuery, PatchType, Propagation,
};
use crate::plugin::bindings::events::{Event, Severity};
use crate::plugin::bindings::types::ObjectRef;

/// What a guest gave, in words that are made when somebody wants to read them: most calls end well, and nobody does.
pub(in crate::plugin) struct Arguments {
    /// About how many bytes it keeps until then.
    pub(super) bytes: usize,
    say: Box<dyn FnOnce() -> Value + Send>,
}

impl Arguments {
    pub(super) fn new(bytes: usize, say: impl FnOnce() -> Value + Send + 'static) -> Self {
        let say = Box::new(say);
        Self { bytes, say }
    }

    /// The words.
    pub(in crate::plugin) fn into_json(self) -> Value {
        (self.say)()
    }
}

/// Of what would take more bytes as a tree, the text is noted.
const LARGEST: usize = 8 << 20;

/// The JSON of a text that a guest or a host gives; the text itself if it is none.
pub(in crate::plugin) fn object(text: &str) -> Value {
    if memory::tree(text) > LARGEST {
        return text.into();
    }
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

pub(in crate::plugin) fn one(text: &str) -> Arguments {
    let text = text.to_owned();
    Arguments::new(text.len(), move || json!({ "object": object(&text) }))
}

pub(in crate::plugin) fn children(texts: &[String]) -> Arguments {
    let texts = texts.to_owned();
    let bytes = texts.iter().map(|text| text.len() + 32).sum();
    Arguments::new(bytes, move || {
        let children: Value = texts.iter().map(|text| object(text)).collect();
        json!({ "children": children })
    })
}

pub(in crate::plugin) fn get(
    target: &ObjectRef,
    subresource: Option<&str>,
    consistency: Consistency,
) -> Arguments {
    let (target, subresource) = (target.clone(), subresource.map(str::to_owned));
    let bytes = named(&target) + long(&subresource);
    Arguments::new(bytes, move || {
        let mut said = json!({ "target": reference(&target), "consistency": how(consistency) });
        add(&mut said, "subresource", subresource);
        said
    })
}

pub(in crate::plugin) fn list(query: &ListQuery) -> Arguments {
    let query = query.clone();
    let given = [
        &query.namespace,
        &query.label_selector,
        &query.field_selector,
    ];
    let given: usize = given.into_iter().map(long).sum();
    let bytes = query.api_version.len() + query.kind.len() + given;
    Arguments::new(bytes, move || listed(&query))
}

fn listed(query: &ListQuery) -> Value {
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

pub(in crate::plugin) fn post(parent: &ObjectRef, subresource: &str, text: &str) -> Arguments {
    let (parent, subresource) = (parent.clone(), subresource.to_owned());
    let text = text.to_owned();
    Arguments::new(
        named(&parent) + subresource.len() + text.len(),
        move || json!({ "parent": reference(&parent), "subresource": subresource, "object": object(&text) }),
    )
}

pub(in crate::plugin) fn patch(
    target: &ObjectRef,
    subresource: Option<&str>,
    patch_type: PatchType,
    text: &str,
) -> Arguments {
    let kind = match patch_type {
        PatchType::Json => "json",
        PatchType::Merge => "merge",
    };
    let (target, subresource) = (target.clone(), subresource.map(str::to_owned));
    let text = text.to_owned();
    let bytes = named(&target) + long(&subresource) + text.len();
    Arguments::new(bytes, move || {
        let mut said =
            json!({ "target": reference(&target), "patchType": kind, "patch": object(&text) });
        add(&mut said, "subresource", subresource);
        said
    })
}

pub(in crate::plugin) fn delete(target: &ObjectRef, options: &DeleteOptions) -> Arguments {
    let (target, options) = (target.clone(), options.clone());
    let bytes = named(&target) + long(&options.uid) + long(&options.resource_version);
    Arguments::new(bytes, move || deleted(&target, &options))
}

fn deleted(target: &ObjectRef, options: &DeleteOptions) -> Value {
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

pub(in crate::plugin) fn event(event: &Event) -> Arguments {
    let event = event.clone();
    let objects = [&event.regarding, &event.related];
    let objects: usize = objects.into_iter().flatten().map(named).sum();
    let bytes = objects + event.note.len() + event.reason.len() + event.action.len();
    Arguments::new(bytes, move || published(&event))
}

fn published(event: &Event) -> Value {
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

fn long(text: &Option<String>) -> usize {
    text.as_ref().map_or(0, String::len)
}

/// How long the names are.
fn named(target: &ObjectRef) -> usize {
    let namespace = target.namespace.as_ref().map_or(0, String::len);
    target.api_version.len() + target.kind.len() + target.name.len() + namespace
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
