//! O2: nothing is made or deleted more often than without faults, and there are not many more writes.

use std::collections::{BTreeMap, BTreeSet};

use windlass_apiserver::store::Entry;

use super::past::text;
use super::stable::is_of_plugin;
use super::state::Names;
use super::{Failure, Reference};
use crate::fault::{Fault, What};
use crate::run::Evidence;
use crate::which::Which;

/// Writes more than without faults, for each fault and each time that a host came up.
const MORE: usize = 25;

/// Writes more while two hosts hold a Lease that somebody deleted: where one of them sees an object late they
/// disagree about it, until each was slowed down as a hot loop after 40 writes of each of two objects.
const FIGHT: usize = 2 * 2 * 40;

/// How often the plugin wrote what.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    objects: BTreeMap<String, Count>,
    writes: usize,
}

#[derive(Clone, Debug, Default)]
struct Count {
    /// By the plugin.
    made: usize,
    /// By the plugin.
    deleted: usize,
    /// Of what the plugin made, by anybody else.
    lost: usize,
}

impl Counts {
    /// Counts the writes of a run.
    pub fn of(run: &Evidence) -> Self {
        let names = Names::of(run);
        let mut counts = Self::default();
        let mut theirs = BTreeSet::new();
        for record in &run.history {
            let ours = is_of_plugin(record);
            counts.writes += usize::from(ours);
            let count = counts.objects.entry(names.object(record)).or_default();
            match (&record.before, &record.after) {
                (None, Some(_)) if ours => count.made += 1,
                (None, Some(made)) => drop(theirs.insert(uid(made))),
                // The last finalizer that goes takes the object with it: that is nobody's delete.
                (Some(before), None) if ours && !before.deleting => count.deleted += 1,
                (Some(before), None) if !theirs.contains(&uid(before)) => count.lost += 1,
                _ => {}
            }
        }
        counts
    }
}

fn uid(entry: &Entry) -> String {
    text(&entry.value(), "/metadata/uid").to_owned()
}

pub(super) fn compare(run: &Evidence, reference: &Reference) -> Vec<Failure> {
    let counts = Counts::of(run);
    let mut failures = Vec::new();
    let nothing = Count::default();
    for (name, count) in &counts.objects {
        let usual: Vec<&Count> = reference
            .counts
            .iter()
            .map(|counts| counts.objects.get(name).unwrap_or(&nothing))
            .collect();
        // What is made for one primary may come too late in runs where that one does not live long.
        let once = usize::from(name.contains('#'));
        let deleted = usual.iter().map(|count| count.deleted).max();
        // Of a Bookcase's books and notes, O3 knows which may go.
        let counts = run.which == Which::Greeter;
        if counts && count.deleted > deleted.unwrap_or(0).max(once) {
            let text = format!("{name} is deleted {} times", count.deleted);
            failures.push(Failure::new("O2 deletes", text));
        }
        // How often it is made, apart from what others took away.
        let net = |count: &Count| count.made.saturating_sub(count.lost + count.deleted);
        let made = usual.iter().map(|count| net(count)).max().unwrap_or(0);
        if net(count) > made.max(once) {
            let text = format!(
                "{name} is made {} times, and lost {}",
                count.made, count.lost
            );
            failures.push(Failure::new("O2 creates", text));
        }
    }
    let usual = reference.counts.iter().map(|counts| counts.writes).max();
    let fights = |fault: &Fault| fault.what == What::LeaseDeleted;
    let fight = if run.faults.iter().any(fights) {
        FIGHT
    } else {
        0
    };
    let most = usual.unwrap_or(0) + MORE * (weight(run) + run.lives) + fight;
    if counts.writes > most {
        let text = format!("{} writes, where {most} would be many", counts.writes);
        failures.push(Failure::new("O2 writes", text));
    }
    failures
}

fn weight(run: &Evidence) -> usize {
    run.faults.len()
}
