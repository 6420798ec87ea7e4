//! Who has asked what the cluster serves, and whom a change of that wakes.
//!
//! - Nobody says that a kind comes or goes: somebody looks from time to time, from the first such question on.
//! - As for other reads, what the last run was told that ended well counts until another one has ended well.

use std::collections::{BTreeSet, HashMap};

use parking_lot::Mutex;

use super::{View, WakeReason};
use windlass_base::memory::{Account, Charge, Exceeded};
use windlass_base::seams::watch;
use windlass_kube::object::Key;

/// What it takes to remember a question, in bytes, beside the key.
const REMEMBERED: usize = 160;

/// How many kinds a key can miss: of more, some wake it, and it asks for the others then.
const MISSING: usize = 8;

/// A version, and a kind or plural, that is not served.
pub type MissingKind = (Box<str>, Box<str>);

/// A digest of the kinds that are served.
pub type KindsDigest = [u8; 32];

/// What keys were told.
pub(super) struct KindReads {
    /// Whether anybody has asked.
    wanted: watch::Sender<bool>,
    told: Mutex<Told>,
}

struct Told {
    keys: HashMap<Key, KindRead>,
    charge: Charge,
}

struct KindRead {
    /// None before it is told.
    digest: Option<KindsDigest>,
    /// The kinds that it missed, by version and by kind or plural.
    missing: Vec<MissingKind>,
    /// Whether its latest run has asked.
    is_latest: bool,
}

impl KindReads {
    pub(super) fn on(account: &Account) -> Self {
        let told = Told {
            keys: HashMap::new(),
            charge: account.charge(),
        };
        Self {
            wanted: watch::Sender::default(),
            told: Mutex::new(told),
        }
    }

    pub(super) fn begin(&self, by: &Key) {
        if let Some(read) = self.told.lock().keys.get_mut(by) {
            read.is_latest = false;
        }
    }

    pub(super) fn settle(&self, by: &Key) {
        let mut told = self.told.lock();
        if told.keys.get(by).is_some_and(|read| !read.is_latest) {
            told.remove(by);
        }
    }

    pub(super) fn forget(&self, by: &Key) {
        self.told.lock().remove(by);
    }
}

impl Told {
    fn remove(&mut self, by: &Key) {
        if let Some(read) = self.keys.remove(by) {
            let missing: usize = read.missing.iter().map(missing_bytes).sum();
            let left = self.charge.bytes().saturating_sub(bytes(by) + missing);
            self.charge.set(left);
        }
    }

    /// The question of the latest run of `by`.
    fn latest(&mut self, by: &Key) -> Result<&mut KindRead, Exceeded> {
        if !self.keys.contains_key(by) {
            self.charge.grow(bytes(by))?;
        }
        let read = self.keys.entry(by.clone()).or_insert(KindRead {
            digest: None,
            missing: Vec::new(),
            is_latest: true,
        });
        read.is_latest = true;
        Ok(read)
    }
}

fn missing_bytes((version, name): &MissingKind) -> usize {
    64 + version.len() + name.len()
}

fn bytes(key: &Key) -> usize {
    REMEMBERED + key.name.len() + key.namespace.as_ref().map_or(0, |text| text.len())
}

impl View {
    /// Becomes `true` when somebody is to look from time to time what the cluster serves.
    pub fn wants_kinds(&self) -> watch::Receiver<bool> {
        self.kinds.wanted.subscribe()
    }

    /// The run of `by` is about to ask what the cluster serves.
    ///
    /// # Errors
    /// The plugin's account has no room for it.
    pub fn reads_kinds(&self, by: &Key) -> Result<(), Exceeded> {
        self.kinds.told.lock().latest(by)?;
        self.want_kinds();
        Ok(())
    }

    /// The run of `by` needs a kind that is not served, by its name or plural: it runs again when the kind is served.
    ///
    /// # Errors
    /// The plugin's account has no room for it.
    pub fn misses_kind(&self, by: &Key, api_version: &str, name: &str) -> Result<(), Exceeded> {
        let missing = (Box::from(api_version), Box::from(name));
        let mut told = self.kinds.told.lock();
        let known = &told.latest(by)?.missing;
        if !known.contains(&missing) && known.len() < MISSING {
            told.charge.grow(missing_bytes(&missing))?;
            told.latest(by)?.missing.push(missing);
        }
        drop(told);
        self.want_kinds();
        Ok(())
    }

    fn want_kinds(&self) {
        let wanted = &self.kinds.wanted;
        wanted.send_if_modified(|wanted| !std::mem::replace(wanted, true));
    }

    /// The run of `by` was told what this is the digest of.
    pub fn told_kinds(&self, by: &Key, digest: KindsDigest) {
        if let Some(read) = self.kinds.told.lock().keys.get_mut(by) {
            read.digest = Some(digest);
        }
    }

    /// Whether a key was told what is served.
    pub fn has_told_kinds(&self) -> bool {
        let told = self.kinds.told.lock();
        told.keys.values().any(|read| read.digest.is_some())
    }

    /// The kinds that keys missed, by version and by kind or plural.
    pub fn missing_kinds(&self) -> BTreeSet<MissingKind> {
        let told = self.kinds.told.lock();
        let missing = told.keys.values().flat_map(|read| &read.missing);
        missing.cloned().collect()
    }

    /// This is the digest of what is served now: a key that was told something else runs again.
    pub fn kinds_are(&self, digest: KindsDigest) {
        self.wake_readers(|read, _| {
            // Once for each change, however long the key waits.
            read.digest.is_some() && read.digest.replace(digest) != Some(digest)
        });
    }

    /// These kinds are served now: a key that missed one runs again.
    pub fn kinds_are_back(&self, kinds: &BTreeSet<MissingKind>) {
        self.wake_readers(|read, freed| {
            let before = read.missing.len();
            read.missing.retain(|missing| {
                let back = kinds.contains(missing);
                *freed += if back { missing_bytes(missing) } else { 0 };
                !back
            });
            read.missing.len() < before
        });
    }

    /// Runs the keys again of which `concerns` says so. It counts the bytes that it frees.
    fn wake_readers(&self, mut concerns: impl FnMut(&mut KindRead, &mut usize) -> bool) {
        let mut told = self.kinds.told.lock();
        let mut freed = 0;
        let concerned = told.keys.iter_mut();
        let concerned =
            concerned.filter_map(|(key, read)| concerns(read, &mut freed).then(|| key.clone()));
        let mut keys: Vec<Key> = concerned.collect();
        let left = told.charge.bytes().saturating_sub(freed);
        told.charge.set(left);
        drop(told);
        keys.sort();
        for key in keys {
            self.wake(key, WakeReason::Served);
        }
    }
}
