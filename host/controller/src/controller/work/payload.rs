//! What is noted of a key that is to run: why, and since when it waits.
//!
//! - A delay is a reason only once it has ended: a key that something else runs earlier runs because of that.

use tokio::time::Instant;

use super::super::object_state::Hold;
use super::super::queue::Payload;
use super::super::wake_reasons::WakeReasons;
use windlass_view::WakeReason;

/// What is noted of a key.
#[derive(Debug, Default)]
pub(super) struct KeyPayload {
    /// Why it runs: the first reasons.
    pub(super) reasons: WakeReasons,
    /// Why it is delayed, if it is.
    pub(super) delayed: Option<WakeReason>,
    /// Since when it waits for a worker; a delayed one, from when it will. None before it was ever added.
    pub(super) since: Option<Instant>,
}

impl Payload for KeyPayload {
    fn delay_ended(&mut self) {
        if let Some(why) = self.delayed.take() {
            self.reasons.note(why);
        }
    }

    fn delay_forgotten(&mut self) {
        self.delayed = None;
    }

    fn ignores(&self, hold: Hold) -> bool {
        match hold {
            Hold::HotLoop => self.reasons.are_asked_for(),
            Hold::Pace => self.reasons.are_asked_for() || self.reasons.is_edited,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use futures::FutureExt;

    use super::super::super::object_state::QueuePosition;
    use super::super::super::queue::Priority;
    use super::super::{QueueKey, WorkQueue};
    use super::*;
    use windlass_base::seams::Clock;
    use windlass_kube::object::Key;
    use windlass_view::Enqueue;

    const MINUTE: Duration = Duration::from_secs(60);

    fn queue() -> WorkQueue {
        let queue = WorkQueue::new(Clock::system(), Arc::default());
        queue.open();
        queue
    }

    fn key() -> QueueKey {
        QueueKey {
            kind: 0,
            key: Key::new(None, "a"),
        }
    }

    fn add(queue: &WorkQueue, why: WakeReason) {
        let QueueKey { kind, key } = key();
        let low = false;
        queue.add(kind, Enqueue { key, why, low });
    }

    fn changed() -> WakeReason {
        WakeReason::Changed("Secret".into(), Key::new(None, "key"))
    }

    fn change(queue: &WorkQueue) {
        add(queue, changed());
    }

    fn delay(queue: &WorkQueue, delay: Duration, why: WakeReason) {
        queue.add_after(key(), delay, why, Priority::Normal);
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_during_a_delay_is_the_only_reason() {
        for why in [
            WakeReason::Requeued,
            WakeReason::Failed,
            WakeReason::SlowedDown,
        ] {
            let queue = queue();
            delay(&queue, MINUTE, why);
            change(&queue);
            let taken = queue.take().await.unwrap();
            assert_eq!(
                (taken.reasons.first, taken.reasons.count),
                (vec![changed()], 1)
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_generation_waits_for_a_hot_loop_alone() {
        let edited = || WakeReason::Edited("Greeting".into(), key().key);
        // (hold, reason; whether the key runs)
        let rows = [
            (Hold::Pace, changed(), false),
            (Hold::Pace, edited(), true),
            (Hold::Pace, WakeReason::Asked, true),
            (Hold::HotLoop, edited(), false),
            (Hold::HotLoop, WakeReason::Asked, true),
        ];
        for (hold, why, runs) in rows {
            let queue = queue();
            change(&queue);
            let taken = queue.take().await.unwrap();
            queue.hold(&key(), MINUTE, hold);
            queue.done(&taken);
            // It counts also behind many other reasons.
            for number in 0..20 {
                let why = WakeReason::Changed("Pod".into(), Key::new(None, &number.to_string()));
                add(&queue, why);
            }
            let why_text = format!("{hold:?} {why:?}");
            add(&queue, why);
            assert_eq!(queue.take().now_or_never().is_some(), runs, "{why_text}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_asks_for_a_key_does_not_wait_for_what_slows_it() {
        let ask = |queue: &WorkQueue| add(queue, WakeReason::Asked);
        let queue = queue();
        change(&queue);
        let taken = queue.take().await.unwrap();
        queue.hold(&key(), MINUTE, Hold::HotLoop);
        queue.done(&taken);
        change(&queue);
        assert!(queue.take().now_or_never().is_none(), "it is slowed");
        ask(&queue);
        let taken = queue.take().now_or_never().flatten().unwrap();
        assert_eq!(taken.reasons.first, [WakeReason::Asked, changed()]);
        // Somebody asks while it runs, before it is slowed.
        ask(&queue);
        queue.hold(&key(), MINUTE, Hold::HotLoop);
        queue.done(&taken);
        let taken = queue.take().now_or_never().flatten().unwrap();
        assert_eq!(taken.reasons.first, [WakeReason::Asked]);
        // That has ended what slowed it, until something slows it again.
        queue.done(&taken);
        change(&queue);
        let taken = queue.take().now_or_never().flatten().unwrap();
        queue.hold(&key(), MINUTE, Hold::HotLoop);
        queue.done(&taken);
        change(&queue);
        assert!(queue.take().now_or_never().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_delay_that_begins_after_a_change_is_no_reason() {
        let queue = queue();
        change(&queue);
        let taken = queue.take().await.unwrap();
        change(&queue);
        // The run ends: it asks for another one, which comes at once anyway.
        delay(&queue, MINUTE, WakeReason::Requeued);
        queue.done(&taken);
        assert_eq!(queue.take().await.unwrap().reasons.first, [changed()]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_delay_that_has_ended_is_a_reason_and_so_is_a_change_after_it() {
        let queue = queue();
        delay(&queue, MINUTE, WakeReason::Requeued);
        // Somebody has to look for the delay to end; nothing is handed out yet.
        queue.hold(&key(), 2 * MINUTE, Hold::HotLoop);
        let looks = queue.clock.within(MINUTE * 3 / 2, queue.take());
        assert!(looks.await.is_none());
        change(&queue);
        let taken = queue.take().await.unwrap();
        assert_eq!(taken.reasons.first, [WakeReason::Requeued, changed()]);
    }

    #[tokio::test(start_paused = true)]
    async fn of_two_delays_the_earlier_one_is_the_reason() {
        for delays in [[1, 2], [2, 1]] {
            let queue = queue();
            for minutes in delays {
                let why = match minutes {
                    1 => WakeReason::Failed,
                    _ => WakeReason::Requeued,
                };
                delay(&queue, minutes * MINUTE, why);
            }
            let QueuePosition::Delayed(delayed) = queue.place(&key()).0 else {
                panic!("it is delayed");
            };
            assert_eq!(delayed.why, Some(WakeReason::Failed));
            assert_eq!(
                queue.take().await.unwrap().reasons.first,
                [WakeReason::Failed]
            );
        }
    }
}
