//! What is under way on one connection, and when it has been idle for too long.

#![expect(clippy::disallowed_types, reason = "simulations have no sockets")]

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::seams::Clock;

/// What happened on a connection so far. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Activity(Arc<watch::Sender<Counts>>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Requests that are not answered to the end.
    pub(super) active: usize,
    /// Requests whose head was complete.
    pub(super) heads: u64,
}

/// A request that is under way, until it is dropped.
#[derive(Debug)]
pub(super) struct Active(Activity);

impl Default for Activity {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(Counts::default())))
    }
}

impl Activity {
    /// The head of a request is complete.
    pub(super) fn begin(&self) -> Active {
        self.0.send_modify(|counts| {
            counts.active += 1;
            counts.heads += 1;
        });
        Active(self.clone())
    }

    pub(super) fn counts(&self) -> Counts {
        *self.0.borrow()
    }

    /// Waits until nothing has been under way for that long.
    pub(super) async fn idle(&self, clock: &Clock, patience: Duration) {
        let mut counts = self.0.subscribe();
        loop {
            // This holds a sender, so there is always one.
            let Ok(heads) = counts
                .wait_for(|counts| counts.active == 0)
                .await
                .map(|held| held.heads)
            else {
                return;
            };
            let next = counts.wait_for(|counts| counts.heads != heads);
            if clock.within(patience, next).await.is_none() {
                return;
            }
        }
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        let sender = &self.0.0;
        sender.send_modify(|counts| counts.active = counts.active.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures::future::{Either, select};
    use jiff::Timestamp;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(90);

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_idle_when_nothing_is_under_way_for_so_long() {
        let clock = Clock::new(|| Timestamp::UNIX_EPOCH);
        let activity = Activity::default();
        let began = clock.instant();
        let requests = async {
            clock.sleep(Duration::from_secs(80)).await;
            let watch = activity.begin();
            clock.sleep(Duration::from_secs(1000)).await;
            drop(watch);
            clock.sleep(Duration::from_secs(80)).await;
            drop(activity.begin());
            std::future::pending::<()>().await;
        };
        let (idle, requests) = (pin!(activity.idle(&clock, PATIENCE)), pin!(requests));
        assert!(matches!(select(idle, requests).await, Either::Left(_)));
        let passed = clock.instant().duration_since(began);
        assert_eq!(passed.as_secs(), 80 + 1000 + 80 + 90);
    }
}
