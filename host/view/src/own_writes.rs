//! Tells the echo of a plugin's own write from somebody else's change.
//!
//! - A write counts as seen by the key that made it: its echo does not run that key again.
//! - Anything else does, also when it comes while the write is under way, or is older than the
//!   write's answer and so no news to the store.

use std::collections::HashMap;
use std::hash::Hash;

use windlass_kube::object::{ApplyScope, Object};

/// The own writes of one plugin. `N` names an object, `K` a key of the queue.
#[derive(Debug)]
pub(super) struct OwnWrites<N, K> {
    objects: HashMap<N, KeyWrites<K>>,
    next: u64,
}

/// How a write ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteResult {
    /// Without an answer.
    None,
    /// With a version that the store had already: no echo will come.
    Echoed(u64),
    /// With a version that is new to the store: its echo is still to come.
    New(u64),
    /// The write was a delete, and the object is gone.
    Deleted,
}

impl WriteResult {
    /// An answer with `version`, of an object that is `held` in the store.
    pub(super) fn to(version: u64, held: Option<&Object>) -> Self {
        if held.is_some_and(|held| held.metadata.version() >= version) {
            Self::Echoed(version)
        } else {
            Self::New(version)
        }
    }
}

#[derive(Debug)]
struct KeyWrites<K> {
    under_way: Vec<UnderWay<K>>,
    /// Versions of answers whose echo is still to come, and who wrote them.
    answered: Vec<(u64, K)>,
}

#[derive(Debug)]
struct UnderWay<K> {
    id: u64,
    by: K,
    apply_scope: ApplyScope,
    /// What was seen meanwhile, and whose wake-up is withheld until the answer is there.
    withheld: Vec<SeenVersions>,
}

/// What was seen of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SeenVersions {
    /// A version, with the one change that led to it.
    One(u64),
    /// As [`SeenVersions::One`], and that change is of more than a write of a status makes.
    More(u64),
    /// A version, and others' changes before it may be in it.
    Sum(u64),
    /// That it is gone.
    Gone,
}

impl SeenVersions {
    fn version(self) -> u64 {
        match self {
            Self::One(version) | Self::More(version) | Self::Sum(version) => version,
            Self::Gone => 0,
        }
    }

    /// Whether it can be nothing but the echo of a write to `apply_scope` with this `answer`.
    fn is_echo_of(self, answer: WriteResult, apply_scope: ApplyScope) -> bool {
        let alone = match self {
            Self::One(_) => true,
            Self::More(_) => apply_scope != ApplyScope::Status,
            Self::Sum(_) => false,
            Self::Gone => return answer == WriteResult::Deleted,
        };
        let own = match answer {
            WriteResult::None | WriteResult::Deleted => None,
            WriteResult::Echoed(version) | WriteResult::New(version) => Some(version),
        };
        alone && own == Some(self.version())
    }
}

impl<N, K> Default for OwnWrites<N, K> {
    fn default() -> Self {
        Self {
            objects: HashMap::new(),
            next: 0,
        }
    }
}

impl<N: Clone + Eq + Hash, K: Clone + Eq> OwnWrites<N, K> {
    /// A write by `by` is being sent. The answer names it.
    pub(super) fn begin(&mut self, object: &N, by: &K, apply_scope: ApplyScope) -> u64 {
        self.next += 1;
        let write = UnderWay {
            id: self.next,
            by: by.clone(),
            apply_scope,
            withheld: Vec::new(),
        };
        let empty = || KeyWrites {
            under_way: Vec::new(),
            answered: Vec::new(),
        };
        self.objects
            .entry(object.clone())
            .or_insert_with(empty)
            .under_way
            .push(write);
        self.next
    }

    /// The write has ended. `true` if its author must run again: something else happened meanwhile.
    pub(super) fn end(&mut self, object: &N, id: u64, answer: WriteResult) -> bool {
        let Some(writes) = self.objects.get_mut(object) else {
            return false;
        };
        let Some(index) = writes.under_way.iter().position(|write| write.id == id) else {
            return false;
        };
        let write = writes.under_way.swap_remove(index);
        if let WriteResult::New(version) = answer {
            writes.answered.push((version, write.by.clone()));
        }
        let is_news = |seen: &SeenVersions| !seen.is_echo_of(answer, write.apply_scope);
        let news = write.withheld.iter().any(is_news);
        self.tidy(object);
        news
    }

    /// The object is `seen`. `true` if the wake-up of `key` is withheld, since the change is its own or may turn
    /// out to be.
    pub(super) fn withhold(&mut self, object: &N, seen: SeenVersions, key: &K) -> bool {
        let writes = self.objects.get(object);
        let mut answered = writes.iter().flat_map(|writes| &writes.answered);
        let own = answered.any(|(own, by)| *own == seen.version() && by == key);
        own || self.defer(object, seen, key)
    }

    /// Something has happened to the object. `true` if a write of `key` is under way, whose end will say
    /// that the key must run again.
    pub(super) fn defer(&mut self, object: &N, seen: SeenVersions, key: &K) -> bool {
        let Some(writes) = self.objects.get_mut(object) else {
            return false;
        };
        let under_way = writes.under_way.iter_mut();
        let mut deferred = false;
        for write in under_way.filter(|write| write.by == *key) {
            write.withheld.push(seen);
            deferred = true;
        }
        deferred
    }

