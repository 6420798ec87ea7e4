//! The store of one informer, and who hears of its changes.
//!
//! - Subscribers are told under the store's lock: each hears of every change once, in order, and none
//!   before it is in the store. What they do then is short and waits for nobody.
//! - Who is told must not read this store again.

mod charges;
mod notification;
mod state;
mod subscribers;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

pub use notification::{KnownVersion, Notification, Origin};
pub use state::InformerPhase;
pub(super) use state::InformerState;

use super::store::{Change, FieldSet, Shown, Store};
use super::version_snapshot::{NameHash, VersionSnapshot};
use crate::object::{Fields, Key, Object};
use crate::selector::LabelSelector;
use charges::SubscriberShare;
use subscribers::{Subscriber, Subscribers};
use windlass_base::memory::Account;
use windlass_base::seams::watch;

/// Is told what an informer sees (`ResourceEventHandler` of client-go).
pub trait EventHandler: Send + Sync {
    /// Called under the lock of the informer's store, in the order of the changes.
    fn on_notification(&self, news: Notification<'_>);
}

#[cfg(any(test, feature = "testing"))]
impl<F: Fn(Notification<'_>) + Send + Sync> EventHandler for F {
    fn on_notification(&self, news: Notification<'_>) {
        self(news);
    }
}

/// One informer's store and subscribers.
pub(super) struct SharedInformer {
    store: Mutex<Store>,
    subscribers: Subscribers,
    ids: AtomicU64,
    state: watch::Sender<InformerState>,
    /// Rings when everything is to be listed again.
    again: Notify,
    divergences: AtomicU64,
}

/// A subscriber's name, and what it waits for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Registration {
    pub(super) id: u64,
    /// An edition of the fields: see [`InformerState::listed`].
    pub(super) needs: u32,
}

impl SharedInformer {
    /// Nothing yet, and nobody; `fields` will be kept.
    pub(super) fn new(mut store: Store, fields: Fields) -> Self {
        store.keep(fields);
        Self {
            store: Mutex::new(store),
            subscribers: Subscribers::default(),
            ids: AtomicU64::new(0),
            state: watch::channel(InformerState::starting()).0,
            again: Notify::new(),
            divergences: AtomicU64::new(0),
        }
    }

    /// From now on `handler` is told of every change, and first of all that is there: once everything was
    /// listed with `fields`. A share of the store counts on `account`.
    pub(super) fn join(
        &self,
        fields: Fields,
        handler: Box<dyn EventHandler>,
        account: &Account,
    ) -> Registration {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let mut store = self.store.lock();
        let kept = store.cut();
        if !kept.fields.covers(&fields) {
            store.keep(Fields::clone(&kept.fields).union(fields.clone()));
            if store.has_listed() {
                self.again.notify_one();
            }
        }
        let InformerState { phase, listed, .. } = *self.state.borrow();
        let covered = listed == kept.edition && store.cut().edition == kept.edition;
        let subscriber = Subscriber {
            id,
            fields,
            needs: store.cut().edition,
            hears: AtomicBool::new(false),
            handler,
            share: Mutex::new(SubscriberShare::on(account)),
        };
        let needs = subscriber.needs;
        if phase == InformerPhase::Synced && covered || phase == InformerPhase::Absent {
            subscriber.begin(&store);
        }
        self.subscribers.add(subscriber);
        self.share_out(&store);
        Registration { id, needs }
    }

    /// Tells it no more. If the others read less than it did, everything is listed again with what they read.
    pub(super) fn leave(&self, id: u64) {
        let (before, after) = self.subscribers.remove(id);
        if let (Some(before), Some(after)) = (before, after)
            && !after.covers(&before)
            && self.state.borrow().listed > 0
        {
            self.list_again();
        }
        // It may leave while it is told, under the store's lock. Then the next change of the store is shared out.
        if let Some(store) = self.store.try_lock() {
            self.share_out(&store);
        }
    }

    /// The store has changed: charges its subscribers again, if it has become much larger or smaller, or they are others.
    fn weigh(&self, store: &Store) {
        if self.subscribers.are_due(store.weight()) {
            self.share_out(store);
        }
    }

    /// Charges each subscriber for its share.
    fn share_out(&self, store: &Store) {
        let payers = self.subscribers.payers(store.weight());
        charges::share_out(store, &payers);
    }

