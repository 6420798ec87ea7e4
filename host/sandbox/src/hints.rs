//! What passes keep for the next one over the same object: hints, which no plugin may need.
//!
//! - What a call keeps counts when it has succeeded. Until then what was there before stays.
//! - A hint goes with its object, with its version of the plugin, with the host, and whenever memory is short: the oldest
//!   first.
//! - Where chance is repeatable, as in tests and simulations, hints are forgotten at random: a plugin that needs one shows it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;

use super::primary::Primary;
use windlass_base::memory::{Account, Charge};
use windlass_base::seams::Rng;

/// The largest hint, in bytes.
pub(super) const LARGEST: usize = 16 << 10;

/// All hints of a plugin, in bytes.
const MOST: usize = 16 << 20;

/// What it takes to hold a hint, in bytes, beside the hint and two names of its object.
const HELD: usize = 256;

/// The hints of one plugin, for its version that runs. Clones are the same.
#[derive(Clone)]
pub struct Hints {
    held: Arc<Mutex<Held>>,
    edition: u64,
}

struct Held {
    /// How often all were forgotten. What is kept for another edition is dropped: that version is gone.
    edition: u64,
    by_object: HashMap<String, Hint>,
    /// The names of their objects, the oldest first.
    by_age: BTreeMap<u64, String>,
    next: u64,
    bytes: usize,
    charge: Charge,
    /// Whether it was said that one was too large.
    said: bool,
}

struct Hint {
    uid: String,
    age: u64,
    what: Arc<[u8]>,
}

impl Hints {
    /// None yet. They count on `account`.
    pub fn on(account: &Account) -> Self {
        let held = Held {
            edition: 0,
            by_object: HashMap::new(),
            by_age: BTreeMap::new(),
            next: 0,
            bytes: 0,
            charge: account.charge(),
            said: false,
        };
        Self {
            held: Arc::new(Mutex::new(held)),
            edition: 0,
        }
    }

    /// All are forgotten: another version takes over.
    pub fn clear(&self) {
        let mut held = self.held.lock();
        held.edition += 1;
        held.by_object.clear();
        held.by_age.clear();
        held.bytes = 0;
        held.charge.set(0);
        held.said = false;
    }

    /// Those of the version that runs, until another one takes over.
    pub fn now(&self) -> Self {
        let edition = self.held.lock().edition;
        Self {
            edition,
            ..self.clone()
        }
    }

    /// The object is gone.
    pub(crate) fn forget(&self, object: &str) {
        self.held.lock().remove(object);
    }

    /// While memory is short, the oldest are forgotten.
    fn make_room(&self) {
        let mut held = self.held.lock();
        while held.charge.is_short_at(held.bytes) && held.forget_oldest() {}
    }

    fn recall(&self, object: &str, uid: &str) -> Option<Vec<u8>> {
        let held = self.held.lock();
        let hint = held.by_object.get(object)?;
        let is_meant = held.edition == self.edition && hint.uid == uid;
        is_meant.then(|| hint.what.to_vec())
    }

    /// Keeps `what` in place of what was kept before; nothing if it is empty, or there is no room.
    fn keep(&self, object: &str, uid: &str, what: Vec<u8>) {
        let mut held = self.held.lock();
        if held.edition != self.edition {
            return;
        }
        held.remove(object);
        if !what.is_empty() {
            held.insert(object, uid, what);
        }
    }

    /// Whether it is to be said that a hint was too large: once for each version.
    fn is_news(&self) -> bool {
        !std::mem::replace(&mut self.held.lock().said, true)
    }
}

impl Held {
    fn insert(&mut self, object: &str, uid: &str, what: Vec<u8>) {
        let bytes = size(object, uid, &what);
        let is_short = |held: &Self| {
            let with = held.bytes + bytes;
            with > MOST || held.charge.is_short_at(with)
        };
        while is_short(self) {
            if !self.forget_oldest() {
                return;
            }
        }
        if self.charge.grow(bytes).is_err() {
            return;
        }
        self.bytes += bytes;
        self.next += 1;
        self.by_age.insert(self.next, object.to_owned());
        let hint = Hint {
            uid: uid.to_owned(),
            age: self.next,
            what: what.into(),
        };
        self.by_object.insert(object.to_owned(), hint);
    }

