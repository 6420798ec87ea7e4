//! What the API server is known to hold of what one informer looks for.
//!
//! - It never moves back in time: of two versions of an object the higher is kept, and a late answer
//!   never brings back what is gone.
//! - Answers to the host's own requests are in it at once, ahead of the watch.
//! - A list is taken in object by object, so it needs no second store; what it does not name goes at
//!   its end.
//! - Every change says what was there before, so a subscriber that loses an object hears of it too.

mod find;
mod index;
mod interner;
mod shown;
#[cfg(test)]
mod tests;
mod tombstones;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::object::{Fields, Key, Object};
use index::Index;
use interner::Interner;
pub use shown::Change;
pub(super) use shown::Shown;
use shown::{is_newer, is_same};
use tombstones::Tombstones;
use windlass_base::bugs::bug;
use windlass_base::seams::Clock;

/// Objects by namespace and name.
#[derive(Debug, Default)]
pub(super) struct Store {
    objects: BTreeMap<Key, StoredObject>,
    index: Index,
    interner: Interner,
    gone: Tombstones,
    /// Up to here the watch has shown everything.
    passed: u64,
    /// At this version it was as the server, maybe before the watch had come so far.
    level: u64,
    /// The highest version that was seen in anything.
    highest: u64,
    /// How many lists have begun.
    lists: u32,
    listing: Option<Listing>,
    /// Whether objects can leave without being deleted.
    selective: bool,
    /// Only objects with this finalizer are kept.
    finalizer: Option<String>,
    cut: FieldSet,
    /// By this clock it says since when objects are as they are; none for who does not ask.
    clock: Option<Clock>,
}

/// What is kept of objects.
#[derive(Clone, Debug, Default)]
pub(super) struct FieldSet {
    pub(super) fields: Arc<Fields>,
    /// Counts the changes of `fields`.
    pub(super) edition: u32,
}

#[derive(Debug)]
struct StoredObject {
    object: Object,
    /// The version that a watch or a list showed; 0 if only an answer did.
    shown: u64,
    /// The last list that showed it.
    list: u32,
    /// The edition of the fields that it was cut to.
    edition: u32,
    /// When this version was seen first.
    since: Duration,
}

/// A list that is under way.
#[derive(Debug)]
struct Listing {
    /// How far the watch had come when it began.
    passed: u64,
    /// What it keeps.
    edition: u32,
    /// Objects that the watch should have shown before. Until the list proves to be new enough, they
    /// may as well be long gone.
    doubtful: Vec<(Object, u32)>,
}

impl Store {
    /// An empty store. `selective`: objects can leave what the informer looks for without being
    /// deleted. Only those with `finalizer` are kept, if there is one.
    pub(super) fn new(selective: bool, finalizer: Option<String>) -> Self {
        Self {
            selective: selective || finalizer.is_some(),
            finalizer,
            cut: FieldSet {
                fields: Arc::default(),
                edition: 1,
            },
            ..Self::default()
        }
    }

    /// The same, which knows since when objects are as they are.
    #[must_use]
    pub(super) fn timed_by(self, clock: Clock) -> Self {
        let clock = Some(clock);
        Self { clock, ..self }
    }

    fn now(&self) -> Duration {
        self.clock.map_or(Duration::ZERO, |clock| clock.shown())
    }

    /// For how long an object has been seen as it is.
    pub(super) fn unchanged_for(&self, key: &Key) -> Option<Duration> {
        let held = self.objects.get(key)?;
        Some(self.now().saturating_sub(held.since))
    }

    /// Reads one object.
    pub(super) fn get(&self, key: &Key) -> Option<&Object> {
        self.objects.get(key).map(|held| &held.object)
    }

    /// All objects, in the order of their keys.
    pub(super) fn objects(&self) -> impl Iterator<Item = &Object> {
        self.objects.values().map(|held| &held.object)
    }

    /// The objects that have the owner with this UID.
    pub(super) fn owned_by(&self, uid: &str) -> Vec<Object> {
        let keys = self.index.owned_by(uid);
        keys.filter_map(|key| self.get(key)).cloned().collect()
    }

    /// How many there are, and the bytes of their JSON as it is held.
    pub(super) fn size(&self) -> (usize, usize) {
        (
            self.objects.len(),
            self.index.bytes() + self.interner.size(),
        )
    }

    /// The bytes that it takes, about.
    pub(super) fn weight(&self) -> usize {
        self.index.weight() + self.interner.size()
    }

    /// The bytes that it would take with nothing but `fields`, at most. All objects are looked through for that.
    pub(super) fn weight_of(&self, fields: &Fields) -> usize {
        let objects = self.objects().map(|object| object.weight_of(fields));
        objects.sum::<usize>() + self.interner.size()
    }

