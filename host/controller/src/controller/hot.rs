//! Finds fields that a plugin keeps rewriting: two controllers that disagree, a time in a status, a value that the
//! API server keeps in another form.
//!
//! - What counts is a write that brings back a value that the field had a moment ago, or one of a pass that nothing but
//!   the plugin itself led to. A count of pods that become ready, one after the other, is neither.
//! - A field is hot after [`MANY`] of them within a minute, and cools when there was none for ten.

mod churn;

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::ops::Sub;
use std::time::Duration;

pub(super) use churn::Churn;

use windlass_view::ValueHash;

/// So many rewrites within [`WINDOW`] are too many.
const MANY: usize = 40;
/// In which they are counted.
pub(super) const WINDOW: Duration = Duration::from_secs(60);
/// So many values of a field are compared with the next one.
const VALUES: usize = 3;
/// A field of which no rewrite counted for so long is forgotten.
const COOL: Duration = Duration::from_secs(600);
/// So many fields are watched for each plugin.
const MOST: usize = 4096;

/// The rewrites of one plugin. `N` names a field of an object, `T` is a point in time.
#[derive(Debug)]
pub(super) struct HotLoops<N, T> {
    /// So many rewrites within [`WINDOW`] are too many.
    many: usize,
    fields: HashMap<N, Rewrites<T>>,
}

/// A write that has changed a field.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FieldWrite<'a> {
    /// The version of the answer, where the host keeps no copy of the object: the same one again is not a change.
    pub(super) version: Option<&'a str>,
    /// What is there now.
    pub(super) value: ValueHash,
    /// Something outside led to the pass.
    pub(super) is_outside: bool,
}

#[derive(Debug)]
struct Rewrites<T> {
    /// When those were that count.
    recent: VecDeque<T>,
    last: T,
    /// What was written last.
    values: VecDeque<ValueHash>,
    /// The version that the last write led to, of an object that the host keeps no copy of.
    version: Option<String>,
    hot: bool,
}

/// What a rewrite means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heat {
    /// It is one of few.
    Calm,
    /// The field has just become hot, after so many rewrites.
    New(usize),
    /// It was hot before.
    Hot,
}

/// Which keys of one plugin write the same objects. `O` names an object, `K` a key, `T` is a point in time.
#[derive(Debug)]
pub(super) struct Rivals<O, K, T> {
    objects: HashMap<O, Writers<K, T>>,
}

#[derive(Debug)]
struct Writers<K, T> {
    last: (K, T),
    /// The last one before that was another.
    other: Option<(K, T)>,
}

impl<O, K, T> Default for Rivals<O, K, T> {
    fn default() -> Self {
        Self {
            objects: HashMap::new(),
        }
    }
}

impl<O: Eq + Hash, K: Clone + Eq, T: Copy + Sub<T, Output = Duration>> Rivals<O, K, T> {
    /// The key `by` has changed `object` at `now`. Answers which other key has done so in the last minute, if one
    /// has.
    pub(super) fn wrote(&mut self, object: O, by: &K, now: T) -> Option<K> {
        if self.objects.len() >= MOST {
            self.objects
                .retain(|_, writers| now - writers.last.1 < WINDOW);
        }
        if self.objects.len() >= MOST {
            self.objects.clear();
        }
        let fresh = || Writers {
            last: (by.clone(), now),
            other: None,
        };
        let writers = self.objects.entry(object).or_insert_with(fresh);
        if writers.last.0 != *by {
            writers.other = Some(std::mem::replace(&mut writers.last, (by.clone(), now)));
        }
        writers.last.1 = now;
        let recent = |(_, then): &&(K, T)| now - *then < WINDOW;
        let other = writers.other.as_ref().filter(recent)?;
        Some(other.0.clone())
    }
}

impl<N, T> Default for HotLoops<N, T> {
    fn default() -> Self {
        Self::after(MANY)
    }
}

impl<N, T> HotLoops<N, T> {
    /// A field is hot after `many` rewrites within [`WINDOW`].
    fn after(many: usize) -> Self {
        Self {
            many,
            fields: HashMap::new(),
        }
    }
}

impl<T> Rewrites<T> {
    /// Whether the field had this value a moment ago. It has it now.
    fn returns(&mut self, value: ValueHash) -> bool {
        if !value.is_known() {
            return false;
        }
        let returns = self.values.contains(&value);
        self.values.push_back(value);
        if self.values.len() > VALUES {
            self.values.pop_front();
        }
        returns
    }
}