    /// How far the informer is.
    pub(super) fn state(&self) -> watch::Receiver<InformerState> {
        self.state.subscribe()
    }

    /// How far the informer is now.
    pub(super) fn phase(&self) -> InformerPhase {
        self.state.borrow().phase
    }

    /// What is kept of objects.
    pub(super) fn cut(&self) -> FieldSet {
        self.store.lock().cut()
    }

    /// So many objects are not as on the server: everything is to be listed again.
    pub(super) fn diverged(&self, objects: usize) {
        let objects = u64::try_from(objects).unwrap_or(u64::MAX);
        self.divergences.fetch_add(objects, Ordering::Relaxed);
        self.list_again();
    }

    /// Everything is to be listed again.
    pub(super) fn list_again(&self) {
        self.again.notify_one();
    }

    /// How many objects were found not to be as on the server.
    pub(super) fn divergences(&self) -> u64 {
        self.divergences.load(Ordering::Relaxed)
    }

    /// When the server was last asked for a list of the newest state that has come.
    pub(super) fn listed_at(&self) -> Option<Instant> {
        self.state.borrow().asked
    }

    /// Waits until everything is to be listed again.
    pub(super) async fn relist_requested(&self) {
        self.again.notified().await;
    }

    /// Reads one object.
    pub(super) fn get(&self, key: &Key) -> Option<Object> {
        self.store.lock().get(key).cloned()
    }

    /// Shows one object to `then`, under the store's lock.
    pub(super) fn look<T>(&self, key: &Key, then: impl FnOnce(Option<&Object>) -> T) -> T {
        then(self.store.lock().get(key))
    }

    /// For how long an object has been seen as it is.
    pub(super) fn unchanged_for(&self, key: &Key) -> Option<Duration> {
        self.store.lock().unchanged_for(key)
    }

    /// Reads the objects in `namespace`, or everywhere, that `selector` selects.
    pub(super) fn list(&self, namespace: Option<&str>, selector: &LabelSelector) -> Vec<Object> {
        let mut objects = self.candidates(namespace, selector);
        // The selector is the guest's: it is not judged while others wait for the lock.
        objects.retain(|object| selector.selects(&object.metadata.labels));
        objects
    }

    /// The objects among which are those that `selector` selects.
    pub(super) fn candidates(
        &self,
        namespace: Option<&str>,
        selector: &LabelSelector,
    ) -> Vec<Object> {
        self.store.lock().find(namespace, selector.equality())
    }

    /// Some object that passes.
    pub(super) fn find(&self, passes: impl Fn(&Object) -> bool) -> Option<Object> {
        let store = self.store.lock();
        store.objects().find(|object| passes(object)).cloned()
    }

    /// The objects that have the owner with this UID.
    pub(super) fn owned_by(&self, uid: &str) -> Vec<Object> {
        self.store.lock().owned_by(uid)
    }

    /// How many objects there are.
    pub(super) fn size(&self) -> (usize, usize) {
        self.store.lock().size()
    }

    /// How far the watch has come.
    pub(super) fn passed(&self) -> u64 {
        self.store.lock().passed()
    }

    /// What is not as the snapshot says, and should be.
    pub(super) fn suspects(&self, snapshot: &VersionSnapshot) -> HashSet<NameHash> {
        snapshot.suspects(self.store.lock().objects())
    }

    /// Whether there is nothing that is not as the snapshot says. Then nothing older becomes true again.
    pub(super) fn meets(&self, snapshot: &VersionSnapshot) -> bool {
        let mut store = self.store.lock();
        let meets = snapshot.suspects(store.objects()).is_empty();
        if meets {
            store.is_level(snapshot.version());
        }
        meets
    }

    /// A list must be at least as new as this.
    pub(super) fn highest(&self) -> u64 {
        self.store.lock().highest()
    }

    /// A list begins; answers what is to be kept of its objects.
    pub(super) fn begin_list(&self) -> FieldSet {
        let mut store = self.store.lock();
        // Who has left reads nothing any more.
        if let Some(all) = self.subscribers.fields() {
            store.keep(all);
        }
        store.begin_list();
        store.cut()
    }

    /// The list was broken off.
    pub(super) fn drop_list(&self) {
        self.store.lock().drop_list();
    }

