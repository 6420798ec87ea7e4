//! A channel that keeps the latest value, as `tokio::sync::watch`, and wakes those who wait in the order in which they began
//! to: tokio draws a random order, and a run of several plugins could not be repeated.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{MappedRwLockReadGuard, RwLock, RwLockReadGuard};
use tokio::sync::Notify;

/// A look at the value. Nobody can send while it is there.
pub type Ref<'a, T> = MappedRwLockReadGuard<'a, T>;

/// All senders are gone: the value is the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("all senders are gone")]
pub struct Closed;

/// A channel that holds `value`.
pub fn channel<T>(value: T) -> (Sender<T>, Receiver<T>) {
    let sender = Sender::new(value);
    let receiver = sender.subscribe();
    (sender, receiver)
}

/// Changes the value.
#[derive(Debug)]
pub struct Sender<T>(Arc<Shared<T>>);

/// Reads the value, and waits until it changes. A clone has seen what the receiver has.
#[derive(Debug)]
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    seen: u64,
}

#[derive(Debug)]
struct Shared<T> {
    state: RwLock<State<T>>,
    changed: Notify,
    senders: AtomicUsize,
}

#[derive(Debug)]
struct State<T> {
    value: T,
    version: u64,
}

impl<T> Shared<T> {
    fn value(&self) -> Ref<'_, T> {
        RwLockReadGuard::map(self.state.read(), |state| &state.value)
    }
}

impl<T> Sender<T> {
    /// The sender of a channel that holds `value`.
    pub fn new(value: T) -> Self {
        Self(Arc::new(Shared {
            state: RwLock::new(State { value, version: 0 }),
            changed: Notify::new(),
            senders: AtomicUsize::new(1),
        }))
    }

    /// A receiver that has seen the value that is there.
    pub fn subscribe(&self) -> Receiver<T> {
        let seen = self.0.state.read().version;
        let shared = self.0.clone();
        Receiver { shared, seen }
    }

    /// The value.
    pub fn borrow(&self) -> Ref<'_, T> {
        self.0.value()
    }

    /// Sends `value`. Returns what was there before.
    pub fn send_replace(&self, value: T) -> T {
        let mut before = value;
        self.send_modify(|held| std::mem::swap(held, &mut before));
        before
    }

    /// Changes the value.
    pub fn send_modify(&self, change: impl FnOnce(&mut T)) {
        self.send_if_modified(|held| {
            change(held);
            true
        });
    }

    /// Changes the value, and tells the receivers only if `change` says that it did. Returns what it says.
    pub fn send_if_modified(&self, change: impl FnOnce(&mut T) -> bool) -> bool {
        let mut state = self.0.state.write();
        let is_changed = change(&mut state.value);
        if is_changed {
            state.version += 1;
            drop(state);
            self.0.changed.notify_waiters();
        }
        is_changed
    }
}

impl<T: Default> Default for Sender<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.0.senders.fetch_add(1, Ordering::Relaxed);
        Self(self.0.clone())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if self.0.senders.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.changed.notify_waiters();
        }
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        let shared = self.shared.clone();
        Self { shared, ..*self }
    }
}

impl<T> Receiver<T> {
    /// The value.
    pub fn borrow(&self) -> Ref<'_, T> {
        self.shared.value()
    }

    /// The value; it is seen then.
    pub fn borrow_and_update(&mut self) -> Ref<'_, T> {
        let state = self.shared.state.read();
        self.seen = state.version;
        RwLockReadGuard::map(state, |state| &state.value)
    }

    /// Whether there is a value that it has not seen.
    #[cfg(any(test, feature = "testing"))]
    pub fn has_changed(&self) -> bool {
        self.seen != self.shared.state.read().version
    }

    /// Takes the value that is there as seen.
    pub fn mark_unchanged(&mut self) {
        self.seen = self.shared.state.read().version;
    }

    /// Waits until there is a value that it has not seen, which it has then. Cancelling it loses nothing.
    ///
    /// # Errors
    /// All senders are gone, and it has seen the last value.
    pub async fn changed(&mut self) -> Result<(), Closed> {
        loop {
            // It hears of what happens from here on.
            let woken = self.shared.changed.notified();
            let is_closed = self.shared.senders.load(Ordering::Acquire) == 0;
            let version = self.shared.state.read().version;
            if version != self.seen {
                self.seen = version;
                return Ok(());
            }
            if is_closed {
                return Err(Closed);
            }
            woken.await;
        }
    }

    /// Waits until the value is as `wanted`, and returns it; it is seen then.
    ///
    /// # Errors
    /// All senders are gone, and the last value is not so.
    pub async fn wait_for(&mut self, mut wanted: impl FnMut(&T) -> bool) -> Result<T, Closed>
    where
        T: Clone,
    {
        let mut is_closed = false;
        loop {
            let found = Some(self.borrow_and_update())
                .filter(|held| wanted(held))
                .map(|held| held.clone());
            match found {
                Some(found) => return Ok(found),
                None if is_closed => return Err(Closed),
                None => is_closed = self.changed().await.is_err(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;
    use tokio::task::JoinSet;

    #[tokio::test]
    async fn a_receiver_sees_the_latest_value_once() {
        let (sender, mut receiver) = channel(1);
        let mut late = sender.subscribe();
        assert_eq!(sender.send_replace(2), 1);
        sender.send_modify(|held| *held += 1);
        assert!(!sender.send_if_modified(|held| *held == 0));
        let clone = receiver.clone();
        receiver.changed().await.unwrap();
        assert_eq!(
            (*receiver.borrow(), *clone.borrow(), *sender.borrow()),
            (3, 3, 3)
        );
        assert_eq!(*late.borrow_and_update(), 3);
        let mut clone = clone;
        clone.mark_unchanged();
        sender.send_replace(4);
        let other = sender.clone();
        drop(sender);
        for receiver in [&mut receiver, &mut late, &mut clone] {
            assert_eq!(receiver.changed().await, Ok(()));
        }
        drop(other);
        assert_eq!(receiver.changed().await, Err(Closed));
        assert_eq!(receiver.wait_for(|held| *held == 4).await, Ok(4));
        assert_eq!(receiver.wait_for(|held| *held == 5).await, Err(Closed));
    }

    #[tokio::test]
    async fn who_waits_first_is_woken_first() {
        for _ in 0..20 {
            let sender = Sender::new(0);
            let woken = Arc::new(Mutex::new(Vec::new()));
            let mut tasks = JoinSet::new();
            for number in 0..50 {
                let (mut receiver, woken) = (sender.subscribe(), woken.clone());
                tasks.spawn(async move {
                    while receiver.changed().await.is_ok() {
                        woken.lock().push(number);
                    }
                });
            }
            for _ in 0..3 {
                tokio::task::yield_now().await;
                sender.send_modify(|held| *held += 1);
            }
            drop(sender);
            tasks.join_all().await;
            let first: Vec<_> = woken.lock().iter().take(50).copied().collect();
            assert_eq!(first, (0..50).collect::<Vec<_>>());
        }
    }
}
