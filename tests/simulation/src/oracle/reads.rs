//! O5: no wake-up is lost, and nobody reads what is older than what was known.
//!
//! - When all is to be stable, the last pass over each primary has seen its last version, the last version of
//!   all that it read, and began after others had last touched what it owns. What hosts wrote themselves counts
//!   as seen.
//! - What a key reads is never older than what it has read, or what a write of its was answered with.
//! - Who takes over sees at least what there was when it got the Lease.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use windlass_apiserver::history::Record;
use windlass_apiserver::store::Entry;
use windlass_controller::controller::{Record as Pass, Step};
use windlass_kube::object::Key;
use windlass_kube::selector::LabelSelector;
use windlass_view::Saw;

use super::Failure;
use super::exclusive::is_lease;
use super::past::{Past, concerns, is_in, key_of, text};
use crate::fault::What;
use crate::run::Evidence;

/// The number of a version.
fn number(version: &str) -> u64 {
    version.parse().unwrap_or(0)
}

fn is_of_host(record: &Record) -> bool {
    record.user.starts_with("host-")
}

/// When a pass was over.
fn end_of(pass: &Pass) -> Timestamp {
    pass.began.checked_add(pass.took).unwrap_or(pass.began)
}

pub(super) fn judge(run: &Evidence) -> Vec<Failure> {
    let past = Past::of(run);
    let mut failures = wake_ups(run, &past);
    failures.extend(never(run, &past));
    failures
}

/// The same, but for what lists show: a list of children with those that nobody owns is not told from one without them.
pub(super) fn judge_wake_ups(run: &Evidence) -> Vec<Failure> {
    wake_ups(run, &Past::of(run))
}

fn wake_ups(run: &Evidence, past: &Past<'_>) -> Vec<Failure> {
    let mut failures = Vec::new();
    failures.extend(lost(run, past));
    failures.extend(back(run));
    failures.extend(taken_over(run, past));
    failures
}

/// What the last pass over a primary should have seen, and has not.
fn lost(run: &Evidence, past: &Past<'_>) -> Option<Failure> {
    let (_, kind) = run.which.kind();
    let primaries = past.state(run.stable).filter(|((of, _), _)| of == kind);
    let leader = leader(run);
    for ((_, key), last) in primaries {
        let Some(object) = last.after.as_ref().map(|entry| entry.value()) else {
            continue;
        };
        // Others may have passed over it since, by what they saw before they lost the Lease: they write nothing.
        let leads = |(host, _): &&(Arc<str>, Vec<Arc<Pass>>)| **host == *leader;
        let all = run
            .passes
            .iter()
            .filter(leads)
            .flat_map(|(_, passes)| passes);
        let of = all.filter(|pass| {
            let primary = &pass.primary;
            *primary.resource.kind == *kind && primary.key == *key && pass.error.is_none()
        });
        let newest = of
            .filter(|pass| end_of(pass) <= run.stable_at)
            .max_by_key(|pass| pass.began);
        let missed = match newest {
            Some(pass) => missed(pass, (kind, text(&object, "/metadata/uid")), run, past),
            None => Some("no pass has ended well".to_owned()),
        };
        if let Some(missed) = missed {
            return Some(Failure::new("O5 wake-ups", format!("{key}: {missed}")));
        }
    }
    None
}

fn missed(
    pass: &Arc<Pass>,
    (kind, uid): (&str, &str),
    run: &Evidence,
    past: &Past<'_>,
) -> Option<String> {
    let until = run.stable;
    let foreign = past
        .writes(kind)
        .filter(|write| {
            write.revision <= until && key_of(write) == pass.primary.key && !is_of_host(write)
        })
        .map(|write| write.revision)
        .max()
        .unwrap_or(0);
    // Two changes that come to nothing wake nobody if the first is never heard of.
    let seen = number(&pass.version);
    if seen < foreign && !past.is_same(kind, &pass.primary.key, seen, until) {
        let text = format!("the last pass saw version {}, not {foreign}", pass.version);
        return Some(text);
    }
    for saw in pass.journal.reads.iter().filter(|saw| !is_for_pruning(saw)) {
        if let Some(text) = is_out_of_date(saw, pass, until, past) {
            return Some(text);
        }
    }
    // What is or was owned wakes its owner, even if nobody reads it. A part that was applied wakes the
    // key that applied it.
    let state = past.state(until);
    let manager = manager(run, uid);
    // Few are later: only these are parsed.
    let mut later = state.filter(|(_, write)| write.time > pass.began && !is_of_host(write));
    let (name, write) = later.find(|(_, write)| {
        let mut sides = [&write.before, &write.after].into_iter().flatten();
        let owned =
            sides.any(|entry| text(&entry.value(), "/metadata/ownerReferences/0/uid") == uid);
        owned || takes_part_of(write, &manager)
    })?;
    Some(format!(
        "the last pass began at {}, before {} wrote {} {} at {}",
        pass.began, write.user, name.0, name.1, write.time
    ))
}

