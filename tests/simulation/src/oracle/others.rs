//! O13: no host changes, owns or deletes what the user made.
//!
//! - Primaries aside, which the plugin is for, and notes, of which O3 knows which may be deleted.

use std::collections::BTreeSet;

use super::Failure;
use super::past::text;
use super::stable::is_of_plugin;
use crate::run::Evidence;

pub(super) fn judge(run: &Evidence) -> Option<Failure> {
    let mut theirs = BTreeSet::new();
    for record in &run.history {
        let name = &*record.key.name;
        if record.place.plural == run.which.plural() || name.starts_with("note-") {
            continue;
        }
        let Some(object) = record.before.as_ref().or(record.after.as_ref()) else {
            continue;
        };
        let uid = text(&object.value(), "/metadata/uid").to_owned();
        if record.before.is_none() && record.user == "user" {
            theirs.insert(uid);
        } else if is_of_plugin(record) && theirs.contains(&uid) {
            let text = format!(
                "{} writes {} {name} at {}, which the user made",
                record.user, record.place.plural, record.time
            );
            return Some(Failure::new("O13 others' objects", text));
        }
    }
    None
}
