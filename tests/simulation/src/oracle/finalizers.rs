//! O7: no primary is reconciled unprotected, finalized by half, or left behind.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use windlass_apiserver::history::Record;

use super::Failure;
use super::stable::is_of_plugin;
use super::state::uid_of;
use crate::run::Evidence;
use crate::which::Which;

/// The life of one primary, by its uid.
#[derive(Default)]
struct Life {
    name: String,
    protected: bool,
    released: bool,
    deleting: bool,
    gone: bool,
}

pub(super) fn judge(run: &Evidence) -> Vec<Failure> {
    let mut lives: BTreeMap<String, Life> = BTreeMap::new();
    let mut entries: BTreeSet<String> = BTreeSet::new();
    let mut failures = Vec::new();
    for record in &run.history {
        let place = record.place.plural.as_str();
        if place == run.which.plural() {
            failures.extend(follow(record, run.which, &mut lives, &entries));
        } else if is_of_plugin(record) && record.before.is_none() {
            failures.extend(made(record, run.which, &lives));
        }
        if place == "configmaps" {
            let name = record.key.name.to_string();
            if record.after.is_some() {
                entries.insert(name);
            } else {
                entries.remove(&name);
            }
        }
    }
    for life in lives.values().filter(|life| life.deleting && !life.gone) {
        failures.push(fail(&life.name, "waits for its deletion in the end"));
    }
    failures
}

fn fail(name: &str, text: &str) -> Failure {
    Failure::new("O7 finalizers", format!("{name} {text}"))
}

fn follow(
    record: &Record,
    which: Which,
    lives: &mut BTreeMap<String, Life>,
    entries: &BTreeSet<String>,
) -> Option<Failure> {
    let object = record.after.as_ref().or(record.before.as_ref())?.value();
    let uid = uid_of(&object)?;
    let name = format!("{} ({uid})", record.key.name);
    let life = lives.entry(uid.clone()).or_default();
    life.name.clone_from(&name);
    let held = record.after.is_some() && carries(&object, &which.finalizer());
    let (was, was_deleting) = (life.protected, life.deleting);
    life.deleting |= object.pointer("/metadata/deletionTimestamp").is_some();
    life.gone = record.after.is_none();
    life.protected = held;
    match (was, held) {
        (false, true) if life.released => Some(fail(&name, "is protected again after its release")),
        (false, true) if was_deleting => Some(fail(&name, "is protected while it is deleted")),
        (true, false) => {
            life.released = true;
            // What the plugin's `finalize` is for.
            let left = entries.contains(&format!("{}{uid}", which.entry()));
            left.then(|| fail(&name, "is let go before it is finalized"))
        }
        _ => None,
    }
}

fn carries(object: &Value, finalizer: &str) -> bool {
    let finalizers = object
        .pointer("/metadata/finalizers")
        .and_then(Value::as_array);
    finalizers.is_some_and(|finalizers| finalizers.iter().any(|held| *held == finalizer))
}

/// Something was made for a primary, which must have been protected by then.
fn made(record: &Record, which: Which, lives: &BTreeMap<String, Life>) -> Option<Failure> {
    let object = record.after.as_ref()?.value();
    let owner = object
        .pointer("/metadata/ownerReferences/0/uid")
        .and_then(Value::as_str);
    let entry = record.key.name.strip_prefix(which.entry());
    let uid = owner.or(entry)?;
    let life = lives.get(uid)?;
    let was_protected = life.protected || life.released;
    (!was_protected).then(|| fail(&life.name, "is reconciled before it is protected"))
}
