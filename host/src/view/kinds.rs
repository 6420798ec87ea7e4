//! Who has asked what the cluster serves, and whom a change of that wakes.
//!
//! - Nobody says that a kind comes or goes: somebody looks from time to time, from the first such question on.
//! - As for other reads, what the last run was told that ended well counts until another one has ended well.

use std::collections::HashMap;

use parking_lot::Mutex;

use super::{View, WakeReason};
use crate::memory::{Account, Charge, Exceeded};
use crate::object::Key;
use crate::seams::watch;

/// What it takes to remember a question, in bytes, beside the key.
const REMEMBERED: usize = 160;

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
        if self.keys.remove(by).is_some() {
            let left = self.charge.bytes().saturating_sub(bytes(by));
            self.charge.set(left);
        }
    }
}

fn bytes(key: &Key) -> usize {
    REMEMBERED + key.name.len() + key.namespace.as_ref().map_or(0, |text| text.len())
}

impl View {
    /// Becomes `true` when somebody is to look from time to time what the cluster serves.
    pub(crate) fn wants_kinds(&self) -> watch::Receiver<bool> {
        self.kinds.wanted.subscribe()
    }

    /// The run of `by` is about to ask what the cluster serves.
    ///
    /// # Errors
    /// The plugin's account has no room for it.
    pub fn reads_kinds(&self, by: &Key) -> Result<(), Exceeded> {
        let mut told = self.kinds.told.lock();
        if !told.keys.contains_key(by) {
            told.charge.grow(bytes(by))?;
        }
        let read = told.keys.entry(by.clone()).or_insert(KindRead {
            digest: None,
            is_latest: true,
        });
        read.is_latest = true;
        drop(told);
        let wanted = &self.kinds.wanted;
        wanted.send_if_modified(|wanted| !std::mem::replace(wanted, true));
        Ok(())
    }

    /// The run of `by` was told what this is the digest of.
    pub fn told_kinds(&self, by: &Key, digest: KindsDigest) {
        if let Some(read) = self.kinds.told.lock().keys.get_mut(by) {
            read.digest = Some(digest);
        }
    }

    /// This is the digest of what is served now: who was told something else runs again.
    pub fn kinds_are(&self, digest: KindsDigest) {
        let mut told = self.kinds.told.lock();
        let others = told.keys.iter_mut().filter_map(|(key, read)| {
            // Once for each change, however long the key waits.
            let before = read.digest.replace(digest)?;
            (before != digest).then(|| key.clone())
        });
        let mut keys: Vec<Key> = others.collect();
        drop(told);
        keys.sort();
        for key in keys {
            self.wake(key, WakeReason::Served);
        }
    }
}
