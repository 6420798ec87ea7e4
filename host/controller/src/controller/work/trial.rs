//! A version on trial: it begins only so many passes until somebody has judged them.
//!
//! - A swap happens under the lock of the queue: each key is handed out either before it or after it, and so each pass
//!   counts for the version that makes it.

use super::{WorkItem, WorkQueue};

/// The version that runs, as far as it is on trial.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trial {
    /// How often a version took over.
    swaps: u64,
    /// How many passes it may still begin; as many as there are, if it is not on trial.
    left: Option<usize>,
}

/// That a pass is one of a trial: of the version that this swap brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket(u64);

impl Trial {
    /// Whether no pass may begin.
    pub(super) fn is_exhausted(self) -> bool {
        self.left == Some(0)
    }

    /// A pass begins.
    pub(super) fn begins(&mut self) -> Option<Ticket> {
        let left = self.left?;
        self.left = Some(left.saturating_sub(1));
        Some(Ticket(self.swaps))
    }

    /// What came of a pass says nothing of the version.
    fn gives_back(&mut self, ticket: Option<Ticket>) {
        if let Some(left) = self.left
            && ticket == Some(Ticket(self.swaps))
        {
            self.left = Some(left + 1);
        }
    }
}

impl WorkQueue {
    /// Brings another version by `swap`: a key that was handed out before is not the new version's, and one that is
    /// handed out after is. No more than `trial` keys are handed out, if it is on trial.
    pub(in super::super) fn swap(&self, trial: Option<usize>, swap: impl FnOnce()) {
        let mut state = self.state.lock();
        state.trial = Trial {
            swaps: state.trial.swaps + 1,
            left: trial,
        };
        swap();
        drop(state);
        self.changed.notify_one();
    }

    /// The version is on trial no more: keys are handed out as before.
    pub(in super::super) fn end_trial(&self) {
        let left = self.state.lock().trial.left.take();
        if left.is_some() {
            self.changed.notify_one();
        }
    }

    /// The version has failed its trial: nothing is handed out before another one is here.
    pub(in super::super) fn fail_trial(&self) {
        let mut state = self.state.lock();
        state.trial.swaps += 1;
        state.trial.left = Some(0);
    }

    /// What came of the key that was `taken` says nothing of the version: one that is on trial gets another key.
    pub(in super::super) fn says_nothing(&self, taken: &WorkItem) {
        self.state.lock().trial.gives_back(taken.trial);
        self.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;

    use futures::FutureExt;

    use super::*;
    use windlass_base::seams::Clock;
    use windlass_kube::object::Key;
    use windlass_view::{Enqueue, WakeReason};

    fn queue(keys: usize) -> WorkQueue {
        let queue = WorkQueue::new(Clock::system(), Arc::default());
        queue.open();
        for number in 0..keys {
            queue.add(
                0,
                Enqueue {
                    key: Key::new(None, &number.to_string()),
                    why: WakeReason::Listed,
                    low: true,
                },
            );
        }
        queue
    }

    fn take(queue: &WorkQueue) -> Option<WorkItem> {
        queue.take().now_or_never().flatten()
    }

    #[tokio::test]
    async fn a_version_on_trial_begins_so_many_passes_until_they_are_judged() {
        let queue = queue(6);
        let before = take(&queue).unwrap();
        queue.swap(Some(2), || ());
        let taken = [take(&queue).unwrap(), take(&queue).unwrap()];
        assert!(take(&queue).is_none(), "two have begun");
        // That a pass has ended does not let another one begin.
        queue.done(&taken[0]);
        queue.says_nothing(&before);
        assert!(
            take(&queue).is_none(),
            "the old version's passes do not count"
        );
        queue.says_nothing(&taken[1]);
        let third = take(&queue).unwrap();
        assert!(take(&queue).is_none());
        queue.end_trial();
        queue.says_nothing(&third);
        assert!(take(&queue).is_some() && take(&queue).is_some());
    }

    #[tokio::test]
    async fn one_that_failed_its_trial_begins_none_before_another_version_is_here() {
        let queue = queue(4);
        queue.swap(Some(2), || ());
        let taken = take(&queue).unwrap();
        queue.fail_trial();
        queue.says_nothing(&taken);
        assert!(take(&queue).is_none());
        let mut waiting = Box::pin(queue.take());
        assert!(waiting.as_mut().now_or_never().is_none());
        queue.swap(None, || ());
        assert!(waiting.await.is_some(), "who waits is told");
        assert!(take(&queue).is_some() && take(&queue).is_some());
    }

    #[tokio::test]
    async fn a_key_is_of_the_version_that_runs_when_it_is_handed_out() {
        let (queue, version) = (queue(2), Cell::new(1));
        let begin = || version.get();
        let first = queue.take_with(begin).await.unwrap();
        queue.swap(None, || version.set(2));
        let second = queue.take_with(begin).await.unwrap();
        assert_eq!((first.1, second.1), (1, 2));
    }
}
