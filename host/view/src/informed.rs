//! What informers tell: it wakes whom it concerns.

use super::own_writes::SeenVersions;
use super::{Enqueue, ObjectId, OwnWrites, View, WakeReason, wake_reason};
use windlass_kube::api::Resource;
use windlass_kube::informer::{Change, KnownVersion, Notification, Origin};
use windlass_kube::object::Key;

impl View {
    /// The informer of `resource` has news. Called under the lock of its store.
    pub fn on_notification(&self, resource: &Resource, news: Notification<'_>) {
        match news {
            Notification::Changed(change, origin) => self.on_change(resource, change, origin),
            Notification::Known(known) => self.on_known(resource, known),
        }
    }

    fn on_change(&self, resource: &Resource, change: &Change, origin: Origin) {
        self.forget_applied(resource, change);
        let keys = self.woken(resource, change);
        let found = wake_reason::is_found(change, origin);
        let wakeup = |key| Enqueue {
            why: if found {
                WakeReason::Listed
            } else {
                self.wakes.why(resource, change, &key)
            },
            key,
            low: found,
        };
        let mut own = self.own.lock();
        match (&change.new, &change.old) {
            (Some(new), _) => {
                let name = (resource.clone(), new.metadata.key.clone());
                let version = new.metadata.version();
                for key in keys {
                    let more = self.wakes.is_news_to_author(resource, change, &key);
                    let seen = match origin {
                        Origin::List => SeenVersions::Sum(version),
                        Origin::Watch | Origin::Answer if more => SeenVersions::More(version),
                        Origin::Watch | Origin::Answer => SeenVersions::One(version),
                    };
                    // A request is nobody's own write, whatever is under way.
                    let is_request = self.wakes.is_request(resource, change, &key);
                    if is_request || !own.withhold(&name, seen, &key) {
                        self.queue.enqueue(wakeup(key));
                    }
                }
                if origin != Origin::Answer {
                    own.on_shown(&name, version);
                }
            }
            (None, Some(old)) => {
                let name = (resource.clone(), old.metadata.key.clone());
                own.forget(&name);
                for key in keys {
                    if !own.defer(&name, SeenVersions::Gone, &key) {
                        self.queue.enqueue(wakeup(key));
                    }
                }
            }
            (None, None) => {}
        }
    }

    /// No news to the store, but perhaps to the author of an answer that came before.
    fn on_known(&self, resource: &Resource, known: &KnownVersion) {
        let name = (resource.clone(), known.held.metadata.key.clone());
        let concerned = self.concerned(resource, &known.held);
        let mut own = self.own.lock();
        for key in concerned {
            if is_news(&mut own, &name, known, &key) {
                let object = known.held.metadata.key.clone();
                self.wake(key, WakeReason::Changed(resource.kind.clone(), object));
            }
        }
        own.on_shown(&name, known.version);
    }

    /// Primaries were seen by their metadata, inside or outside the selector.
    pub fn on_finalizer_notification(&self, news: Notification<'_>) {
        let Notification::Changed(change, _) = news else {
            return;
        };
        let Some(new) = &change.new else { return };
        let key = new.metadata.key.clone();
        // What is in the selector is woken from there.
        let selected = self.get(&self.watch_spec.primary, &key).is_some();
        if !selected && self.wakes.is_spec_change(change) {
            let why = self.wakes.why(&self.watch_spec.primary, change, &key);
            self.wake(key, why);
        }
    }
}

/// Whether `key` must run for a version that the store is past.
fn is_news(
    own: &mut OwnWrites<ObjectId, Key>,
    name: &ObjectId,
    known: &KnownVersion,
    key: &Key,
) -> bool {
    let version = known.version;
    match known.origin {
        // What was before the answer is in the list's version too, and its author has not seen it.
        Origin::List => {
            own.has_answered(name, version, key)
                && !own.defer(name, SeenVersions::Sum(version), key)
        }
        Origin::Watch => {
            let newer = known.held.metadata.version() > version;
            let unseen = known.late && newer || own.has_answered(name, version + 1, key);
            unseen && !own.withhold(name, SeenVersions::One(version), key)
        }
        Origin::Answer => false,
    }
}
