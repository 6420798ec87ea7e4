//! The keys whose last pass failed: each of them, however many passes of others came after it.
//!
//! - All are counted; of the newest, as many as fit into a bound, it is known what went wrong.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::record::{PassOutcome, PrimaryKey, Record};

/// So many bytes of records are kept, as estimated.
const BYTES: usize = 1 << 20;

/// A key whose last pass failed.
#[derive(Clone, Debug)]
pub struct Failing {
    /// Which one.
    pub primary: PrimaryKey,
    /// When the first of its failures in a row was.
    pub since: Timestamp,
    /// How many there were in a row.
    pub times: u32,
    /// The last of them, if it is kept.
    pub record: Option<Arc<Record>>,
}

/// How many keys fail.
#[derive(Clone, Debug, Default)]
pub struct FailureSummary {
    /// How many.
    pub count: usize,
    /// Of those, the ones that only a change can fix.
    pub terminal: usize,
    /// One of those.
    pub for_good: Option<PrimaryKey>,
    /// The one that failed most often in a row, and is tried again.
    pub worst: Option<Failing>,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct FailureTracker {
    keys: BTreeMap<PrimaryKey, FailingEntry>,
    /// By when they failed.
    records: BTreeMap<u64, (Arc<Record>, usize)>,
    bytes: usize,
    next: u64,
    terminal: usize,
    worst: Option<PrimaryKey>,
}

#[derive(Clone, Copy, Debug)]
struct FailingEntry {
    since: Timestamp,
    times: u32,
    terminal: bool,
    number: u64,
}

impl FailureTracker {
    /// A pass has ended, whose record takes so many bytes.
    pub(super) fn ended(&mut self, record: &Arc<Record>, bytes: usize) {
        // Told to stop, or on its way: nothing is known of the object by that.
        if matches!(record.outcome, PassOutcome::STOPPED | PassOutcome::Again) {
            return;
        }
        let before = self.take(&record.primary);
        if record.error.is_none() {
            return;
        }
        let number = self.next;
        self.next += 1;
        let entry = FailingEntry {
            since: before.map_or(record.began, |before| before.since),
            times: before.map_or(1, |before| before.times.saturating_add(1)),
            terminal: record.outcome == PassOutcome::TERMINAL,
            number,
        };
        self.terminal += usize::from(entry.terminal);
        self.keys.insert(record.primary.clone(), entry);
        let worst = self.worst.as_ref().and_then(|worst| self.keys.get(worst));
        if !entry.terminal && worst.is_none_or(|worst| worst.times <= entry.times) {
            self.worst = Some(record.primary.clone());
        }
        self.records.insert(number, (record.clone(), bytes));
        self.bytes += bytes;
        while self.bytes > BYTES && self.records.len() > 1 {
            let oldest = self.records.pop_first();
            self.bytes -= oldest.map_or(0, |(_, (_, bytes))| bytes);
        }
    }

    /// The key is gone, or its failures are.
    fn take(&mut self, key: &PrimaryKey) -> Option<FailingEntry> {
        let entry = self.keys.remove(key)?;
        self.terminal -= usize::from(entry.terminal);
        if self.worst.as_ref() == Some(key) {
            self.worst = None;
        }
        if let Some((_, bytes)) = self.records.remove(&entry.number) {
            self.bytes -= bytes;
        }
        Some(entry)
    }

    /// The key is gone.
    pub(super) fn forget(&mut self, key: &PrimaryKey) {
        self.take(key);
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.keys.len()
    }

    /// One of them.
    pub(super) fn get(&self, key: &PrimaryKey) -> Option<Failing> {
        let (key, entry) = self.keys.get_key_value(key)?;
        Some(self.failing(key, *entry))
    }

    /// The newest that are known, the newest first.
    pub(super) fn newest(&self, most: usize) -> Vec<Failing> {
        let records = self.records.values().rev().take(most);
        let newest = records.filter_map(|(record, _)| self.get(&record.primary));
        newest.collect()
    }

    /// How many there are, and which should be looked at.
    pub(super) fn trouble(&self) -> FailureSummary {
        let mut all = self.keys.iter();
        // Its record may be long gone: it fails once, and then rests.
        let for_good = all.find(|(_, entry)| entry.terminal);
        FailureSummary {
            count: self.keys.len(),
            terminal: self.terminal,
            for_good: for_good.map(|(key, _)| key.clone()),
            worst: self.worst.as_ref().and_then(|worst| self.get(worst)),
        }
    }

