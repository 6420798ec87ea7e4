//! Tells a call to stop: by a trap at its next epoch or import, never by dropping it.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Why the host ended a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// Past its deadline, or the host is shutting down.
    #[error("the host stopped the call")]
    Cancelled,
    /// A dry run, which would have to send something to go on.
    #[error("the call would send an HTTP request that may change something")]
    Undecided,
    /// Out of CPU time.
    #[error("the call used up its CPU time")]
    Cpu,
}

/// A flag that can be waited for. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<CancelInner>);

#[derive(Debug, Default)]
struct CancelInner {
    stopped: AtomicBool,
    changed: Notify,
}

impl Cancel {
    /// Asks the call to stop.
    pub fn stop(&self) {
        self.0.stopped.store(true, Ordering::Release);
        self.0.changed.notify_waiters();
    }

    /// An error if the call is to stop.
    ///
    /// # Errors
    /// The call is to stop.
    pub fn check(&self) -> Result<(), Stop> {
        if self.0.stopped.load(Ordering::Acquire) {
            Err(Stop::Cancelled)
        } else {
            Ok(())
        }
    }

    /// Waits until the call is to stop.
    pub async fn stopped(&self) {
        let mut changed = pin!(self.0.changed.notified());
        // Registered before the flag is read, so a stop in between is not missed.
        changed.as_mut().enable();
        if self.check().is_ok() {
            changed.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_waits_and_whoever_comes_later_both_hear_of_it() {
        let cancel = Cancel::default();
        assert_eq!(cancel.check(), Ok(()));
        let waiting = cancel.stopped();
        cancel.stop();
        waiting.await;
        cancel.stopped().await;
        assert_eq!(cancel.check(), Err(Stop::Cancelled));
    }
}
