//! Custom kinds: the columns of `additionalPrinterColumns`, filled by their JSON paths.

use jiff::Timestamp;
use serde_json::{Number, Value};

use super::{Cells, age};
use crate::json_path::JsonPath;
use crate::mutants::mutant;
use crate::registry::{Column, Resource};
use crate::status::shown::{json, plain};

/// What the real server says of the first column.
pub(super) const NAME: &str = "Name must be unique within a namespace. Is required when creating resources, \
    although some resources may allow a client to request the generation of an appropriate name \
    automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot \
    be updated. More info: \
    https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";

/// What it says of the column that every kind has if its definition names none.
pub const AGE: &str = "CreationTimestamp is a timestamp representing the server time when this object was \
    created. It is not guaranteed to be set in happens-before order across separate operations. Clients may \
    not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. \
    Read-only. Null for lists. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

/// The columns beside the name; like the real server, none from the first whose path it cannot read.
pub(super) fn columns(resource: &Resource) -> Vec<&Column> {
    paths(resource)
        .into_iter()
        .map(|(column, _)| column)
        .collect()
}

fn paths(resource: &Resource) -> Vec<(&Column, JsonPath)> {
    let columns = resource.columns.iter();
    let read = columns.map_while(|column| Some((column, JsonPath::parse(&column.path).ok()?)));
    read.collect()
}

/// What fills a row.
pub(super) fn cells<'a>(resource: &'a Resource, now: Timestamp) -> Cells<'a> {
    let paths = paths(resource);
    Box::new(move |object| {
        let name = object
            .pointer("/metadata/name")
            .cloned()
            .unwrap_or_default();
        let cells = paths
            .iter()
            .map(|(column, path)| cell(&column.kind, path, object, now));
        std::iter::once(name).chain(cells).collect()
    })
}

pub(super) fn cell(kind: &str, path: &JsonPath, object: &Value, now: Timestamp) -> Value {
    let Some(value) = path.first(object) else {
        return Value::Null;
    };
    match (kind, value) {
        ("string", Value::Null) => "<no value>".into(),
        ("string", Value::Array(_)) => {
            mutant!(ColumnsDoNotShowLists, json(value).into(), Value::Null)
        }
        ("string", Value::Object(_)) => json(value).into(),
        ("string", value) => plain(value).into(),
        ("integer", Value::Number(number)) => whole(number).into(),
        ("number", Value::Number(number)) => number.as_f64().into(),
        ("boolean", Value::Bool(_)) => value.clone(),
        ("date", Value::String(text)) => date(text, now).into(),
        _ => Value::Null,
    }
}

/// A number without its fraction; Go has the least integer for what is too large.
fn whole(number: &Number) -> Option<i64> {
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    number.as_i64().or_else(|| {
        let float = number.as_f64()?;
        Some(if float.abs() < BEYOND {
            float as i64
        } else {
            i64::MIN
        })
    })
}

fn date(text: &str, now: Timestamp) -> String {
    if text.is_empty() || text == "null" {
        return age::UNKNOWN.to_owned();
    }
    match text.parse() {
        Ok(then) => age::human_duration_since(then, now),
        Err(_) => "<invalid>".to_owned(),
    }
}
