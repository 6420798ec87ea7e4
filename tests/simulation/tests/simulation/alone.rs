//! Each fault alone, wherever it can happen in a Greeting's life.

use windlass_simulation::fault::{Fault, What};
use windlass_simulation::network::Class;
use windlass_simulation::run::Case;

use crate::life::sent;
use crate::{all_hold, all_meet_and_hold};

/// One fault of each size at each of these places.
fn cases(whats: impl Fn(What) -> bool, places: &(impl Iterator<Item = u64> + Clone)) -> Vec<Case> {
    let whats = What::ALL.iter().copied().filter(|what| whats(*what));
    let faults = whats.flat_map(|what| {
        let places = places.clone();
        let sizes = what.sizes().iter();
        sizes.flat_map(move |size| {
            let size = *size;
            places.clone().map(move |at| Fault { what, at, size })
        })
    });
    faults.map(|fault| Case::life(&[fault])).collect()
}

#[test]
fn every_fault_of_a_write_is_survived_at_every_write() {
    let crashes = [What::CrashBefore, What::CrashDone, What::CrashAfter];
    let at_writes = |what: What| what.class() == Some(Class::Write) && !crashes.contains(&what);
    all_meet_and_hold(&cases(at_writes, &(0..sent(Class::Write))));
}

#[test]
fn every_fault_of_a_read_or_a_watch_is_survived_at_each_of_them() {
    let reads = |what: What| what.class() == Some(Class::Read);
    all_meet_and_hold(&cases(reads, &(0..sent(Class::Read))));
    let lists = |what: What| matches!(what, What::ListStale | What::ListShuffled);
    all_hold(&cases(lists, &(0..3)));
    let watches = |what: What| what.class() == Some(Class::Watch);
    all_hold(&cases(watches, &(0..3)));
}

#[test]
fn every_fault_of_a_lease_and_of_a_host_is_survived_at_some_moment_of_a_life() {
    let renewals = |what: What| what.class() == Some(Class::Renewal);
    all_hold(&cases(renewals, &(0..4)));
    let moments = (0..8).map(|step| step * 450);
    for hosts in [1, 2] {
        let mut cases = cases(What::is_timed, &moments);
        cases.iter_mut().for_each(|case| case.hosts = hosts);
        all_hold(&cases);
    }
}
