//! Tells those who wait that there is something new, in the order in which they began to wait.
//!
//! - Tokio's `watch` wakes its receivers in an order drawn by chance, and no run would be the same again.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::Notify;

use super::Closed;

/// Rings. Dropping it says that it never will again.
#[derive(Debug, Default)]
pub(super) struct Bell(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    rung: AtomicU64,
    closed: AtomicBool,
    waiting: Notify,
}

/// Hears a bell.
#[derive(Debug)]
pub struct BellListener {
    bell: Arc<Shared>,
    /// How often it had rung when somebody was told last.
    heard: u64,
}

impl Bell {
    pub(super) fn ring(&self) {
        self.0.rung.fetch_add(1, Ordering::AcqRel);
        self.0.waiting.notify_waiters();
    }

    /// Hears what comes from now on.
    pub(super) fn listen(&self) -> BellListener {
        let bell = self.0.clone();
        let heard = bell.rung.load(Ordering::Acquire);
        BellListener { bell, heard }
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        self.0.closed.store(true, Ordering::Release);
        self.0.waiting.notify_waiters();
    }
}

impl BellListener {
    /// Something has happened before it listened.
    pub(super) fn mark_changed(&mut self) {
        self.heard = self.heard.wrapping_sub(1);
    }

    /// Whatever has happened so far is known.
    pub(crate) fn mark_unchanged(&mut self) {
        self.heard = self.bell.rung.load(Ordering::Acquire);
    }

    /// Waits until something happens.
    ///
    /// # Errors
    /// [`Closed`] if nothing will, and everything has been heard.
    pub async fn changed(&mut self) -> Result<(), Closed> {
        loop {
            let mut rings = pin!(self.bell.waiting.notified());
            // Registered before it is looked, so a ring in between is not missed.
            rings.as_mut().enable();
            let closed = self.bell.closed.load(Ordering::Acquire);
            let rung = self.bell.rung.load(Ordering::Acquire);
            if rung != self.heard {
                self.heard = rung;
                return Ok(());
            }
            if closed {
                return Err(Closed);
            }
            rings.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;

    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "a test is where tasks come from")]
    async fn those_who_wait_hear_in_the_order_in_which_they_began() {
        let bell = Bell::default();
        let order = Arc::new(Mutex::new(Vec::new()));
        let tasks: Vec<_> = (0..20)
            .map(|number| {
                let (mut listener, order) = (bell.listen(), order.clone());
                tokio::spawn(async move {
                    listener.changed().await.unwrap();
                    order.lock().push(number);
                })
            })
            .collect();
        tokio::task::yield_now().await;
        bell.ring();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*order.lock(), Vec::from_iter(0..20));
    }

    #[tokio::test]
    async fn what_rang_is_heard_once_and_then_that_it_is_over() {
        let bell = Bell::default();
        let mut listener = bell.listen();
        bell.ring();
        bell.ring();
        drop(bell);
        assert_eq!(listener.changed().await, Ok(()));
        assert_eq!(listener.changed().await, Err(Closed));
        listener.mark_changed();
        assert_eq!(listener.changed().await, Ok(()));
    }
}
