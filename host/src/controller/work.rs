//! The queue that a plugin's workers share: [`Queue`] with a lock, a clock and somebody to wake.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::queue::{Cause, Queue};
use crate::seams::{Clock, first};
use crate::view::Key;

/// A queue that can be waited for.
#[derive(Debug)]
pub(super) struct WorkQueue {
    clock: Clock,
    changed: Notify,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    queue: Queue<Key, Instant>,
    closed: bool,
    /// Nothing is handed out before this: the API server asked the plugin to slow down.
    paused_until: Option<Instant>,
}

enum Turn {
    Run(Key, Cause),
    Closed,
    WaitUntil(Option<Instant>),
}

impl WorkQueue {
    /// An empty queue.
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            clock,
            changed: Notify::new(),
            state: Mutex::default(),
        }
    }

    /// Marks `key` as needing work now.
    pub(super) fn add(&self, key: Key) {
        self.state().queue.add(key);
        self.changed.notify_one();
    }

    /// Marks `keys` as needing work, after what needs it more.
    pub(super) fn add_low(&self, keys: Vec<Key>) {
        let mut state = self.state();
        keys.into_iter().for_each(|key| state.queue.add_low(key));
        drop(state);
        self.changed.notify_one();
    }

    /// Marks `key` as needing work after `delay`.
    pub(super) fn add_after(&self, key: Key, delay: Duration) {
        let due = self.clock.now() + delay;
        self.state().queue.add_at(key, due);
        self.changed.notify_one();
    }

    /// Hands nothing out for `delay`.
    pub(super) fn pause(&self, delay: Duration) {
        let until = self.clock.now() + delay;
        let mut state = self.state();
        state.paused_until = state.paused_until.max(Some(until));
    }

    /// Waits for a key, and says why it runs; `None` once the queue is closed.
    pub(super) async fn take(&self) -> Option<(Key, Cause)> {
        loop {
            let changed = self.changed.notified();
            match self.turn() {
                Turn::Run(key, cause) => return Some((key, cause)),
                Turn::Closed => return None,
                Turn::WaitUntil(Some(due)) => {
                    first(changed, self.clock.sleep_until(due)).await;
                }
                Turn::WaitUntil(None) => changed.await,
            }
        }
    }

    /// Hands `key` back.
    pub(super) fn done(&self, key: &Key) {
        self.state().queue.done(key);
        self.changed.notify_one();
    }

    /// Hands out no more keys. What runs is not touched.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.changed.notify_waiters();
        self.changed.notify_one();
    }

    /// How many keys wait and how many run.
    pub(super) fn load(&self) -> (usize, usize) {
        let state = self.state();
        (state.queue.depth(), state.queue.running())
    }

    fn turn(&self) -> Turn {
        let now = self.clock.now();
        let mut state = self.state();
        if state.closed {
            // Another worker may wait for the same news.
            self.changed.notify_one();
            return Turn::Closed;
        }
        if state.paused_until.is_some_and(|until| until > now) {
            return Turn::WaitUntil(state.paused_until);
        }
        match state.queue.take(now) {
            Some((key, cause)) => {
                if state.queue.depth() > 0 {
                    self.changed.notify_one();
                }
                Turn::Run(key, cause)
            }
            None => Turn::WaitUntil(state.queue.next_due()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    fn key(name: &str) -> Key {
        Key {
            namespace: None,
            name: name.into(),
        }
    }

    fn queue() -> WorkQueue {
        WorkQueue::new(Clock::system())
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiting_worker_gets_a_key_when_its_delay_ends() {
        let queue = queue();
        let start = queue.clock.now();
        queue.add_after(key("a"), Duration::from_secs(20));
        assert_eq!(queue.take().await.map(|(key, _)| key), Some(key("a")));
        assert_eq!(queue.clock.now() - start, Duration::from_secs(20));
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_holds_back_what_is_ready() {
        let queue = queue();
        let start = queue.clock.now();
        queue.add(key("a"));
        queue.pause(Duration::from_secs(3));
        assert_eq!(queue.take().await.map(|(key, _)| key), Some(key("a")));
        assert_eq!(queue.clock.now() - start, Duration::from_secs(3));
    }

    #[tokio::test(start_paused = true)]
    async fn every_waiting_worker_hears_of_the_end() {
        let queue = queue();
        let mut waiting: Vec<_> = (0..5).map(|_| Box::pin(queue.take())).collect();
        for worker in &mut waiting {
            assert!(worker.now_or_never().is_none());
        }
        queue.close();
        for worker in waiting {
            assert_eq!(worker.await, None);
        }
    }
}