    /// What is kept of objects from now on.
    pub(super) fn cut(&self) -> FieldSet {
        self.cut.clone()
    }

    /// From now on `fields` are kept of objects. What is there is cut again when a list shows it.
    pub(super) fn keep(&mut self, fields: Fields) {
        if *self.cut.fields != fields {
            self.cut.fields = Arc::new(fields);
            self.cut.edition += 1;
        }
    }

    /// The edition of the fields that the list under way keeps; none if there is none.
    pub(super) fn listing(&self) -> Option<u32> {
        self.listing.as_ref().map(|listing| listing.edition)
    }

    /// Whether a list has begun since the beginning.
    pub(super) fn has_listed(&self) -> bool {
        self.lists > 0
    }

    /// How far the watch has come.
    pub(super) fn passed(&self) -> u64 {
        self.passed
    }

    /// It is as the server was at `version`.
    pub(super) fn is_level(&mut self, version: u64) {
        self.level = self.level.max(version);
    }

    /// A list must be at least as new as this.
    pub(super) fn highest(&self) -> u64 {
        bug!(RelistsGoBack, self.highest, 0)
    }

    /// A list begins: what it does not name until its end is gone.
    pub(super) fn begin_list(&mut self) {
        self.lists += 1;
        self.listing = Some(Listing {
            passed: self.passed,
            edition: self.cut.edition,
            doubtful: Vec::new(),
        });
    }

    /// The list was broken off. What it has shown stays: it was newer than what was there.
    pub(super) fn drop_list(&mut self) {
        self.listing = None;
    }

    /// The list has named everything that there was at `version`.
    pub(super) fn end_list(&mut self, version: u64) -> Vec<Shown> {
        let doubtful = self.listing.take().map(|listing| listing.doubtful);
        let doubtful = doubtful.unwrap_or_default().into_iter();
        let mut all: Vec<Shown> = doubtful
            .map(|(object, edition)| self.put(object, edition))
            .collect();
        let missing = |held: &StoredObject| {
            // An answer may show what is newer than the list. Who can leave without being deleted
            // comes back by the watch, or not at all.
            let newer = version > 0 && held.object.metadata.version() > version;
            held.list != self.lists && (self.selective || !newer)
        };
        let missing = self.objects.iter().filter(|(_, held)| missing(held));
        let missing: Vec<Key> = missing.map(|(key, _)| key.clone()).collect();
        let gone = missing.iter().map(|key| self.take_out(key, version));
        let gone: Vec<Shown> = gone.collect();
        bug!(RelistsLoseTombstones, all.extend(gone), ());
        self.reach(version);
        all
    }

    /// A bookmark: the watch has shown everything up to `version`.
    pub(super) fn reach(&mut self, version: u64) {
        self.passed = self.passed.max(version);
        self.highest = self.highest.max(version);
    }

    /// A watch or a list shows an object, cut to the fields of this edition.
    pub(super) fn show(&mut self, object: Object, edition: u32) -> Shown {
        let version = object.metadata.version();
        self.pass(version);
        if self
            .finalizer
            .as_ref()
            .is_some_and(|name| !object.metadata.has_finalizer(name))
        {
            return self.remove_named(&object);
        }
        if self.gone.covers(&object.metadata.uid, version) {
            return Shown::Nothing;
        }
        let is_new = !self.objects.contains_key(&object.metadata.key);
        match &mut self.listing {
            Some(listing) if is_new && version <= listing.passed => {
                listing.doubtful.push((object, edition));
                Shown::Nothing
            }
            None if is_new && version <= self.level => Shown::Nothing, // gone since
            _ => self.put(object, edition),
        }
    }

    /// A watch shows that an object is gone, or has left what the informer looks for. Also if it was never
    /// shown: its writer may count on it.
    pub(super) fn delete(&mut self, object: Object) -> Shown {
        let (uid, version) = (&object.metadata.uid, object.metadata.version());
        let known = self.gone.covers(uid, version) || version <= self.level;
        self.pass(version);
        self.gone.add(uid, version);
        match self.remove_named(&object) {
            Shown::Nothing if !known && !self.selective => Shown::Changed(Change {
                old: Some(object),
                new: None,
            }),
            shown => shown,
        }
    }