    fn failing(&self, key: &PrimaryKey, entry: FailingEntry) -> Failing {
        let record = self.records.get(&entry.number);
        Failing {
            primary: key.clone(),
            since: entry.since,
            times: entry.times,
            record: record.map(|(record, _)| record.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::FailureKind;
    use windlass_sandbox::CallFailure;

    fn key(name: &str) -> PrimaryKey {
        PrimaryKey::greeting(None, name)
    }

    const REST: PassOutcome = PassOutcome::Rest;
    const AGAIN: PassOutcome = PassOutcome::Again;
    const TRANSIENT: PassOutcome = PassOutcome::Failed(FailureKind::Call(CallFailure::Transient));

    fn pass(name: &str, outcome: PassOutcome) -> Arc<Record> {
        let well = matches!(outcome, REST | AGAIN);
        Arc::new(Record {
            primary: key(name),
            outcome,
            error: (!well).then(|| "no luck".into()),
            ..Record::settled()
        })
    }

    /// Objects, and how a pass over each ended.
    type Passes<'a> = &'a [(&'a str, PassOutcome)];

    fn after(passes: Passes<'_>) -> FailureTracker {
        let mut ledger = FailureTracker::default();
        for (name, outcome) in passes {
            ledger.ended(&pass(name, *outcome), 10);
        }
        ledger
    }

    #[test]
    fn a_key_fails_until_a_pass_over_it_ends_well_or_it_is_gone() {
        let cases: [(Passes<'_>, usize, usize); 6] = [
            (&[("a", REST)], 0, 0),
            (&[("a", TRANSIENT), ("b", PassOutcome::TERMINAL)], 2, 1),
            (&[("a", TRANSIENT), ("a", REST)], 0, 0),
            (&[("a", PassOutcome::TERMINAL), ("a", TRANSIENT)], 1, 0),
            (
                &[("a", TRANSIENT), ("a", PassOutcome::STOPPED), ("a", AGAIN)],
                1,
                0,
            ),
            (&[("a", PassOutcome::STOPPED)], 0, 0),
        ];
        for (passes, count, terminal) in cases {
            let trouble = after(passes).trouble();
            assert_eq!(
                (trouble.count, trouble.terminal),
                (count, terminal),
                "{passes:?}"
            );
        }
        let mut ledger = after(&[("a", PassOutcome::TERMINAL)]);
        ledger.forget(&key("a"));
        let trouble = ledger.trouble();
        assert_eq!((trouble.count, trouble.terminal, ledger.bytes), (0, 0, 0));
        assert!(ledger.newest(9).is_empty() && trouble.for_good.is_none());
    }

    #[test]
    fn the_worst_is_the_one_that_failed_most_often_in_a_row() {
        let mut passes = vec![("a", TRANSIENT); 3];
        passes.extend([("b", TRANSIENT); 2]);
        passes.extend([("c", PassOutcome::TERMINAL); 9]);
        let worst = after(&passes).trouble().worst.unwrap();
        assert_eq!((&*worst.primary.key.name, worst.times), ("a", 3));
        passes.push(("a", REST));
        passes.push(("b", TRANSIENT));
        let worst = after(&passes).trouble().worst.unwrap();
        assert_eq!((&*worst.primary.key.name, worst.times), ("b", 3));
    }

    #[test]
    fn all_are_counted_and_the_newest_are_known() {
        let mut ledger = FailureTracker::default();
        for number in 0..100 {
            ledger.ended(
                &pass(&number.to_string(), PassOutcome::TERMINAL),
                BYTES / 10,
            );
        }
        assert_eq!(ledger.trouble().count, 100);
        assert_eq!(
            ledger.trouble().for_good,
            Some(key("0")),
            "its record is gone"
        );
        let newest = ledger.newest(50);
        assert_eq!((newest.len(), &*newest[0].primary.key.name), (10, "99"));
        assert!(
            ledger
                .get(&key("5"))
                .is_some_and(|one| one.record.is_none())
        );
    }
}