    /// Whether `key` has had an answer of at least `version` whose echo is still to come.
    pub(super) fn has_answered(&self, object: &N, version: u64, key: &K) -> bool {
        let writes = self.objects.get(object);
        let mut answered = writes.iter().flat_map(|writes| &writes.answered);
        answered.any(|(own, by)| *own >= version && by == key)
    }

    /// A watch has shown `version` to everybody: older answers need no echo any more.
    pub(super) fn on_shown(&mut self, object: &N, version: u64) {
        if let Some(writes) = self.objects.get_mut(object) {
            writes.answered.retain(|(own, _)| *own > version);
            self.tidy(object);
        }
    }

    /// The object is gone.
    pub(super) fn forget(&mut self, object: &N) {
        if let Some(writes) = self.objects.get_mut(object) {
            writes.answered.clear();
            self.tidy(object);
        }
    }

    fn tidy(&mut self, object: &N) {
        let idle =
            |writes: &KeyWrites<K>| writes.under_way.is_empty() && writes.answered.is_empty();
        if self.objects.get(object).is_some_and(idle) {
            self.objects.remove(object);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Own = OwnWrites<&'static str, &'static str>;

    #[test]
    fn the_echo_after_the_answer_wakes_only_others() {
        let mut own = Own::default();
        let id = own.begin(&"child", &"a", ApplyScope::Whole);
        assert!(!own.end(&"child", id, WriteResult::New(10)));
        assert!(own.withhold(&"child", SeenVersions::One(10), &"a"));
        assert!(!own.withhold(&"child", SeenVersions::One(10), &"b"));
        own.on_shown(&"child", 10);
        assert!(own.objects.is_empty(), "nothing is remembered for ever");
    }

    #[test]
    fn the_echo_before_the_answer_wakes_only_others() {
        let mut own = Own::default();
        let id = own.begin(&"child", &"a", ApplyScope::Whole);
        assert!(own.withhold(&"child", SeenVersions::One(10), &"a"));
        assert!(!own.withhold(&"child", SeenVersions::One(10), &"b"));
        own.on_shown(&"child", 10);
        assert!(
            !own.end(&"child", id, WriteResult::Echoed(10)),
            "it was the echo"
        );
        assert!(own.objects.is_empty());
    }

    #[test]
    fn a_change_by_somebody_else_is_never_taken_for_an_echo() {
        let mut own = Own::default();
        let id = own.begin(&"child", &"a", ApplyScope::Whole);
        assert!(own.withhold(&"child", SeenVersions::One(9), &"a"));
        assert!(
            own.end(&"child", id, WriteResult::New(10)),
            "9 was somebody else's"
        );
        assert!(
            !own.withhold(&"child", SeenVersions::One(8), &"a"),
            "older than the answer, and not ours"
        );
        assert!(!own.withhold(&"child", SeenVersions::One(11), &"a"));
        assert!(own.withhold(&"child", SeenVersions::One(10), &"a"));
    }

    #[test]
    fn an_echo_that_shows_more_than_the_write_is_news() {
        let cases = [
            (ApplyScope::Status, SeenVersions::One(10), false),
            (ApplyScope::Status, SeenVersions::More(10), true),
            (ApplyScope::Whole, SeenVersions::More(10), false),
            (ApplyScope::Whole, SeenVersions::Sum(10), true),
        ];
        for (apply_scope, seen, news) in cases {
            let mut own = Own::default();
            let id = own.begin(&"primary", &"a", apply_scope);
            assert!(own.withhold(&"primary", seen, &"a"));
            let end = own.end(&"primary", id, WriteResult::Echoed(10));
            assert_eq!(end, news, "{apply_scope:?} {seen:?}");
        }
    }

    #[test]
    fn that_the_object_is_gone_is_the_echo_of_an_own_delete_alone() {
        let cases = [
            (WriteResult::Deleted, &[SeenVersions::Gone][..], false),
            (
                WriteResult::Deleted,
                &[SeenVersions::One(9), SeenVersions::Gone],
                true,
            ),
            (WriteResult::None, &[SeenVersions::Gone], true),
            (WriteResult::New(10), &[SeenVersions::Gone], true),
        ];
        for (answer, seen, news) in cases {
            let mut own = Own::default();
            let id = own.begin(&"child", &"a", ApplyScope::Whole);
            for seen in seen {
                assert!(own.defer(&"child", *seen, &"a"));
                assert!(!own.defer(&"child", *seen, &"b"));
            }
            own.forget(&"child");
            assert_eq!(own.end(&"child", id, answer), news, "{answer:?} {seen:?}");
        }
    }

    #[test]
    fn after_a_write_without_an_answer_whatever_was_seen_counts() {
        let mut own = Own::default();
        let id = own.begin(&"child", &"a", ApplyScope::Whole);
        assert!(own.withhold(&"child", SeenVersions::One(10), &"a"));
        assert!(own.end(&"child", id, WriteResult::None));
        let id = own.begin(&"child", &"a", ApplyScope::Whole);
        assert!(
            !own.end(&"child", id, WriteResult::None),
            "nothing was seen"
        );
        assert!(own.objects.is_empty());
    }
}