    fn remove(&mut self, object: &str) {
        let Some(hint) = self.by_object.remove(object) else {
            return;
        };
        self.by_age.remove(&hint.age);
        self.bytes -= size(object, &hint.uid, &hint.what);
        self.charge.set(self.bytes);
    }

    /// `false` if there is none.
    fn forget_oldest(&mut self) -> bool {
        let Some((_, object)) = self.by_age.first_key_value() else {
            return false;
        };
        let object = object.clone();
        self.remove(&object);
        true
    }
}

fn size(object: &str, uid: &str, what: &[u8]) -> usize {
    HELD + 2 * object.len() + uid.len() + what.len()
}

/// The hint of one call's object.
#[derive(Clone)]
pub(super) struct CallHint {
    hints: Hints,
    object: String,
    uid: String,
    /// What the call has kept so far.
    kept: Arc<Mutex<Option<Vec<u8>>>>,
}

impl CallHint {
    /// Of a call about `primary`.
    pub(super) fn of(hints: Hints, primary: &Primary) -> Self {
        Self {
            hints,
            object: primary.id(),
            uid: primary.uid.clone(),
            kept: Arc::default(),
        }
    }

    /// What the call has kept, or else what an earlier one kept. If chance is repeatable, that is forgotten now and then.
    pub(super) fn recall(&self, rng: &Rng) -> Option<Vec<u8>> {
        if let Some(kept) = &*self.kept.lock() {
            return Some(kept.clone()).filter(|kept| !kept.is_empty());
        }
        let recalled = self.hints.recall(&self.object, &self.uid)?;
        if rng.is_repeatable() && rng.number().is_multiple_of(2) {
            self.hints.forget(&self.object);
            return None;
        }
        Some(recalled)
    }

    /// Keeps `what` if the call succeeds.
    ///
    /// # Errors
    /// It is too large. `true` if that is to be said.
    pub(super) fn keep(&self, what: Vec<u8>) -> Result<(), bool> {
        if what.len() > LARGEST {
            return Err(self.hints.is_news());
        }
        *self.kept.lock() = Some(what);
        Ok(())
    }

