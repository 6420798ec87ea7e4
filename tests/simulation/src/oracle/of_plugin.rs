//! A run as one of several plugins sees it: the writes of the others are somebody else's.

use std::mem::swap;

use windlass_apiserver::history::Record;
use windlass_apiserver::request::route::Verb;

use super::past::text;
use crate::run::Evidence;
use crate::which::Which;

/// Shows a run to `judge` as if it were about one plugin alone: 0 is the one that it is about, and the others follow.
pub(super) fn look(run: &mut Evidence, number: usize, judge: impl FnOnce(&Evidence)) {
    let main = run.which;
    let other = number.checked_sub(1);
    exchange(run, other);
    let which = run.which;
    let history = run.history.clone();
    for record in &mut run.history {
        if record.user.starts_with("host-") && author(record).is_some_and(|author| author != which)
        {
            record.user = format!("beside-{}", record.user);
        }
    }
    judge(run);
    run.history = history;
    exchange(run, other);
    assert_eq!(run.which, main);
}

/// Puts another plugin in the place of the one that the run is about.
fn exchange(run: &mut Evidence, other: Option<usize>) {
    if let Some((which, passes)) = other.and_then(|at| run.others.get_mut(at)) {
        swap(&mut run.which, which);
        swap(&mut run.passes, passes);
    }
}

/// Which plugin a host made a write for; none if it is the host's own.
fn author(record: &Record) -> Option<Which> {
    let named = record.manager.strip_prefix("windlass/");
    let named = named.and_then(|rest| rest.split('/').next());
    if let Some(named) = named {
        let mut all = Which::WORKLOADS.into_iter();
        return all.find(|which| which.name() == named);
    }
    // A deletion names nobody.
    let object = record.before.as_ref().or(record.after.as_ref())?.value();
    let owner = text(&object, "/metadata/ownerReferences/0/kind").to_owned();
    match (record.place.plural.as_str(), owner.as_str()) {
        ("pods", "ReplicaSet") => Some(Which::ReplicaSet),
        ("pods", _) => Some(Which::Job),
        ("replicasets", _) if record.verb == Verb::Delete => Some(Which::Deployment),
        _ => None,
    }
}
