//! Paths into objects: printer columns, the scale subresource, and fields to select by.

use serde_json::Value;

use super::read;
use crate::field::Path;
use crate::json::{items, text};
use crate::status::Cause;

const COLUMN_TYPES: &str = "must be one of boolean,date,integer,number,string";
const COLUMN_FORMATS: [&str; 8] = [
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
];

/// What is wrong with `additionalPrinterColumns`.
pub(super) fn printed(columns: &Value, at: Path<'_>, causes: &mut Vec<Cause>) {
    for (index, column) in items(columns).iter().enumerate() {
        let at = at.index(index);
        if text(column, "name").is_empty() {
            causes.push(Cause::required(at.child("name"), ""));
        }
        let kind = text(column, "type");
        if kind.is_empty() {
            causes.push(Cause::required(at.child("type"), COLUMN_TYPES));
        } else if !["boolean", "date", "integer", "number", "string"].contains(&kind) {
            causes.push(Cause::invalid(at.child("type"), &kind.into(), COLUMN_TYPES));
        }
        let format = text(column, "format");
        if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
            let why = format!("must be one of {}", COLUMN_FORMATS.join(","));
            causes.push(Cause::invalid(at.child("format"), &format.into(), &why));
        }
        let path = text(column, "jsonPath");
        if path.is_empty() {
            causes.push(Cause::required(at.child("JSONPath"), ""));
        } else {
            causes.extend(simple(path, at.child("JSONPath")));
        }
    }
}

/// A path must begin with a dot.
fn simple(path: &str, at: Path<'_>) -> Option<Cause> {
    (!path.starts_with('.')).then(|| {
        Cause::invalid(
            at,
            &path.into(),
            "must be a simple json path starting with .",
        )
    })
}

/// What is wrong with the `scale` subresource.
pub(super) fn scale(subresources: &Value, at: Path<'_>, causes: &mut Vec<Cause>) {
    let Some(scale) = subresources.get("scale").filter(|scale| !scale.is_null()) else {
        return;
    };
    let at = at.child("scale");
    for (field, under) in [
        ("specReplicasPath", &[".spec."][..]),
        ("statusReplicasPath", &[".status."]),
        ("labelSelectorPath", &[".spec.", ".status."]),
    ] {
        let path = text(scale, field);
        let at = at.child(field);
        if path.is_empty() {
            if under.len() == 1 {
                causes.push(Cause::required(at, ""));
            }
        } else if let Some(cause) = simple(path, at) {
            causes.push(cause);
        } else if !under.iter().any(|under| path.starts_with(under)) {
            let under: Vec<&str> = under
                .iter()
                .map(|under| under.trim_end_matches('.'))
                .collect();
            let either = if under.len() > 1 { "either " } else { "" };
            let why = format!("should be a json path under {either}{}", under.join(" or "));
            causes.push(Cause::invalid(at, &path.into(), &why));
        }
    }
}

/// Whether a path leads anywhere; if so, it must lead to something that can be selected by.
fn selected(schema: &Value, path: &str, at: Path<'_>, causes: &mut Vec<Cause>) -> bool {
    let found = if path.contains('[') {
        Err("array notation is not allowed".to_owned())
    } else {
        read::follow(schema, path)
    };
    let mut invalid = |why: &str| causes.push(Cause::invalid(at, &path.into(), why));
    let found = match found {
        Ok(found) => found,
        Err(why) => {
            invalid(&format!("is an invalid path: {why}"));
            return false;
        }
    };
    if path == ".metadata" || path.starts_with(".metadata.") {
        invalid("must not point to fields in metadata");
    }
    if !["string", "boolean", "integer"].contains(&text(found, "type")) {
        invalid(
            "must point to a field of type string, boolean or integer. Enum string fields and strings with \
             formats are allowed.",
        );
    }
    true
}

/// What is wrong with `selectableFields`.
pub(super) fn selectable(
    fields: &Value,
    schema: Result<&Value, &str>,
    at: Path<'_>,
    causes: &mut Vec<Cause>,
) {
    let schema = match schema {
        Ok(schema) => schema,
        Err(of) => {
            let why = format!("may only be set when {of}");
            causes.push(Cause::invalid(at, &"".into(), &why));
            return;
        }
    };
    let mut known: Vec<&str> = Vec::new();
    for (index, field) in items(fields).iter().enumerate() {
        let at = at.index(index);
        let at = at.child("jsonPath");
        let path = text(field, "jsonPath");
        if path.is_empty() {
            causes.push(Cause::required(at, ""));
            continue;
        }
        if !selected(schema, path, at, causes) {
            continue;
        }
        if known.contains(&path) {
            causes.push(Cause::duplicate(at, &path.into()));
        } else {
            known.push(path);
        }
    }
    if known.len() > 8 {
        causes.push(Cause::too_many(at, known.len(), 8));
    }
}
