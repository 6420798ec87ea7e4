//! O1: the state in the end is the one that runs without faults end in.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use windlass_apiserver::history::Record;

use super::stable::is_exempt;
use crate::run::Evidence;

/// Fields that say when, or that count what happened on the way.
const MASKED: [&str; 6] = [
    "creationTimestamp",
    "lastTransitionTime",
    "resourceVersion",
    "generation",
    "time",
    "deletionTimestamp",
];

/// What is there in the end, with names in place of uids.
#[derive(Clone, Debug, PartialEq)]
pub struct State(BTreeMap<String, Value>);

/// Gives primaries names that are the same in each run: `ada#2` is the second of that name.
pub(super) struct Names(Vec<(String, String)>);

impl Names {
    pub(super) fn of(run: &Evidence) -> Self {
        let mut count: BTreeMap<String, usize> = BTreeMap::new();
        let mut names = Vec::new();
        for record in &run.history {
            if record.place.plural != run.which.plural() || record.before.is_some() {
                continue;
            }
            let Some(uid) = record
                .after
                .as_ref()
                .and_then(|after| uid_of(&after.value()))
            else {
                continue;
            };
            let number = count.entry(record.key.name.to_string()).or_default();
            *number += 1;
            let name = format!("{}#{number}", record.key.name);
            // Field managers and the like carry the beginning of it.
            let short: String = uid.chars().take(8).collect();
            names.push((uid, format!("<{name}>")));
            names.push((short, format!("<{name}>")));
        }
        Self(names)
    }

    /// `text` with names in place of uids.
    pub(super) fn in_text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (uid, name) in &self.0 {
            text = text.replace(uid, name);
        }
        text
    }

    /// What a record is about: `configmaps default/ada-greeting`.
    pub(super) fn object(&self, record: &Record) -> String {
        let (plural, key) = (&record.place.plural, &record.key);
        self.in_text(&format!("{plural} {}/{}", key.namespace, key.name))
    }
}

/// The uid of an object.
pub(super) fn uid_of(object: &Value) -> Option<String> {
    Some(object.pointer("/metadata/uid")?.as_str()?.to_owned())
}

impl State {
    /// The state that a run ends in.
    pub fn of(run: &Evidence) -> Self {
        let names = Names::of(run);
        let mut last = BTreeMap::new();
        for record in run.history.iter().filter(|record| !is_exempt(record)) {
            last.insert(names.object(record), record.after.clone());
        }
        let there = last.into_iter().filter_map(|(name, entry)| {
            let text = names.in_text(&entry?.value().to_string());
            let mut value: Value = serde_json::from_str(&text).ok()?;
            mask(&mut value);
            if let Some(Value::Object(metadata)) = value.get_mut("metadata") {
                metadata.remove("uid");
                tidy_managers(metadata);
            }
            Some((name, value))
        });
        Self(there.collect())
    }

    /// What `other` has otherwise, in words.
    pub fn difference(&self, other: &Self) -> Vec<String> {
        let names: BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        let mut all = Vec::new();
        for name in names {
            match (self.0.get(name), other.0.get(name)) {
                (Some(_), None) => all.push(format!("{name} is missing")),
                (None, Some(_)) => all.push(format!("{name} is there")),
                (Some(want), Some(got)) => compare(name, want, got, &mut all),
                (None, None) => {}
            }
        }
        all
    }
}

fn mask(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            MASKED.iter().for_each(|name| drop(fields.remove(*name)));
            fields.values_mut().for_each(mask);
        }
        Value::Array(items) => items.iter_mut().for_each(mask),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The server sorts them by time; and who updates a list that others update as well is said to have made
/// what it found, in whatever order they came. Who applies owns what it applies.
fn tidy_managers(metadata: &mut Map<String, Value>) {
    if let Some(Value::Array(managers)) = metadata.get_mut("managedFields") {
        managers.retain(|manager| manager.get("operation").is_none_or(|it| it != "Update"));
        managers.sort_by_key(ToString::to_string);
    }
}

fn compare(path: &str, want: &Value, got: &Value, all: &mut Vec<String>) {
    match (want, got) {
        (Value::Object(want), Value::Object(got)) => {
            let names: BTreeSet<&String> = want.keys().chain(got.keys()).collect();
            for name in names {
                let nothing = Value::Null;
                let of = |fields: &Map<String, Value>| {
                    fields.get(name).cloned().unwrap_or(nothing.clone())
                };
                compare(&format!("{path} .{name}"), &of(want), &of(got), all);
            }
        }
        _ if want != got => all.push(format!("{path}: {want} should be, {got} is")),
        _ => {}
    }
}
