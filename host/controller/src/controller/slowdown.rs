//! Slows a plugin down, for all its keys, while its calls trap or time out for most objects.
//!
//! - Each key has its own backoff. A plugin that fails for every key would still use its share of the host for nothing,
//!   as often as objects change.
//! - While it is slowed down it gets one call at a time: after 1 s, and after twice as long each time that call fails,
//!   up to 5 minutes. The first call that ends well sets it free.
//! - Objects count, and not calls: one object that is tried again and again does not slow the others down.
//! - A failure that the plugin reports is an answer: it does not count. Neither does what the host or the API server is
//!   to blame for, such as a call that ran past its deadline because the API server was slow.

use std::time::Duration;

use tokio::time::Instant;

use super::finalizer::Step;
use super::last_ends::{LastEnds, ObjectHash};
use super::reconcile::{Done, PassError};
use windlass_sandbox::{CallError, is_own_time};

/// The number of objects whose last calls decide about a slowdown.
const WINDOW: usize = 20;

/// The number of objects from which on a majority of bad ones slows the plugin down. With fewer objects, at least two and all of
/// them must be bad, and as many calls in a row.
const LEAST: usize = 10;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(300);

/// How the last calls of a plugin ended.
#[derive(Debug)]
pub(super) struct Slowdown {
    /// Whether the last call of each object trapped or timed out.
    objects: LastEnds,
    /// How many calls in a row trapped or timed out.
    in_a_row: usize,
    /// How often it was slowed down in a row.
    level: u32,
    until: Option<Instant>,
}

/// What is to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// Nothing.
    Same,
    /// No call for so long, and then one at a time.
    Slow {
        /// How long.
        delay: Duration,
        /// The number of objects whose last call trapped or timed out.
        bad: usize,
        /// The number of objects whose last calls were counted.
        of: usize,
        /// It was not slowed down before.
        is_new: bool,
    },
    /// It is slowed down no more.
    Free,
}

impl Default for Slowdown {
    fn default() -> Self {
        Self {
            objects: LastEnds::of(WINDOW),
            in_a_row: 0,
            level: 0,
            until: None,
        }
    }
}

impl Slowdown {
    /// A call about `object` has ended `now`, and did so badly or not.
    pub(super) fn ended(&mut self, object: ObjectHash, is_bad: bool, now: Instant) -> Pace {
        self.objects.ended(object, is_bad);
        self.in_a_row = if is_bad { self.in_a_row + 1 } else { 0 };
        if !is_bad {
            self.until = None;
            return match std::mem::take(&mut self.level) {
                0 => Pace::Same,
                _ => Pace::Free,
            };
        }
        let (bad, of) = self.objects.count(WINDOW);
        let is_most = match of {
            0 | 1 => false,
            2..LEAST => bad == of && self.in_a_row >= LEAST,
            _ => 2 * bad > of,
        };
        // Calls that began before it was slowed down say nothing new.
        if !is_most || self.until.is_some_and(|until| now < until) {
            return Pace::Same;
        }
        let factor = 1_u32.checked_shl(self.level).unwrap_or(u32::MAX);
        let delay = FIRST.saturating_mul(factor).min(LONGEST);
        let is_new = self.level == 0;
        self.level = self.level.saturating_add(1);
        self.until = Some(now + delay);
        Pace::Slow {
            delay,
            bad,
            of,
            is_new,
        }
    }
}

/// Whether a pass that takes this step calls the plugin.
pub(super) fn makes_call(step: Step) -> bool {
    match step {
        Step::Reconcile | Step::Going | Step::Finalize => true,
        Step::Protect | Step::Release | Step::Paused | Step::Ignore => false,
    }
}