impl<N: Eq + Hash, T: Copy + Sub<T, Output = Duration>> HotLoops<N, T> {
    /// A write has changed this field at `now`.
    pub(super) fn rewrote(&mut self, field: N, write: FieldWrite<'_>, now: T) -> Heat {
        if self.fields.len() >= MOST {
            self.fields
                .retain(|_, rewrites| now - rewrites.last < WINDOW || rewrites.hot);
        }
        if self.fields.len() >= MOST {
            self.fields.clear();
        }
        let fresh = || Rewrites {
            recent: VecDeque::new(),
            last: now,
            values: VecDeque::new(),
            version: None,
            hot: false,
        };
        let rewrites = self.fields.entry(field).or_insert_with(fresh);
        if now - rewrites.last >= COOL {
            *rewrites = fresh();
        }
        if write.version.is_some() && rewrites.version.as_deref() == write.version {
            return Heat::Calm;
        }
        rewrites.version = write.version.map(str::to_owned);
        if !rewrites.returns(write.value) && write.is_outside {
            return Heat::Calm;
        }
        rewrites.last = now;
        rewrites.recent.push_back(now);
        while rewrites
            .recent
            .front()
            .is_some_and(|then| now - *then >= WINDOW)
        {
            rewrites.recent.pop_front();
        }
        match (rewrites.hot, rewrites.recent.len() >= self.many) {
            (true, _) => Heat::Hot,
            (false, false) => Heat::Calm,
            (false, true) => {
                rewrites.hot = true;
                Heat::New(rewrites.recent.len())
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Seconds, as a point in time.
    #[derive(Clone, Copy)]
    pub(super) struct At(pub(super) u64);

    impl Sub for At {
        type Output = Duration;

        fn sub(self, other: Self) -> Duration {
            Duration::from_secs(self.0.saturating_sub(other.0))
        }
    }

    #[test]
    fn many_rewrites_within_a_minute_are_hot_until_the_field_is_left_alone() {
        let mut loops = HotLoops::default();
        let calm =
            (0..39).all(|second| loops.rewrote(".data.time", alone(), At(second)) == Heat::Calm);
        assert!(calm);
        assert_eq!(loops.rewrote(".data.other", alone(), At(39)), Heat::Calm);
        assert_eq!(loops.rewrote(".data.time", alone(), At(39)), Heat::New(40));
        assert_eq!(loops.rewrote(".data.time", alone(), At(500)), Heat::Hot);
        assert_eq!(loops.rewrote(".data.time", alone(), At(1100)), Heat::Calm);
    }

    /// A write of a pass that nothing outside led to.
    fn alone() -> FieldWrite<'static> {
        FieldWrite::default()
    }

    #[test]
    fn of_passes_with_a_cause_outside_only_values_that_return_count() {
        // (the value of each write; what the 60th one is)
        type Row = (fn(u32) -> u32, bool, Heat);
        let rows: [Row; 6] = [
            // Pods become ready, one after the other.
            (|n| n, true, Heat::Calm),
            // A plugin that counts its own passes.
            (|n| n, false, Heat::Hot),
            // Two controllers that disagree; three that do.
            (|_| 0, true, Heat::Hot),
            (|n| n % 2, true, Heat::Hot),
            (|n| n % 3, true, Heat::Hot),
            // A long time until a value returns.
            (|n| n % 10, true, Heat::Calm),
        ];
        for (value, is_outside, want) in rows {
            let mut loops = HotLoops::default();
            let write = |n| FieldWrite {
                version: None,
                value: ValueHash::of(&value(n).to_string()),
                is_outside,
            };
            let heats = (0..60).map(|n| loops.rewrote(".status.ready", write(n), At(0)));
            assert_eq!(heats.last(), Some(want), "{:?}", write(59));
        }
        // What nobody sees counts only without a cause outside.
        let mut loops = HotLoops::default();
        let unseen = FieldWrite {
            is_outside: true,
            ..alone()
        };
        assert!((0..60).all(|_| loops.rewrote("", unseen, At(0)) == Heat::Calm));
    }

    #[test]
    fn a_field_that_changes_now_and_then_is_never_hot() {
        let mut loops = HotLoops::default();
        let times = (0..10_000).map(|number| number * 2);
        assert!(
            times
                .into_iter()
                .all(|second| loops.rewrote("f", alone(), At(second)) == Heat::Calm)
        );
    }

    #[test]
    fn of_an_object_that_nobody_sees_only_new_versions_count() {
        let mut loops = HotLoops::default();
        let writes = |loops: &mut HotLoops<_, _>, version: fn(u64) -> u64| {
            let write = |n| {
                let version = version(n).to_string();
                let write = FieldWrite {
                    version: Some(&version),
                    ..alone()
                };
                loops.rewrote("", write, At(0))
            };
            (0..40).map(write).last()
        };
        assert_eq!(writes(&mut loops, |_| 7), Some(Heat::Calm));
        assert_eq!(writes(&mut loops, |n| 7 + n), Some(Heat::New(40)));
    }

    #[test]
    fn the_rival_is_the_other_key_that_has_written_the_object_in_the_last_minute() {
        let rows = [
            // Who writes what, when, and which rival that shows.
            ("tls", "a", 0, None),
            ("tls", "a", 1, None),
            ("tls", "b", 2, Some("a")),
            ("own", "b", 2, None),
            ("tls", "b", 3, Some("a")),
            ("tls", "a", 4, Some("b")),
            ("tls", "a", 62, Some("b")),
            ("tls", "a", 64, None),
            ("tls", "c", 65, Some("a")),
        ];
        let mut rivals = Rivals::default();
        for (object, by, second, rival) in rows {
            let got = rivals.wrote(object, &by, At(second));
            assert_eq!(got, rival, "{object} {by} {second}");
        }
        let mut rivals = Rivals::default();
        for number in 0..100_000 {
            rivals.wrote(number, &"a", At(0));
        }
        assert!(rivals.objects.len() <= MOST);
    }

    #[test]
    fn a_flood_of_fields_is_bounded() {
        let mut loops = HotLoops::default();
        for number in 0..100_000 {
            loops.rewrote(number, alone(), At(0));
        }
        assert!(loops.fields.len() <= MOST);
    }
}
