//! Views of tests, and whom they wake.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "values of tests"
)]

use super::*;
use windlass_base::memory::Account;

/// What a plugin called `p` looks at that declares nothing but its kind of primaries.
pub fn watch_spec(primary: Resource) -> WatchSpec {
    WatchSpec {
        primary,
        finalizer: "windlass.dev/p".into(),
        manager: "windlass/p".into(),
        selects: false,
        is_finalized: true,
        watches_unselected: false,
        ignores_annotations: false,
        spec_change_only: false,
        fields: HashMap::new(),
        watches: BTreeSet::new(),
    }
}

/// Whom a view has woken.
#[derive(Clone, Default)]
pub struct Woken(Arc<Mutex<Vec<Enqueue>>>);

impl KeyQueue for Woken {
    fn enqueue(&self, wakeup: Enqueue) {
        self.0.lock().push(wakeup);
    }
}

impl Woken {
    /// A view that wakes them.
    pub fn by(watch_spec: WatchSpec) -> (Arc<View>, Self) {
        let woken = Self::default();
        let view = View::new(watch_spec, Arc::new(woken.clone()), &Account::unlimited());
        (Arc::new(view), woken)
    }

    /// Their names, since the last time.
    pub fn take(&self) -> String {
        let names = self.wakeups().into_iter();
        let names: Vec<_> = names.map(|one| one.key.name.to_string()).collect();
        names.join(" ")
    }

    pub fn wakeups(&self) -> Vec<Enqueue> {
        std::mem::take(&mut *self.0.lock())
    }
}