    /// The call has ended: what it has kept counts if it has succeeded.
    pub(super) fn ends(&self, has_succeeded: bool) {
        let kept = self.kept.lock().take();
        if let Some(kept) = kept.filter(|_| has_succeeded) {
            self.hints.keep(&self.object, &self.uid, kept);
        }
        self.hints.make_room();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_base::memory::{Bounds, Budget};

    /// A plugin's hints, and a way to make calls.
    struct Plugin(Hints, Account);

    impl Plugin {
        fn new(soft: usize) -> Self {
            let bounds = Bounds {
                soft,
                hard: usize::MAX,
            };
            let account = Account::new(Budget::new(usize::MAX), bounds);
            Self(Hints::on(&account), account)
        }

        fn call(&self, object: &str, uid: &str) -> CallHint {
            CallHint {
                hints: self.0.now(),
                object: object.to_owned(),
                uid: uid.to_owned(),
                kept: Arc::default(),
            }
        }

        fn keep(&self, object: &str, what: &[u8]) {
            let call = self.call(object, "u");
            call.keep(what.to_vec()).unwrap();
            call.ends(true);
        }

        fn recall(&self, object: &str) -> Option<Vec<u8>> {
            self.call(object, "u").recall(&Rng::from_system())
        }
    }

    #[test]
    fn what_a_call_keeps_counts_when_it_has_succeeded() {
        let plugin = Plugin::new(usize::MAX);
        assert_eq!(plugin.recall("a"), None);
        let call = plugin.call("a", "u");
        call.keep(vec![1]).unwrap();
        assert_eq!(plugin.recall("a"), None);
        assert_eq!(call.recall(&Rng::from_system()), Some(vec![1]));
        call.keep(vec![2]).unwrap();
        call.ends(true);
        assert_eq!(plugin.recall("a"), Some(vec![2]));
        let failed = plugin.call("a", "u");
        failed.keep(vec![3]).unwrap();
        failed.ends(false);
        assert_eq!(plugin.recall("a"), Some(vec![2]));
        // One that keeps nothing leaves what is there, and one that keeps nothing at all forgets it.
        plugin.call("a", "u").ends(true);
        assert_eq!(plugin.recall("a"), Some(vec![2]));
        plugin.keep("a", &[]);
        assert_eq!((plugin.recall("a"), plugin.1.used()), (None, 0));
    }

    #[test]
    fn a_hint_goes_with_its_object_and_with_its_version() {
        let plugin = Plugin::new(usize::MAX);
        plugin.keep("a", &[1]);
        plugin.keep("b", &[2]);
        let other = plugin.call("a", "another uid");
        assert_eq!(other.recall(&Rng::from_system()), None);
        plugin.0.forget("a");
        assert_eq!(plugin.recall("a"), None);
        assert_eq!(plugin.recall("b"), Some(vec![2]));
        // A call of the version before ends after the swap.
        let late = plugin.call("b", "u");
        late.keep(vec![3]).unwrap();
        plugin.0.clear();
        late.ends(true);
        assert_eq!((plugin.recall("b"), plugin.1.used()), (None, 0));
        plugin.keep("b", &[4]);
        assert_eq!(
            late.recall(&Rng::from_system()),
            None,
            "it is of another version"
        );
    }

    #[test]
    fn the_oldest_are_forgotten_first_when_there_is_no_room() {
        // Calls keep a quarter of it.
        let plugin = Plugin::new(16 * LARGEST);
        for number in 0..20_u8 {
            plugin.keep(&format!("o{number}"), &vec![number; LARGEST]);
        }
        assert!(plugin.1.used() <= 12 * LARGEST);
        assert_eq!(plugin.recall("o8"), None);
        assert_eq!(plugin.recall("o9").map(|hint| hint[0]), Some(9));
        // What is kept again is the newest.
        plugin.keep("o9", &[9]);
        let mut others = plugin.1.charge();
        others.set(10 * LARGEST);
        plugin.call("other", "u").ends(false);
        assert_eq!(plugin.recall("o9"), Some(vec![9]));
        assert_eq!(plugin.recall("o10"), None);
        others.set(16 * LARGEST);
        plugin.call("other", "u").ends(true);
        assert_eq!(plugin.recall("o9"), None);
        drop(others);
        assert_eq!(plugin.1.used(), 0);
        let plugin = Plugin::new(usize::MAX);
        for number in 0..2000 {
            plugin.keep(&format!("o{number}"), &vec![0; LARGEST]);
        }
        assert!(plugin.1.used() <= MOST);
        assert!(plugin.recall("o1999").is_some() && plugin.recall("o900").is_none());
        let none = Plugin::new(10);
        none.keep("a", &[1]);
        assert_eq!(none.recall("a"), None, "there is no room for any");
    }

    #[test]
    fn a_hint_that_is_too_large_is_dropped_and_told_once() {
        let plugin = Plugin::new(usize::MAX);
        plugin.keep("a", &[1]);
        let call = plugin.call("a", "u");
        assert_eq!(call.keep(vec![0; LARGEST + 1]), Err(true));
        assert_eq!(call.keep(vec![0; LARGEST + 1]), Err(false));
        call.ends(true);
        assert_eq!(plugin.recall("a"), Some(vec![1]));
        assert_eq!(call.keep(vec![0; LARGEST]), Ok(()));
    }

    #[test]
    fn where_chance_is_repeatable_hints_are_forgotten_at_random_and_alike_for_a_seed() {
        let of = |seed| {
            let (plugin, rng) = (Plugin::new(usize::MAX), Rng::seeded(seed));
            let recall = |_| {
                plugin.keep("a", &[1]);
                plugin.call("a", "u").recall(&rng).is_some()
            };
            (0..20).map(recall).collect::<Vec<bool>>()
        };
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        assert!(of(1).contains(&true) && of(1).contains(&false));
    }
}
