//! Which pods are created, and which are deleted.

use std::collections::BTreeSet;

use jiff::Timestamp;
use windlass_kit::ranking::Order;

use crate::attempts::{self, Attempts};
use crate::backoff::Failures;
use crate::config::Config;
use crate::pod::Pod;
use crate::seen::{Seen, Tally};
use crate::verdict::Verdict;

/// What is to be done.
#[derive(Debug, Default)]
pub(crate) struct Plan<'a> {
    /// These active pods are deleted.
    pub(crate) delete: Vec<&'a Pod>,
    /// Whether the pods that are deleted count as failed.
    pub(crate) deleted_count: bool,
    /// These pods are created.
    pub(crate) create: Vec<NewPod>,
    /// When there may be more to do.
    pub(crate) wake: Option<Timestamp>,
    /// Whether a pass may not do all at once.
    pub(crate) is_cut: bool,
}

/// A pod that is created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NewPod {
    /// Its index.
    pub(crate) index: Option<usize>,
    /// How often the index has failed, if that is limited.
    pub(crate) attempts: Option<Attempts>,
}

/// What is to be done for a verdict.
pub(crate) fn plan<'a>(
    seen: &Seen<'a>,
    tally: &Tally,
    verdict: &Verdict,
    config: &Config,
) -> Plan<'a> {
    let all = || seen.active().collect();
    let mut plan = match verdict {
        Verdict::Failing(_) => Plan {
            delete: all(),
            deleted_count: true,
            ..Plan::default()
        },
        Verdict::Running if !seen.rules.suspended => scaled(seen, tally, config),
        Verdict::Succeeding(_) | Verdict::Running => Plan {
            delete: all(),
            ..Plan::default()
        },
    };
    let most = config.max_pods_per_pass;
    plan.is_cut = plan.delete.len() > most || plan.create.len() > most;
    plan.delete.truncate(most);
    plan.create.truncate(most);
    plan
}

/// What is to be done for a Job that goes on.
fn scaled<'a>(seen: &Seen<'a>, tally: &Tally, config: &Config) -> Plan<'a> {
    let rules = seen.rules;
    let wanted = match rules.completions {
        Some(completions) => rules
            .parallelism
            .min(completions.saturating_sub(tally.succeeded)),
        // When one pod has succeeded, the others end by themselves.
        None if tally.succeeded > 0 => tally.active,
        None => rules.parallelism,
    };
    let delete = excess(seen, wanted);
    let kept = tally.active - delete.len();
    // A pod that is being deleted holds its place until it has failed.
    let held = if rules.waits_for_end {
        tally.terminating
    } else {
        0
    };
    let room = wanted.saturating_sub(kept + held);
    let plan = Plan {
        delete,
        ..Plan::default()
    };
    match room {
        0 => plan,
        _ => filled(seen, tally, config, room, plan),
    }
}

/// The active pods that are too many: those whose index is out of range or taken, and then those that are worth the least.
fn excess<'a>(seen: &Seen<'a>, wanted: usize) -> Vec<&'a Pod> {
    let order = Order {
        now: seen.now,
        by_cost: false,
    };
    let mut active: Vec<&Pod> = seen.active().collect();
    active.sort_by(|a, b| order.compare((&a.kit, 0), (&b.kit, 0)));
    let mut excess = Vec::new();
    if seen.rules.indexed {
        let mut taken = BTreeSet::new();
        // The best pod of an index comes last, and keeps it.
        active = active.into_iter().rev().fold(Vec::new(), |mut kept, pod| {
            if seen.is_in_range(pod) && taken.insert(pod.index) {
                kept.push(pod);
            } else {
                excess.push(pod);
            }
            kept
        });
        active.reverse();
    }
    let surplus = active.len().saturating_sub(wanted);
    excess.extend(active.into_iter().take(surplus));
    excess
}

/// A plan with pods for the room that there is, if failures do not delay them.
fn filled<'a>(
    seen: &Seen<'a>,
    tally: &Tally,
    config: &Config,
    room: usize,
    mut plan: Plan<'a>,
) -> Plan<'a> {
    let waits_until = |failures| {
        let until = config.backoff.until(failures);
        until.filter(|until| *until > seen.now)
    };
    if seen.rules.index_limit.is_some() {
        let last = attempts::last(seen);
        for index in pending(seen, tally, room) {
            let (attempts, failures) = attempts::next(seen, last.get(&index));
            match waits_until(failures) {
                Some(until) => plan.wake = Some(plan.wake.map_or(until, |wake| wake.min(until))),
                None => plan.create.push(NewPod {
                    index: Some(index),
                    attempts: Some(attempts),
                }),
            }
        }
        return plan;
    }
    plan.wake = waits_until(Failures::since_success(seen.finishes(), seen.counted));
    if plan.wake.is_some() {
        return plan;
    }
    plan.create = if seen.rules.indexed {
        let pending = pending(seen, tally, room).into_iter();
        pending
            .map(|index| NewPod {
                index: Some(index),
                attempts: None,
            })
            .collect()
    } else {
        vec![NewPod::default(); room]
    };
    plan
}

/// The first indexes that no pod works on.
fn pending(seen: &Seen<'_>, tally: &Tally, room: usize) -> Vec<usize> {
    let busy = seen
        .pods
        .iter()
        .filter(|pod| pod.is_active() || (pod.is_terminating() && seen.rules.waits_for_end));
    let done = tally.succeeded_indexes.and(&tally.failed_indexes);
    let taken = done.with(busy.filter_map(|pod| pod.index));
    taken.free(seen.rules.index_end()).take(room).collect()
}

#[cfg(test)]
mod tests;