/// Who owns what a pass over the primary with this UID applies to what that does not own.
fn manager(run: &Evidence, uid: &str) -> String {
    let digits: String = uid
        .chars()
        .filter(char::is_ascii_hexdigit)
        .take(8)
        .collect();
    format!("windlass/{}/{digits}", run.which.name())
}

/// Whether a write has taken from `manager` what it had applied: some fields, or the object with them.
fn takes_part_of(write: &Record, manager: &str) -> bool {
    let part = |entry: &Arc<Entry>| {
        let entry = entry.value();
        let parts = entry.pointer("/metadata/managedFields")?.as_array()?;
        let part = parts
            .iter()
            .find(|part| text(part, "/manager") == manager)?;
        part.get("fieldsV1").cloned()
    };
    let before = write.before.as_ref().and_then(part);
    before.is_some() && before != write.after.as_ref().and_then(part)
}

/// Whether the host has read it, to find what an earlier set held: children wake their owner, and no other.
fn is_for_pruning(saw: &Saw) -> bool {
    matches!(saw, Saw::List { owner: Some(_), .. })
}

fn is_out_of_date(saw: &Saw, pass: &Pass, until: u64, past: &Past<'_>) -> Option<String> {
    match saw {
        Saw::Object { kind, key, version } => {
            let last = past.last(kind, key, until);
            let seen = version.as_deref().map_or(0, number);
            let now = last.filter(|last| last.after.is_some());
            let now = now.map_or(0, |last| last.revision);
            let own = last.is_some_and(is_of_host);
            let same = seen > 0 && past.is_same(kind, key, seen, until);
            (now != seen && !own && !same)
                .then(|| format!("{kind} {key} was read as {seen}, and is {now}"))
        }
        Saw::List {
            kind,
            namespace,
            selector,
            count,
            ..
        } => {
            let parsed = LabelSelector::parse(selector).ok()?;
            let namespace = namespace.as_deref();
            let now = past
                .state(until)
                .filter(|((of, _), last)| of == kind && is_in(last, namespace, &parsed));
            let now = now.count();
            let mut own = past.writes(kind).filter(|write| {
                is_of_host(write) && write.time >= pass.began && concerns(write, namespace, &parsed)
            });
            (now != *count && own.next().is_none())
                .then(|| format!("{count} {kind} with {selector} were listed, and there are {now}"))
        }
    }
}

/// Whether a pass showed its object to the plugin. The host may have looked at an object outside the selector, whose store is
/// another one, to finalize it, and have found it gone.
fn shows(pass: &Pass) -> bool {
    pass.step != Step::Finalize || pass.memory > 0
}

/// A read that shows less than what the key knew.
fn back(run: &Evidence) -> Option<Failure> {
    for (host, passes) in &run.passes {
        let mut known: BTreeMap<(&Key, &str, &Key), u64> = BTreeMap::new();
        for pass in passes {
            let primary = &pass.primary;
            let own = (&*primary.resource.kind, &primary.key, number(&pass.version));
            let own = shows(pass).then_some(own);
            let reads = pass.journal.reads.iter().filter_map(|saw| match saw {
                Saw::Object { kind, key, version } => {
                    Some((kind.as_str(), key, number(version.as_deref()?)))
                }
                Saw::List { .. } => None,
            });
            for (kind, key, version) in reads.chain(own) {
                let held = known.entry((&pass.primary.key, kind, key)).or_default();
                if version < *held {
                    let text = format!(
                        "{host} saw {kind} {key} at {version} in the pass over {} at {}, after {held}",
                        pass.primary.key, pass.began
                    );
                    return Some(Failure::new("O5 back in time", text));
                }
                *held = version;
            }
            for wrote in &pass.journal.writes {
                let version = wrote.version.as_deref().map_or(0, number);
                let held = known
                    .entry((&pass.primary.key, &wrote.kind, &wrote.key))
                    .or_default();
                *held = version.max(*held);
            }
        }
    }
    None
}

/// Who has the Lease when all is to be stable.
fn leader(run: &Evidence) -> String {
    let mut leases = run.history.iter().rev();
    let lease = leases.find(|it| is_lease(run, it) && it.revision <= run.stable);
    let lease = lease
        .and_then(|record| record.after.as_ref())
        .map(|entry| entry.value())
        .unwrap_or_default();
    text(&lease, "/spec/holderIdentity").to_owned()
}

