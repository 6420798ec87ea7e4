//! Finds fields that a plugin keeps rewriting: two controllers that disagree, a time in a status, a value that the
//! API server keeps in another form.
//!
//! - What counts is a write that changed something; a field is hot after [`MANY`] of them within a minute,
//!   and cools when it was left alone for ten.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::ops::Sub;
use std::time::Duration;

/// So many rewrites within [`WINDOW`] are too many.
pub(super) const MANY: usize = 40;
/// In which they are counted.
pub(super) const WINDOW: Duration = Duration::from_secs(60);
/// A field that nobody rewrote for so long is forgotten.
const COOL: Duration = Duration::from_secs(600);
/// So many fields are watched for each plugin.
const MOST: usize = 4096;

/// The rewrites of one plugin. `N` names a field of an object, `T` is a point in time.
#[derive(Debug)]
pub(super) struct HotLoops<N, T> {
    fields: HashMap<N, Rewrites<T>>,
}

#[derive(Debug)]
struct Rewrites<T> {
    recent: VecDeque<T>,
    last: T,
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

impl<N, T> Default for HotLoops<N, T> {
    fn default() -> Self {
        Self {
            fields: HashMap::new(),
        }
    }
}

impl<N: Eq + Hash, T: Copy + Sub<T, Output = Duration>> HotLoops<N, T> {
    /// A write has changed this field at `now`. Whether it has, only the `version` of the answer tells where the
    /// host keeps no copy of the object: the same one again is no change.
    pub(super) fn rewrote(&mut self, field: N, version: Option<&str>, now: T) -> Heat {
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
            version: None,
            hot: false,
        };
        let rewrites = self.fields.entry(field).or_insert_with(fresh);
        if now - rewrites.last >= COOL {
            *rewrites = fresh();
        }
        if version.is_some() && rewrites.version.as_deref() == version {
            return Heat::Calm;
        }
        rewrites.version = version.map(str::to_owned);
        rewrites.last = now;
        rewrites.recent.push_back(now);
        while rewrites
            .recent
            .front()
            .is_some_and(|then| now - *then >= WINDOW)
        {
            rewrites.recent.pop_front();
        }
        match (rewrites.hot, rewrites.recent.len() >= MANY) {
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
mod tests {
    use super::*;

    /// Seconds, as a point in time.
    #[derive(Clone, Copy)]
    struct At(u64);

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
            (0..39).all(|second| loops.rewrote(".data.time", None, At(second)) == Heat::Calm);
        assert!(calm);
        assert_eq!(loops.rewrote(".data.other", None, At(39)), Heat::Calm);
        assert_eq!(loops.rewrote(".data.time", None, At(39)), Heat::New(40));
        assert_eq!(loops.rewrote(".data.time", None, At(500)), Heat::Hot);
        assert_eq!(loops.rewrote(".data.time", None, At(1100)), Heat::Calm);
    }

    #[test]
    fn a_field_that_changes_now_and_then_is_never_hot() {
        let mut loops = HotLoops::default();
        let times = (0..10_000).map(|number| number * 2);
        assert!(
            times
                .into_iter()
                .all(|second| loops.rewrote("f", None, At(second)) == Heat::Calm)
        );
    }

    #[test]
    fn of_an_object_that_nobody_sees_only_new_versions_count() {
        let mut loops = HotLoops::default();
        let writes = |loops: &mut HotLoops<_, _>, version: fn(u64) -> u64| {
            let write = |n| loops.rewrote("", Some(&version(n).to_string()), At(0));
            (0..40).map(write).last()
        };
        assert_eq!(writes(&mut loops, |_| 7), Some(Heat::Calm));
        assert_eq!(writes(&mut loops, |n| 7 + n), Some(Heat::New(40)));
    }

    #[test]
    fn a_flood_of_fields_is_bounded() {
        let mut loops = HotLoops::default();
        for number in 0..100_000 {
            loops.rewrote(number, None, At(0));
        }
        assert!(loops.fields.len() <= MOST);
    }
}
