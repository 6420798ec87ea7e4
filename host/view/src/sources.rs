//! The Secrets and ConfigMaps that the host has put into HTTP requests of a run that failed, and whom a change of one wakes.
//!
//! - The plugin cannot read them, and so it cannot wait for them: a request that was refused for its token is sent again
//!   when there is another one.
//! - Nobody watches them, since the host may read only those: somebody looks from time to time.

use std::collections::{BTreeSet, HashMap};

use parking_lot::Mutex;

use super::{View, WakeReason};
use windlass_base::memory::{Account, Charge, Exceeded};
use windlass_base::seams::watch;
use windlass_kube::object::Key;

/// So many of them are known for each key: more than a rule names.
const SOURCES: usize = 8;

/// The bytes that it takes to remember one, beside its name.
const REMEMBERED: usize = 160;

/// A kind, `Secret` or `ConfigMap`, and the object.
pub type SourceName = (&'static str, Key);

/// The objects that were put into requests of runs.
pub(super) struct SourceReads {
    /// Whether an object was put into a request of any run.
    wanted: watch::Sender<bool>,
    used: Mutex<UsedSources>,
}

struct UsedSources {
    keys: HashMap<Key, KeySources>,
    charge: Charge,
}

#[derive(Default)]
struct KeySources {
    /// Each with its version; none if it was absent.
    sources: Vec<(SourceName, Option<String>)>,
    /// Whether they are of the latest run.
    is_latest: bool,
}

impl SourceReads {
    pub(super) fn on(account: &Account) -> Self {
        Self {
            wanted: watch::Sender::default(),
            used: Mutex::new(UsedSources {
                keys: HashMap::new(),
                charge: account.charge(),
            }),
        }
    }

    pub(super) fn begin(&self, by: &Key) {
        if let Some(held) = self.used.lock().keys.get_mut(by) {
            held.is_latest = false;
        }
    }

    /// The run of `by` has ended well, or its object is gone.
    pub(super) fn forget(&self, by: &Key) {
        let mut used = self.used.lock();
        if let Some(held) = used.keys.remove(by) {
            used.free(held.sources.iter().map(bytes).sum());
        }
    }
}

impl UsedSources {
    fn free(&mut self, bytes: usize) {
        let left = self.charge.bytes().saturating_sub(bytes);
        self.charge.set(left);
    }
}

fn bytes(((_, key), version): &(SourceName, Option<String>)) -> usize {
    let namespace = key.namespace.as_ref().map_or(0, |text| text.len());
    REMEMBERED + key.name.len() + namespace + version.as_ref().map_or(0, String::len)
}

impl View {
    /// Becomes `true` when somebody is to look from time to time at what was put into requests.
    pub fn wants_sources(&self) -> watch::Receiver<bool> {
        self.sources.wanted.subscribe()
    }

    /// The host puts `source` of this version into a request of the run of `by`; none if it is absent.
    ///
    /// # Errors
    /// The plugin's account has no room for it.
    pub fn uses_source(
        &self,
        by: &Key,
        source: SourceName,
        version: Option<String>,
    ) -> Result<(), Exceeded> {
        let mut used = self.sources.used.lock();
        let old = match used.keys.get_mut(by) {
            Some(held) if !held.is_latest => std::mem::take(&mut held.sources),
            Some(_) | None => Vec::new(),
        };
        used.free(old.iter().map(bytes).sum());
        let now = (source, version);
        used.charge.grow(bytes(&now))?;
        let held = used.keys.entry(by.clone()).or_default();
        held.is_latest = true;
        let has_room = held.sources.len() < SOURCES;
        let known = held.sources.iter_mut().find(|(name, _)| *name == now.0);
        let freed = match known {
            Some(known) => bytes(&std::mem::replace(known, now)),
            None if has_room => {
                held.sources.push(now);
                0
            }
            None => bytes(&now),
        };
        used.free(freed);
        drop(used);
        let wanted = &self.sources.wanted;
        wanted.send_if_modified(|wanted| !std::mem::replace(wanted, true));
        Ok(())
    }

    /// The objects that were put into requests of the runs that have not ended well.
    pub fn used_sources(&self) -> BTreeSet<SourceName> {
        let used = self.sources.used.lock();
        let sources = used.keys.values().flat_map(|held| &held.sources);
        sources.map(|(name, _)| name.clone()).collect()
    }

    /// `source` has this version now, or is absent: a key that used another one runs again.
    pub fn source_is(&self, source: &SourceName, version: Option<&str>) {
        let mut keys = Vec::new();
        for (key, held) in &mut self.sources.used.lock().keys {
            let held = held.sources.iter_mut().find(|(name, _)| name == source);
            if let Some((_, before)) = held.filter(|(_, before)| before.as_deref() != version) {
                // Once for each change. A version is as long as the one before it.
                *before = version.map(str::to_owned);
                keys.push(key.clone());
            }
        }
        keys.sort();
        for key in keys {
            let (kind, object) = source;
            self.wake(key, WakeReason::Changed((*kind).to_owned(), object.clone()));
        }
    }
}