    /// The list is complete, and was true at `version`. If it is of the newest state that there was when it was
    /// `asked` for, this says when that was.
    pub(super) fn end_list(&self, version: u64, asked: Option<Instant>) {
        let mut store = self.store.lock();
        let listed = store.listing().unwrap_or(0);
        for shown in store.end_list(version) {
            self.notify_shown(&shown, version, Origin::List, false);
        }
        self.share_out(&store);
        let waiting = self
            .subscribers
            .all()
            .into_iter()
            .filter(|one| one.needs <= listed && !one.hears());
        waiting.for_each(|one| one.begin(&store));
        let phase = InformerPhase::Synced;
        self.state.send_modify(|state| {
            let asked = asked.or(state.asked);
            *state = InformerState {
                phase,
                listed,
                asked,
            };
        });
    }

    /// A watch or a list shows an object, cut to the fields of this edition.
    pub(super) fn show(&self, object: Object, edition: u32, origin: Origin) {
        let version = object.metadata.version();
        let mut store = self.store.lock();
        let late = origin == Origin::Watch && version < store.passed();
        let shown = store.show(object, edition);
        self.weigh(&store);
        self.notify_shown(&shown, version, origin, late);
    }

    /// A watch shows that an object is gone.
    pub(super) fn delete(&self, object: Object) {
        let mut store = self.store.lock();
        let shown = store.delete(object);
        self.weigh(&store);
        if let Shown::Changed(change) = shown {
            self.notify(Notification::Changed(&change, Origin::Watch), None);
        }
    }

    /// The watch has shown everything up to `version`.
    pub(super) fn reach(&self, version: u64) {
        let mut store = self.store.lock();
        store.reach(version);
        self.weigh(&store);
    }

    /// The kind is not served: there is nothing.
    pub(super) fn absent(&self) {
        let mut store = self.store.lock();
        // Before anybody is told: who looks then must not take it for an empty list.
        let phase = InformerPhase::Absent;
        self.state.send_modify(|state| state.phase = phase);
        for shown in store.clear() {
            self.notify_shown(&shown, 0, Origin::Watch, false);
        }
        self.share_out(&store);
        let waiting = self.subscribers.all();
        waiting.iter().for_each(|one| one.begin(&store));
    }

    /// The subscriber `by` got an answer that shows an object. It takes in itself what that is to it,
    /// before anything else happens; the others are told.
    pub(super) fn learn<T>(
        &self,
        by: u64,
        object: Object,
        take_in: impl FnOnce(Option<&Change>) -> T,
    ) -> T {
        let cut = self.cut();
        let object = object.cut_to(&cut.fields);
        let mut store = self.store.lock();
        let change = store.learn(object, cut.edition);
        self.weigh(&store);
        self.share(by, change.as_ref(), take_in)
    }

    /// The subscriber `by` got an answer that says that an object is gone, up to version `at`.
    pub(super) fn forget<T>(
        &self,
        by: u64,
        (key, uid): (&Key, &str),
        at: u64,
        take_in: impl FnOnce(Option<&Change>) -> T,
    ) -> T {
        let mut store = self.store.lock();
        let change = store.forget(key, uid, at);
        self.weigh(&store);
        self.share(by, change.as_ref(), take_in)
    }

    fn share<T>(
        &self,
        by: u64,
        change: Option<&Change>,
        take_in: impl FnOnce(Option<&Change>) -> T,
    ) -> T {
        if let Some(change) = change {
            self.notify(Notification::Changed(change, Origin::Answer), Some(by));
        }
        take_in(change)
    }

    fn notify_shown(&self, shown: &Shown, version: u64, origin: Origin, late: bool) {
        match shown {
            Shown::Changed(change) => self.notify(Notification::Changed(change, origin), None),
            Shown::Known(held) => {
                let known = KnownVersion {
                    held: held.clone(),
                    version,
                    origin,
                    late,
                };
                self.notify(Notification::Known(&known), None);
            }
            Shown::Nothing => {}
        }
    }

    fn notify(&self, news: Notification<'_>, but: Option<u64>) {
        // One who is told may drop its subscription.
        for subscriber in self.subscribers.all() {
            if subscriber.hears() && Some(subscriber.id) != but {
                subscriber.handler.on_notification(news);
            }
        }
    }
}
