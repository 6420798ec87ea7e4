//! Who hears of the changes of a store, and pays for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::charges::SubscriberShare;
use super::{EventHandler, Notification, Origin};
use crate::informer::store::{Change, Store};
use crate::object::Fields;

/// By so many bytes the weight of a store changes before its subscribers are charged again.
const STEP: usize = 64 << 10;

/// One who is told.
pub(super) struct Subscriber {
    pub(super) id: u64,
    /// What it reads.
    pub(super) fields: Fields,
    /// Nothing is told before a list has kept the fields of this edition.
    pub(super) needs: u32,
    pub(super) hears: AtomicBool,
    pub(super) handler: Box<dyn EventHandler>,
    /// What it pays for the store.
    pub(super) share: Mutex<SubscriberShare>,
}

impl Subscriber {
    pub(super) fn hears(&self) -> bool {
        self.hears.load(Ordering::Relaxed)
    }

    /// Tells it of all that is there; from now on it hears of every change.
    pub(super) fn begin(&self, store: &Store) {
        self.hears.store(true, Ordering::Relaxed);
        for object in store.objects() {
            let change = Change {
                old: None,
                new: Some(object.clone()),
            };
            self.handler
                .on_notification(Notification::Changed(&change, Origin::List));
        }
    }
}

/// All of them.
#[derive(Default)]
pub(super) struct Subscribers(Mutex<SubscriberList>);

#[derive(Default)]
struct SubscriberList {
    all: Vec<Arc<Subscriber>>,
    /// The weight of the store that they were charged for; none if one has come or left since then. It is under the same
    /// lock as they are: a subscriber that comes or leaves while the others are charged is not overlooked.
    charged: Option<usize>,
}

impl Subscribers {
    /// One more.
    pub(super) fn add(&self, subscriber: Subscriber) {
        let mut list = self.0.lock();
        list.all.push(Arc::new(subscriber));
        list.charged = None;
    }

    /// One less; answers what all of them read before, and read now.
    pub(super) fn remove(&self, id: u64) -> (Option<Fields>, Option<Fields>) {
        let mut list = self.0.lock();
        let before = union(&list.all);
        list.all.retain(|subscriber| subscriber.id != id);
        list.charged = None;
        (before, union(&list.all))
    }

    /// All of them. No lock is held: one who is told may leave.
    pub(super) fn all(&self) -> Vec<Arc<Subscriber>> {
        self.0.lock().all.clone()
    }

    /// What all of them read; none if there is nobody.
    pub(super) fn fields(&self) -> Option<Fields> {
        union(&self.0.lock().all)
    }

    /// Whether they are to be charged again for a store of this weight.
    pub(super) fn are_due(&self, weight: usize) -> bool {
        let charged = self.0.lock().charged;
        charged.is_none_or(|charged| weight.abs_diff(charged) >= STEP)
    }

    /// All of them, who are charged for a store of this weight now.
    pub(super) fn payers(&self, weight: usize) -> Vec<Arc<Subscriber>> {
        let mut list = self.0.lock();
        list.charged = Some(weight);
        list.all.clone()
    }
}

/// What all of them read; none if there is nobody.
fn union(subscribers: &[Arc<Subscriber>]) -> Option<Fields> {
    let all = subscribers.iter().map(|subscriber| &subscriber.fields);
    all.cloned().reduce(Fields::union)
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_base::memory::Account;

    fn subscriber(id: u64) -> Subscriber {
        Subscriber {
            id,
            fields: Fields::default(),
            needs: 1,
            hears: AtomicBool::new(false),
            handler: Box::new(|_: Notification<'_>| {}),
            share: Mutex::new(SubscriberShare::on(&Account::unlimited())),
        }
    }

    #[test]
    fn who_comes_or_leaves_while_the_others_are_charged_is_not_overlooked() {
        let subscribers = Subscribers::default();
        subscribers.add(subscriber(1));
        subscribers.add(subscriber(2));
        assert!(subscribers.are_due(0), "also for a store of no weight");
        let payers = subscribers.payers(100);
        assert_eq!(payers.len(), 2);
        assert!(!subscribers.are_due(100 + STEP - 1));
        assert!(subscribers.are_due(100 + STEP));
        subscribers.remove(1);
        // Now `payers` are charged, one of whom is gone.
        assert!(subscribers.are_due(100), "one has left");
        assert_eq!(subscribers.payers(100).len(), 1);
        assert!(!subscribers.are_due(100));
        subscribers.add(subscriber(3));
        assert!(subscribers.are_due(100), "one has come");
    }
}
