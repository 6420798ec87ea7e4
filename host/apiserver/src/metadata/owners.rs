//! `metadata.ownerReferences`: each complete, and at most one a controller.

use serde_json::{Map, Value};

use crate::field::Path;
use crate::json::text;
use crate::status::Cause;
use crate::status::shown::json;

/// The order in which the real server shows a reference.
const FIELDS: [&str; 6] = [
    "apiVersion",
    "kind",
    "name",
    "uid",
    "controller",
    "blockOwnerDeletion",
];

pub(super) fn validate(metadata: &Map<String, Value>, path: Path<'_>, causes: &mut Vec<Cause>) {
    let at = path.child("ownerReferences");
    let references = metadata
        .get("ownerReferences")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let mut controller: Option<String> = None;
    for reference in references {
        complete(reference, at, causes);
        if reference.get("controller") != Some(&Value::Bool(true)) {
            continue;
        }
        let name = format!("{}/{}", text(reference, "kind"), text(reference, "name"));
        match &controller {
            None => controller = Some(name),
            Some(first) => {
                let all: Vec<String> = references.iter().map(format_reference).collect();
                let why = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references \
                     for {first} and {name}"
                );
                causes.push(Cause::invalid_as(at, &format!("[{}]", all.join(",")), &why));
            }
        }
    }
}

fn complete(reference: &Value, at: Path<'_>, causes: &mut Vec<Cause>) {
    let mut demand = |field: &str, there: bool, why: &str| {
        if !there {
            let value = text(reference, field).into();
            causes.push(Cause::invalid(at.child(field), &value, why));
        }
    };
    let api_version = text(reference, "apiVersion");
    let has_version = match api_version.split('/').collect::<Vec<_>>().as_slice() {
        [version] | [_, version] => !version.is_empty(),
        _ => false,
    };
    demand("apiVersion", has_version, "version must not be empty");
    for field in ["kind", "name", "uid"] {
        demand(
            field,
            !text(reference, field).is_empty(),
            "must not be empty",
        );
    }
    if api_version == "v1" && text(reference, "kind") == "Event" {
        let why = "/v1, Kind=Event is disallowed from being an owner";
        causes.push(Cause::invalid_as(at, &format_reference(reference), why));
    }
}

/// A reference with its fields in the real server's order.
fn format_reference(reference: &Value) -> String {
    let fields = FIELDS.iter().filter_map(|field| {
        let value = match reference.get(field) {
            Some(value) => json(value),
            None if FIELDS[..4].contains(field) => "\"\"".to_owned(),
            None => return None,
        };
        Some(format!("\"{field}\":{value}"))
    });
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}
