//! Which target is which plugin: two may not be one.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use windlass_policy::source::{Candidate, Wanted};

/// What each target asks the host for, by its number. Clones are the same.
#[derive(Clone, Default)]
pub(super) struct Names(Arc<Mutex<BTreeMap<usize, Candidate>>>);

impl Names {
    /// The target asks for this now. Answers what the host is to run, or the name that is there twice.
    pub(super) fn ask(&self, number: usize, candidate: Candidate) -> Result<Wanted, String> {
        let mut all = self.0.lock();
        let name = &candidate.document.name;
        let taken =
            |(other, held): (&usize, &Candidate)| *other != number && held.document.name == *name;
        if all.iter().any(taken) {
            return Err(name.clone());
        }
        all.insert(number, candidate);
        Ok(Wanted {
            plugins: all.values().cloned().collect(),
            ..Wanted::default()
        })
    }

    /// The plugins.
    pub(super) fn all(&self) -> Vec<String> {
        let all = self.0.lock();
        all.values()
            .map(|candidate| candidate.document.name.clone())
            .collect()
    }
}
