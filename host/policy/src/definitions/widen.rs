//! Widens a definition: what is there stays, and what is missing comes.

use serde_json::{Map, Value};

use super::check::{OF_ALL, preserves};
use super::{version_name, versions};

/// `present` with what `carried` has beyond it: versions, fields, subresources, printer columns, short names and
/// categories. A version that comes is not stored.
pub(super) fn widened(carried: &Value, present: &Value) -> Value {
    let mut wide = present.clone();
    for name in ["shortNames", "categories"] {
        add_words(carried, &mut wide, name);
    }
    let Some(Value::Array(list)) = wide.pointer_mut("/spec/versions") else {
        return wide;
    };
    for ours in versions(carried) {
        let mut its = list.iter_mut();
        match its.find(|its| version_name(its) == version_name(ours)) {
            Some(its) => widen_version(ours, its),
            None => {
                let mut new = ours.clone();
                if let Value::Object(new) = &mut new {
                    new.insert("storage".into(), false.into());
                }
                list.push(new);
            }
        }
    }
    wide
}

/// Adds the words of a list of names that are not there.
fn add_words(carried: &Value, wide: &mut Value, name: &str) {
    let words = carried.pointer(&format!("/spec/names/{name}"));
    let Some(Value::Object(names)) = wide.pointer_mut("/spec/names") else {
        return;
    };
    add_to_list(words, names, name, |one, other| one == other);
}

fn widen_version(ours: &Value, its: &mut Value) {
    let Value::Object(its) = its else {
        return;
    };
    add_below(
        ours.get("subresources"),
        its,
        "subresources",
        |ours, held| {
            held.entry(ours.0).or_insert_with(|| ours.1.clone());
        },
    );
    let columns = "additionalPrinterColumns";
    add_to_list(ours.get(columns), its, columns, |one, other| {
        one.get("name") == other.get("name")
    });
    let ours = ours.pointer("/schema/openAPIV3Schema");
    let its = its
        .get_mut("schema")
        .and_then(|schema| schema.get_mut("openAPIV3Schema"));
    if let (Some(ours), Some(its)) = (ours, its) {
        widen_schema(ours, its, &OF_ALL);
    }
}

/// Adds the fields that are not there, at every depth, but for `left_out` of them. None is required.
fn widen_schema(ours: &Value, its: &mut Value, left_out: &[&str]) {
    if preserves(its) {
        // It takes them all: a schema of theirs would take less.
        return;
    }
    let Value::Object(its) = its else {
        return;
    };
    if let (Some(ours), Some(its)) = (ours.get("items"), its.get_mut("items")) {
        widen_schema(ours, its, &[]);
    }
    if let Some(values) = its.get_mut("additionalProperties") {
        // Beside it a schema must not name properties.
        if let Some(ours) = ours.get("additionalProperties") {
            widen_schema(ours, values, &[]);
        }
        return;
    }
    if its.get("type").and_then(Value::as_str) == Some("object") {
        add_below(
            ours.get("properties"),
            its,
            "properties",
            |(name, ours), held| match held.get_mut(&name) {
                _ if left_out.contains(&&*name) => {}
                Some(its) => widen_schema(ours, its, &[]),
                None => {
                    held.insert(name, ours.clone());
                }
            },
        );
    }
}

/// Adds each entry of `ours` to the object under `name`, if need be to a new one.
fn add_below(
    ours: Option<&Value>,
    map: &mut Map<String, Value>,
    name: &str,
    add: impl Fn((String, &Value), &mut Map<String, Value>),
) {
    let Some(Value::Object(ours)) = ours else {
        return;
    };
    let mut new = Map::new();
    let held = match map.get_mut(name) {
        Some(Value::Object(held)) => held,
        _ => &mut new,
    };
    for (name, value) in ours {
        add((name.clone(), value), held);
    }
    if !new.is_empty() {
        map.insert(name.to_owned(), new.into());
    }
}

/// Adds what is not `same` as something there to the list under `name`, if need be to a new one.
fn add_to_list(
    ours: Option<&Value>,
    map: &mut Map<String, Value>,
    name: &str,
    same: impl Fn(&Value, &Value) -> bool,
) {
    let Some(Value::Array(ours)) = ours else {
        return;
    };
    let mut new = Vec::new();
    let held = match map.get_mut(name) {
        Some(Value::Array(held)) => held,
        _ => &mut new,
    };
    for value in ours {
        if !held.iter().any(|held| same(held, value)) {
            held.push(value.clone());
        }
    }
    if !new.is_empty() {
        map.insert(name.to_owned(), new.into());
    }
}
