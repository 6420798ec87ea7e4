//! How the passes of one version end.
//!
//! - An object counts once, with its last pass: one that is tried again and again says no more than one that is not.
//! - A pass counts if its end says something of the version: it ended well, or its call failed, trapped or met a limit.
//! - It does not count if the API server gave no answer or asked for patience, if the Lease was lost, or if the host is
//!   to blame.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::last_ends::{LastEnds, ObjectHash};
use super::reconcile::{Pass, PassError};
use super::slowdown;
use windlass_base::seams::watch;
use windlass_base::text::clean;
use windlass_sandbox::{CallError, Plugin};

/// The number of objects that a tally knows, and the number of the newest that are the recent ones.
const KNOWN: usize = 1000;
const RECENT: usize = 100;

/// So many different errors are told apart.
const ERRORS: usize = 16;

/// The longest error that is kept, in bytes.
const TEXT: usize = 300;

/// A version that is called, and where it is counted how its passes end.
#[derive(Clone)]
pub struct CalledVersion {
    /// The version.
    pub plugin: Arc<Plugin>,
    /// Its count.
    pub tally: Arc<Tally>,
}

/// How the passes of one version have ended so far.
#[derive(Debug)]
pub struct Tally {
    counts: Mutex<Counts>,
    news: watch::Sender<()>,
}

#[derive(Debug)]
struct Counts {
    objects: LastEnds,
    errors: BTreeMap<String, u64>,
}

/// For how many objects the last pass has failed, of how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// The objects whose passes count.
    pub objects: u64,
    /// Those whose last pass failed.
    pub failed: u64,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            counts: Mutex::new(Counts {
                objects: LastEnds::of(KNOWN),
                errors: BTreeMap::new(),
            }),
            news: watch::Sender::new(()),
        }
    }
}

impl Tally {
    /// A pass over `object` has ended, and failed with this `error` or did not. Whether it is the first one.
    pub(super) fn ended(&self, object: ObjectHash, failed: bool, error: Option<&str>) -> bool {
        let mut counts = self.counts.lock();
        let is_first = counts.objects.ended(object, failed);
        if let Some(error) = error.filter(|_| failed) {
            let error = clean(error, TEXT);
            if counts.errors.len() < ERRORS || counts.errors.contains_key(&error) {
                *counts.errors.entry(error).or_default() += 1;
            }
        }
        drop(counts);
        self.news.send_replace(());
        is_first
    }

    /// How many passes have ended.
    pub fn passes(&self) -> u64 {
        self.counts.lock().objects.passes()
    }

    /// All objects that are known.
    pub fn all(&self) -> Share {
        self.share(KNOWN)
    }

    /// The objects of its newest passes.
    pub fn recent(&self) -> Share {
        self.share(RECENT)
    }

    fn share(&self, limit: usize) -> Share {
        let count = |objects: usize| u64::try_from(objects).unwrap_or(u64::MAX);
        let (failed, objects) = self.counts.lock().objects.count(limit);
        Share {
            objects: count(objects),
            failed: count(failed),
        }
    }

    /// The error that most of its failed passes ended with.
    pub fn frequent_error(&self) -> Option<String> {
        let counts = self.counts.lock();
        let most = counts.errors.iter().max_by_key(|(_, count)| **count);
        most.map(|(error, _)| error.clone())
    }

    /// Notices that a pass has ended.
    pub fn news(&self) -> watch::Receiver<()> {
        self.news.subscribe()
    }
}

/// Whether `pass` failed; `None` if how it ended says nothing of the version.
pub(super) fn failed(pass: &Pass) -> Option<bool> {
    let is_call = slowdown::makes_call(pass.step);
    match &pass.outcome {
        _ if !is_call => None,
        Ok(_) => Some(false),
        Err(PassError::Call(CallError::Failed(_))) => {
            let is_asked_to_wait = pass.traffic.slow_down.is_some() || pass.traffic.unanswered;
            (!is_asked_to_wait).then_some(true)
        }
        // Traps and limits, unless the host or the API server is to blame.
        outcome @ Err(_) => slowdown::is_bad(pass.step, outcome),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::finalizer::Step;
    use super::super::reconcile::Done;
    use super::*;
    use windlass_kube::api::ApiError;
    use windlass_sandbox::Failure;
    use windlass_sandbox::cluster::Traffic;

    #[test]
    fn a_tally_knows_shares_and_the_most_frequent_error() {
        let tally = Tally::default();
        assert_eq!(
            (tally.all(), tally.frequent_error()),
            (Share::default(), None)
        );
        let news = tally.news();
        for number in 0..150 {
            let error = if number % 3 == 0 { "rare" } else { "frequent" };
            tally.ended(number, number < 60, (number < 60).then_some(error));
        }
        assert!(news.has_changed());
        let share = |objects, failed| Share { objects, failed };
        assert!(!tally.ended(149, false, None), "it is known");
        assert_eq!((tally.all(), tally.passes()), (share(150, 60), 151));
        assert_eq!(tally.recent(), share(100, 10));
        assert_eq!(tally.frequent_error().as_deref(), Some("frequent"));
        // Errors that are all different do not fill the memory.
        for number in 0..100 {
            tally.ended(number, true, Some(&format!("number {number}")));
        }
        assert_eq!(tally.counts.lock().errors.len(), ERRORS);
    }

    #[test]
    fn a_pass_counts_if_it_says_something_of_the_version() {
        let text = || "why".to_owned();
        let fails = |failure| Err(PassError::Call(CallError::Failed(failure)));
        let transient = || fails(Failure::Transient(text()));
        let late = |waited| {
            Err(PassError::Call(CallError::DeadlineExceeded {
                deadline: Duration::from_secs(30),
                waited: Duration::from_secs(waited),
            }))
        };
        let calm = Traffic::default();
        let busy = Traffic {
            slow_down: Some(Duration::from_secs(1)),
            ..calm
        };
        let away = Traffic {
            unanswered: true,
            ..calm
        };
        let call = |error| Err(PassError::Call(error));
        let rows = [
            (Step::Reconcile, Ok(Done::Rest), calm, Some(false)),
            (Step::Finalize, Ok(Done::After(1)), away, Some(false)),
            (Step::Reconcile, transient(), calm, Some(true)),
            (Step::Reconcile, transient(), busy, None),
            (Step::Reconcile, transient(), away, None),
            (
                Step::Reconcile,
                fails(Failure::Terminal(text())),
                calm,
                Some(true),
            ),
            (
                Step::Reconcile,
                call(CallError::Trapped(text())),
                away,
                Some(true),
            ),
            (Step::Reconcile, late(0), calm, Some(true)),
            (Step::Reconcile, late(29), calm, None),
            (Step::Reconcile, call(CallError::Stopped), calm, None),
            (Step::Reconcile, call(CallError::Host(text())), calm, None),
            (
                Step::Reconcile,
                Err(PassError::Read(ApiError::NotLeader)),
                calm,
                None,
            ),
            (Step::Protect, Ok(Done::Again), calm, None),
            (Step::Paused, Ok(Done::Rest), calm, None),
        ];
        for (step, outcome, traffic, want) in rows {
            let pass = Pass::ended(step, outcome, traffic);
            assert_eq!(failed(&pass), want, "{pass:?}");
        }
    }
}