/// When each host first got the Lease: the revision.
fn epochs(run: &Evidence) -> BTreeMap<String, u64> {
    let mut epochs = BTreeMap::new();
    for record in run.history.iter().filter(|it| is_lease(run, it)) {
        let lease = record.after.as_ref().map(|entry| entry.value());
        let lease = lease.unwrap_or_default();
        let holder = text(&lease, "/spec/holderIdentity").to_owned();
        epochs.entry(holder).or_insert(record.revision);
    }
    epochs
}

/// A pass on a state from before the host had the Lease.
fn taken_over(run: &Evidence, past: &Past<'_>) -> Option<Failure> {
    // Nobody can tell whether the first list is an old one.
    let old = [What::ListStale, What::OldServer];
    if run.faults.iter().any(|fault| old.contains(&fault.what)) {
        return None;
    }
    let epochs = epochs(run);
    for (host, passes) in &run.passes {
        let Some(epoch) = epochs.get(&**host) else {
            continue;
        };
        for pass in passes.iter().filter(|pass| shows(pass)) {
            let primary = &pass.primary;
            let Some(then) = past.last(&primary.resource.kind, &primary.key, *epoch) else {
                continue;
            };
            if number(&pass.version) < then.revision {
                let text = format!(
                    "{host}, which got the Lease at {epoch}, saw {} at {}, though it had come to {}",
                    primary.key, pass.version, then.revision
                );
                return Some(Failure::new("O5 take-over", text));
            }
        }
    }
    None
}

/// A list that shows more than ever was since the host has the Lease, or less than was all the time.
fn never(run: &Evidence, past: &Past<'_>) -> Option<Failure> {
    let loses = run.faults.iter().any(|fault| {
        fault.what.loses_events() || matches!(fault.what, What::ListStale | What::OldServer)
    });
    if loses {
        return None;
    }
    let epochs = epochs(run);
    for (host, passes) in &run.passes {
        let epoch = epochs.get(&**host).copied().unwrap_or(0);
        for pass in passes {
            let lists = pass.journal.reads.iter().filter_map(|saw| match saw {
                Saw::List {
                    kind,
                    namespace,
                    owner,
                    selector,
                    count,
                } => Some((kind, namespace.as_deref(), owner, selector, *count)),
                Saw::Object { .. } => None,
            });
            for (kind, namespace, owner, selector, count) in lists {
                let Ok(parsed) = LabelSelector::parse(selector) else {
                    continue;
                };
                let list = (kind.as_str(), namespace, owner.as_deref(), &parsed);
                let (least, most) = bounds(list, (epoch, end_of(pass)), past);
                if !(least..=most).contains(&count) {
                    let text = format!(
                        "{host} listed {count} {kind} with {selector} in the pass over {} at {}, and there were {least} to {most}",
                        pass.primary.key, pass.began
                    );
                    return Some(Failure::new("O5 never there", text));
                }
            }
        }
    }
    None
}

fn is_owned_by(record: &Record, uid: &str) -> bool {
    let owner = |entry: &Arc<Entry>| {
        let owners = entry.value();
        let owners = owners.pointer("/metadata/ownerReferences")?.as_array()?;
        Some(owners.iter().any(|owner| text(owner, "/uid") == uid))
    };
    record.after.as_ref().and_then(owner).unwrap_or_default()
}

/// How many there were all the time, from a revision to a time, and how many at some time: the answers to a
/// host's own writes come before what others did earlier.
fn bounds(
    (kind, namespace, owner, selector): (&str, Option<&str>, Option<&str>, &LabelSelector),
    (from, until): (u64, Timestamp),
    past: &Past<'_>,
) -> (usize, usize) {
    let is_there = |record: &Record| {
        is_in(record, namespace, selector) && owner.is_none_or(|uid| is_owned_by(record, uid))
    };
    let mut names: BTreeMap<Key, (bool, bool)> = BTreeMap::new();
    for ((of, key), last) in past.state(from) {
        if of == kind {
            let there = is_there(last);
            names.insert(key.clone(), (there, there));
        }
    }
    let changes = past
        .writes(kind)
        .filter(|write| write.revision > from && write.time <= until);
    for write in changes {
        let there = is_there(write);
        let (always, ever) = names.entry(key_of(write)).or_default();
        *always &= there;
        *ever |= there;
    }
    let always = names.values().filter(|(always, _)| *always).count();
    (always, names.values().filter(|(_, ever)| *ever).count())
}