/// Whether a pass that ended so had a call that trapped or timed out; `None` if it says nothing of the plugin.
pub(super) fn is_bad(step: Step, outcome: &Result<Done, PassError>) -> Option<bool> {
    if !makes_call(step) {
        return None;
    }
    match outcome {
        Ok(_) | Err(PassError::Call(CallError::Failed(_))) => Some(false),
        Err(PassError::Call(CallError::Trapped(_) | CallError::CpuExceeded(_))) => Some(true),
        Err(PassError::Call(CallError::DeadlineExceeded { deadline, waited })) => {
            is_own_time(*deadline, *waited).then_some(true)
        }
        Err(
            PassError::Call(CallError::Stopped | CallError::Undecided | CallError::Host(_))
            | PassError::Finalizer(_)
            | PassError::Read(_),
        ) => None,
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test hands in its own time")]
mod tests {
    use std::sync::Arc;

    use futures::FutureExt;

    use super::super::work::WorkQueue;
    use super::*;
    use windlass_base::seams::Clock;
    use windlass_kube::api::ApiError;
    use windlass_kube::object::Key;
    use windlass_sandbox::Failure;
    use windlass_view::{Enqueue, WakeReason};

    /// The delays in seconds after each call, when the next one begins as soon as it may.
    fn delays(calls: &[bool]) -> Vec<u64> {
        let (mut slowdown, mut now) = (Slowdown::default(), Instant::now());
        let mut object = 0;
        let mut delay = |is_bad: &bool| match slowdown.ended(
            {
                object += 1;
                object
            },
            *is_bad,
            now,
        ) {
            Pace::Slow { delay, .. } => {
                now += delay;
                delay.as_secs()
            }
            Pace::Same | Pace::Free => 0,
        };
        calls.iter().map(&mut delay).collect()
    }

    #[test]
    fn a_plugin_that_fails_in_most_calls_is_slowed_down_more_and_more() {
        let bad = delays(&[true; 22]);
        assert_eq!(bad[..9], [0; 9], "nine calls are not enough");
        assert_eq!(
            bad[9..],
            [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300, 300]
        );
    }

    #[test]
    fn one_that_fails_in_half_of_its_calls_is_not() {
        let half: Vec<bool> = (0..100).map(|number| number % 2 == 1).collect();
        assert_eq!(delays(&half), [0; 100]);
        assert_eq!(delays(&[false; 100]), [0; 100]);
    }

    #[test]
    fn a_call_that_ends_well_sets_it_free_and_the_next_bad_one_starts_over() {
        let mut calls = vec![true; 14];
        calls.extend([false, true, true, false]);
        assert_eq!(delays(&calls)[9..], [1, 2, 4, 8, 16, 0, 1, 2, 0]);
        let (mut slowdown, now) = (Slowdown::default(), Instant::now());
        for object in 0..10 {
            slowdown.ended(object, true, now);
        }
        assert_eq!(slowdown.ended(0, false, now), Pace::Free);
        assert_eq!(slowdown.ended(0, false, now), Pace::Same);
    }

    #[test]
    fn one_object_that_is_tried_again_and_again_slows_nobody_down() {
        let (mut slowdown, now) = (Slowdown::default(), Instant::now());
        for object in 1..6 {
            assert_eq!(slowdown.ended(object, false, now), Pace::Same);
        }
        for _ in 0..100 {
            assert_eq!(slowdown.ended(0, true, now), Pace::Same);
        }
        let mut alone = Slowdown::default();
        for _ in 0..100 {
            assert_eq!(alone.ended(0, true, now), Pace::Same);
        }
        // With a second one that traps too, it is the plugin.
        assert!(matches!(
            alone.ended(1, true, now),
            Pace::Slow { bad: 2, of: 2, .. }
        ));
    }

    #[test]
    fn calls_that_began_before_it_was_slowed_down_do_not_count_twice() {
        let (mut slowdown, now) = (Slowdown::default(), Instant::now());
        let mut object = 0;
        let mut ends = |after: Duration| {
            object += 1;
            slowdown.ended(object, true, now + after)
        };
        for _ in 0..9 {
            assert_eq!(ends(Duration::ZERO), Pace::Same);
        }
        let slow = |delay, bad, is_new| Pace::Slow {
            delay,
            bad,
            of: bad,
            is_new,
        };
        assert_eq!(ends(Duration::ZERO), slow(FIRST, 10, true));
        assert_eq!(ends(FIRST / 2), Pace::Same);
        assert_eq!(ends(FIRST), slow(2 * FIRST, 12, false));
    }

    /// Three keys, of a plugin whose calls trap at first.
    #[tokio::test(start_paused = true)]
    async fn a_plugin_that_is_slowed_down_gets_one_key_at_a_time() {
        let clock = Clock::system();
        let queue = WorkQueue::new(clock, Arc::default());
        queue.open();
        for name in ["a", "b", "c"] {
            queue.add(
                0,
                Enqueue {
                    key: Key::new(None, name),
                    why: WakeReason::Listed,
                    low: false,
                },
            );
        }
        let mut slowdown = Slowdown::default();
        for object in 0..9 {
            slowdown.ended(object, true, clock.now());
        }
        let start = clock.now();
        for waited in [1, 3, 7] {
            let Pace::Slow { delay, .. } = slowdown.ended(waited + 10, true, clock.now()) else {
                panic!("it goes on as before");
            };
            queue.slow_down(Some(delay));
            let taken = queue.take().await.unwrap();
            assert_eq!((clock.now() - start).as_secs(), waited);
            assert!(queue.take().now_or_never().is_none(), "one at a time");
            queue.done(&taken);
            queue.add(
                0,
                Enqueue {
                    key: taken.key.key.clone(),
                    why: WakeReason::Listed,
                    low: false,
                },
            );
        }
        assert_eq!(slowdown.ended(1, false, clock.now()), Pace::Free);
        queue.slow_down(None);
        for _ in 0..3 {
            assert!(queue.take().now_or_never().flatten().is_some());
        }
    }

    #[test]
    fn only_traps_and_timeouts_are_bad() {
        let text = || "why".to_owned();
        let call = |error| Err(PassError::Call(error));
        let second = Duration::from_secs(1);
        let late = |deadline, waited| CallError::DeadlineExceeded {
            deadline: Duration::from_secs(deadline),
            waited: Duration::from_secs(waited),
        };
        let cases = [
            (Ok(Done::Rest), Some(false)),
            (Ok(Done::After(5)), Some(false)),
            (
                call(CallError::Failed(Failure::Transient(text()))),
                Some(false),
            ),
            (
                call(CallError::Failed(Failure::Terminal(text()))),
                Some(false),
            ),
            (call(CallError::Trapped(text())), Some(true)),
            (call(CallError::CpuExceeded(second)), Some(true)),
            (call(late(30, 0)), Some(true)),
            (call(late(30, 14)), Some(true)),
            // The API server, or a busy machine, took as much or more.
            (call(late(30, 15)), None),
            (call(late(30, 29)), None),
            (call(late(30, 31)), None),
            (call(CallError::Stopped), None),
            (call(CallError::Host(text())), None),
            (Err(PassError::Read(ApiError::Unreachable(text()))), None),
            (
                Err(PassError::Finalizer(ApiError::Unreachable(text()))),
                None,
            ),
        ];
        for (outcome, want) in cases {
            assert_eq!(is_bad(Step::Reconcile, &outcome), want, "{outcome:?}");
            assert_eq!(is_bad(Step::Finalize, &outcome), want, "{outcome:?}");
            assert_eq!(is_bad(Step::Protect, &outcome), None, "no call was made");
        }
    }
}