    /// Takes in an object that a request's answer showed, cut to the fields of this edition, if it is new.
    pub(super) fn learn(&mut self, object: Object, edition: u32) -> Option<Change> {
        let version = object.metadata.version();
        let old = self.objects.get(&object.metadata.key);
        // What the watch should have shown by now, and has not, is gone.
        let passed = old.is_none() && version > 0 && version <= self.passed;
        if passed || self.gone.covers(&object.metadata.uid, version) {
            return None;
        }
        self.highest = self.highest.max(version);
        let since = self.now();
        match old {
            Some(held) if !is_newer(&object, &held.object) => None,
            old => {
                let list = old.map_or(0, |held| held.list);
                let same = old.filter(|held| held.object.metadata.uid == object.metadata.uid);
                let shown = same.map_or(0, |held| held.shown);
                let held = StoredObject {
                    object,
                    shown,
                    list,
                    edition,
                    since,
                };
                Some(self.insert(held))
            }
        }
    }

    /// Takes out an object that a request's answer said is gone, up to version `at`.
    pub(super) fn forget(&mut self, key: &Key, uid: &str, at: u64) -> Option<Change> {
        self.gone.add(uid, at);
        let held = self.objects.get(key)?;
        if *held.object.metadata.uid != *uid {
            return None;
        }
        match self.take_out(key, at) {
            Shown::Changed(change) => Some(change),
            Shown::Known(_) | Shown::Nothing => None,
        }
    }

    /// The kind is served no more: everything is gone.
    ///
    /// Nobody has deleted the objects: with a version of the kind that is served again, they come back as they were.
    pub(super) fn clear(&mut self) -> Vec<Shown> {
        (self.listing, self.level) = (None, 0);
        let keys: Vec<Key> = self.objects.keys().cloned().collect();
        let cleared = keys.iter().map(|key| self.take_out(key, 0)).collect();
        self.gone = Tombstones::default();
        cleared
    }

    /// A watch shows everything in order, a list does not.
    fn pass(&mut self, version: u64) {
        self.highest = self.highest.max(version);
        if self.listing.is_none() {
            self.passed = self.passed.max(version);
        }
    }

    fn put(&mut self, mut object: Object, edition: u32) -> Shown {
        let version = object.metadata.version();
        if let Some(held) = self.objects.get_mut(&object.metadata.key) {
            held.list = self.lists;
            if held.object.metadata.uid == object.metadata.uid {
                held.shown = held.shown.max(version);
            }
            let is_older = || !is_newer(&object, &held.object);
            let is_old = bug!(
                RelistsGoBack,
                bug!(
                    AnswersAreDroppedEarly,
                    is_older(),
                    is_older() && held.shown >= held.object.metadata.version()
                ),
                is_older() && self.listing.is_none()
            );
            if is_old {
                if held.edition < edition && is_same(&object, &held.object) {
                    self.interner.pack(&mut object);
                    self.index.recut(&held.object, &object);
                    held.object = object;
                    held.edition = edition;
                }
                return Shown::Known(held.object.clone());
            }
        }
        let held = StoredObject {
            object,
            shown: version,
            list: self.lists,
            edition,
            since: self.now(),
        };
        Shown::Changed(self.insert(held))
    }

    fn insert(&mut self, mut held: StoredObject) -> Change {
        self.interner.share(&mut held.object);
        // A subscriber reads it at once.
        let new = held.object.clone();
        self.interner.pack(&mut held.object);
        let (key, kept) = (new.metadata.key.clone(), held.object.clone());
        let old = self.objects.insert(key, held).map(|held| held.object);
        if let Some(old) = &old {
            self.index.remove(old);
        }
        self.index.add(&kept);
        // A name has one object at a time.
        if let Some(old) = old
            .as_ref()
            .filter(|old| old.metadata.uid != new.metadata.uid)
        {
            self.gone.add(&old.metadata.uid, new.metadata.version());
        }
        let new = Some(new);
        Change { old, new }
    }

    /// Takes out what has the name of `object`, unless that is newer.
    fn remove_named(&mut self, object: &Object) -> Shown {
        let (key, version) = (object.metadata.key.clone(), object.metadata.version());
        let Some(held) = self.objects.get(&key) else {
            return Shown::Nothing;
        };
        // One who takes a name has it after the one before: an earlier one is gone as well.
        let newest = match held.object.metadata.uid == object.metadata.uid {
            // An answer that is newer than what a watch has shown does not count: where objects leave
            // without being deleted, it may show one that has left.
            true => held.shown,
            false => held.object.metadata.version(),
        };
        if newest > version {
            return Shown::Known(held.object.clone());
        }
        self.take_out(&key, version)
    }

    fn take_out(&mut self, key: &Key, at: u64) -> Shown {
        let Some(held) = self.objects.remove(key) else {
            return Shown::Nothing;
        };
        self.index.remove(&held.object);
        let metadata = &held.object.metadata;
        self.gone.add(&metadata.uid, at.max(held.shown));
        let old = Some(held.object);
        Shown::Changed(Change { old, new: None })
    }
}
