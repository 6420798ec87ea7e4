//! Polls the kinds that the cluster serves, for a plugin that has asked for them, or that needs a kind that is not served.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use windlass_base::seams::{Clock, watch};
use windlass_kube::api::Discovery;
use windlass_policy::grants::Grants;
use windlass_sandbox::served;
use windlass_view::{MissingKind, View};

/// How often it looks: what calls are told is hardly older.
const PERIOD: Duration = Duration::from_secs(10);

/// The number of versions that one poll asks for missed kinds, with one request each.
const VERSIONS: usize = 16;

/// What is looked at for one primary kind of a plugin.
pub(super) struct KindsWatch {
    /// Whether the plugin has asked.
    pub(super) wanted: watch::Receiver<bool>,
    pub(super) discovery: Arc<Discovery>,
    pub(super) grants: Grants,
    pub(super) view: Weak<View>,
    pub(super) clock: Clock,
}

impl KindsWatch {
    /// Waits until the plugin asks, then looks forever.
    pub(super) async fn run(mut self) {
        // The sender is gone only with the view, and then nobody is to be told.
        if self.wanted.wait_for(|wanted| *wanted).await.is_err() {
            return;
        }
        loop {
            self.clock.sleep(PERIOD).await;
            let Some(view) = self.view.upgrade() else {
                return;
            };
            if view.has_told_kinds() {
                self.compare(&view).await;
            }
            let back = back(&self.discovery, view.missing_kinds()).await;
            view.kinds_are_back(&back);
        }
    }

    /// Wakes the keys that were told something else than what is served now.
    async fn compare(&self, view: &View) {
        // Another plugin may have looked.
        let catalog = match self.discovery.remembered_catalog(PERIOD / 2) {
            Some(catalog) => Ok(catalog),
            None => self.discovery.catalog().await,
        };
        match catalog {
            Ok(catalog) => {
                view.kinds_are(served::digest(&served::granted(&catalog, &self.grants)));
            }
            Err(error) => tracing::debug!("cannot look what the cluster serves: {error}"),
        }
    }
}

/// Which of these kinds are served now. Of more than [`VERSIONS`] versions, only the first are looked at: a guest can make
/// up any number.
async fn back(discovery: &Discovery, missing: BTreeSet<MissingKind>) -> BTreeSet<MissingKind> {
    let (mut back, mut versions) = (BTreeSet::new(), BTreeSet::new());
    for kind in missing {
        versions.insert(kind.0.clone());
        if versions.len() > VERSIONS {
            break;
        }
        match discovery.has(&kind.0, &kind.1).await {
            Ok(true) => {
                back.insert(kind);
            }
            Ok(false) => {}
            Err(error) => tracing::debug!("cannot look what the cluster serves: {error}"),
        }
    }
    back
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;
    use windlass_base::memory::Account;
    use windlass_kube::api::Resource;
    use windlass_kube::informer::testing::{SECOND, World};
    use windlass_kube::object::Key;
    use windlass_policy::grants::Grant;
    use windlass_view::testing::watch_spec;
    use windlass_view::{Enqueue, KeyQueue, WakeReason};

    /// The keys that run, and why.
    #[derive(Default)]
    struct Queue(Mutex<Vec<Enqueue>>);

    impl KeyQueue for Queue {
        fn enqueue(&self, wakeup: Enqueue) {
            self.0.lock().push(wakeup);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_that_has_asked_runs_when_a_kind_comes_or_goes() {
        let (world, queue) = (World::new(), Arc::new(Queue::default()));
        let primary = Resource {
            group: String::new(),
            version: "v1".into(),
            kind: "ConfigMap".into(),
            plural: "configmaps".into(),
            namespaced: true,
        };
        let account = Account::unlimited();
        let view = Arc::new(View::new(watch_spec(primary), queue.clone(), &account));
        let grants = "[{ apiGroups: [x.dev], resources: ['*'], verbs: [get], acknowledge: ['*.x.dev/get'] }]";
        let grants: Vec<Grant> = serde_saphyr::from_str(grants).unwrap();
        let grants = Grants::new(grants).unwrap();
        let watch = KindsWatch {
            wanted: view.wants_kinds(),
            discovery: world.discovery.clone(),
            grants: grants.clone(),
            view: Arc::downgrade(&view),
            clock: world.seams.clock,
        };
        let _task = world.seams.spawn.task(watch.run());
        world.wait(60 * SECOND).await;
        let is_looked_at = || world.discovery.remembered_catalog(60 * SECOND).is_some();
        assert!(!is_looked_at(), "nobody has asked");
        let key = Key::new(Some("default"), "a");
        view.reads_kinds(&key).unwrap();
        view.told_kinds(&key, served::digest(&[]));
        world.wait(60 * SECOND).await;
        assert!(is_looked_at() && queue.0.lock().is_empty());
        let changes: [(&str, usize); 3] = [("v1", 1), ("", 2), ("v2", 3)];
        for (version, runs) in changes {
            match version {
                "" => world.undefine().await,
                version => world.define("Namespaced", &[version]).await,
            }
            world.wait(60 * SECOND).await;
            assert_eq!(queue.0.lock().len(), runs, "{version:?}");
        }
        let keys: BTreeSet<Key> = queue.0.lock().iter().map(|run| run.key.clone()).collect();
        assert_eq!(keys, BTreeSet::from([key]));
        let is_said = |run: &Enqueue| run.why == WakeReason::Served;
        assert!(queue.0.lock().iter().all(is_said));
        // A version that is not the preferred one counts too.
        let other = Key::new(Some("default"), "b");
        view.misses_kind(&other, "x.dev/v1", "Thing").unwrap();
        view.misses_kind(&other, "x.dev/v1", "others").unwrap();
        queue.0.lock().clear();
        world.wait(60 * SECOND).await;
        assert_eq!(queue.0.lock().len(), 0);
        world.undefine().await;
        world.wait(60 * SECOND).await;
        world.define("Namespaced", &["v2", "v1"]).await;
        world.wait(60 * SECOND).await;
        let runs = std::mem::take(&mut *queue.0.lock());
        let runs: Vec<_> = runs.iter().filter(|run| run.key == other).collect();
        assert_eq!(runs.len(), 1);
        // A guest makes up versions: no more than some are asked for.
        for number in 0..100 {
            let key = Key::new(Some("default"), &format!("made-up-{number}"));
            view.misses_kind(&key, &format!("x.dev/v{number}"), "Thing")
                .unwrap();
        }
        let before = world.asked.lock().len();
        world.wait(PERIOD).await;
        let asked = world.asked.lock().len() - before;
        assert!(asked <= VERSIONS + 4, "{asked} requests");
    }
}
