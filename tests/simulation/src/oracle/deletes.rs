//! O3: nothing is deleted that the plugin, on the true state of that moment, would have kept.
//!
//! - What each plugin would do is said here a second time, as a rule about the true history.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use windlass_apiserver::history::Record;
use windlass_apiserver::request::route::Verb;

use super::Failure;
use super::past::text;
use super::stable::is_of_plugin;
use crate::run::Evidence;
use crate::which::Which;

/// A primary may change while a pass goes on: what it said so recently counts as well.
const LATELY: SignedDuration = SignedDuration::from_secs(60);

/// What is known of one primary.
#[derive(Default)]
struct Primary {
    going: bool,
    /// What it said, and until when.
    specs: Vec<(Value, Option<Timestamp>)>,
}

pub(super) fn judge(run: &Evidence) -> Option<Failure> {
    let mut primaries: BTreeMap<String, Primary> = BTreeMap::new();
    for record in &run.history {
        if record.place.plural == run.which.plural() {
            follow(record, &mut primaries);
        } else if is_of_plugin(record)
            && record.verb == Verb::Delete
            && let Some(why) = unjustified(record, run.which, &primaries)
        {
            let text = format!(
                "{} deletes {} {} at {}, though {why}",
                record.user, record.place.plural, record.key.name, record.time
            );
            return Some(Failure::new("O3 deletes", text));
        }
    }
    None
}

fn follow(record: &Record, primaries: &mut BTreeMap<String, Primary>) {
    let Some(entry) = record.after.as_ref().or(record.before.as_ref()) else {
        return;
    };
    let object = entry.value();
    let uid = text(&object, "/metadata/uid").to_owned();
    let primary = primaries.entry(uid).or_default();
    primary.going |= entry.deleting || record.after.is_none();
    let spec = object.get("spec").cloned().unwrap_or_default();
    match primary.specs.last_mut() {
        Some((held, _)) if *held == spec => {}
        last => {
            if let Some((_, until)) = last {
                *until = Some(record.time);
            }
            primary.specs.push((spec, None));
        }
    }
}

fn unjustified(
    record: &Record,
    which: Which,
    primaries: &BTreeMap<String, Primary>,
) -> Option<String> {
    let before = record.before.as_ref()?.value();
    let name = &*record.key.name;
    if let Some(uid) = name.strip_prefix(which.entry())
        && let Some(primary) = primaries.get(uid)
    {
        return (!primary.going).then(|| "its primary stays".to_owned());
    }
    let Some(note) = name.strip_prefix("note-") else {
        return child(record, &before, which, primaries);
    };
    let expired = text(&before, "/data/expired") == "true";
    (!expired).then(|| format!("the note {note} has not expired"))
}

fn child(
    record: &Record,
    before: &Value,
    which: Which,
    primaries: &BTreeMap<String, Primary>,
) -> Option<String> {
    let owner = before
        .pointer("/metadata/ownerReferences/0")
        .cloned()
        .unwrap_or_default();
    let Some(primary) = primaries.get(text(&owner, "/uid")) else {
        return Some("it has no primary".to_owned());
    };
    let book = record.key.name.strip_prefix(text(&owner, "/name"));
    let book = book
        .and_then(|rest| rest.strip_prefix('-'))
        .unwrap_or_default();
    let since = record.time - LATELY;
    let mut lately = primary
        .specs
        .iter()
        .filter(|(_, until)| until.is_none_or(|until| until >= since));
    let lacks = |spec: &Value| match which {
        Which::Steward => {
            let books = spec.get("books").and_then(Value::as_array);
            !books.is_some_and(|books| books.iter().any(|held| held == book))
        }
        _ => false,
    };
    let meant = lately.any(|(spec, _)| lacks(spec));
    (!meant).then(|| "its primary wants it".to_owned())
}
