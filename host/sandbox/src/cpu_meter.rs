//! Runs a call in turns and counts the CPU time that it uses.
//!
//! - Time counts only while the call runs on a thread, by that thread's own clock: what it waits
//!   for is not charged to it.
//! - Whenever the call waits, for an answer or for its next slice, its turn goes to another.
//! - The turn of a slice that has ended goes on when the call would run again: by then, who was ready before
//!   it waits for a turn too, and not for the thread.
//! - A call that is told to stop waits for no turn: it stops where it would go on.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;

use super::cancel::Cancel;
use super::fair_scheduler::{PluginQueue, Turn};
use super::waited::{WaitGuard, Waited};
use windlass_base::seams::Clock;

/// The CPU time of one call. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Cpu {
    clock: Clock,
    inner: Arc<MeterInner>,
}

#[derive(Debug, Default)]
struct MeterInner {
    /// Nanoseconds of the slices that have ended.
    spent: AtomicU64,
    /// The thread's CPU time when the running slice began, in nanoseconds.
    began: AtomicU64,
    /// The slice has ended though the call could go on.
    over: AtomicBool,
}

impl Cpu {
    /// Nothing used so far.
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            clock,
            inner: Arc::default(),
        }
    }

    /// What the call has used, the running slice included. To be asked on the call's own thread.
    pub(super) fn used_now(&self) -> Duration {
        self.used() + self.slice()
    }

    /// What the call has used in the slices that have ended.
    pub(super) fn used(&self) -> Duration {
        Duration::from_nanos(self.inner.spent.load(Ordering::Relaxed))
    }

    /// The running slice ends here, though the call could go on. To be said on the call's own thread.
    pub(super) fn end_slice(&self) {
        self.inner.over.store(true, Ordering::Relaxed);
    }

    /// Whether the slice has ended so; asked once for each.
    fn was_ended(&self) -> bool {
        self.inner.over.swap(false, Ordering::Relaxed)
    }

    fn begin(&self) {
        self.inner
            .began
            .store(nanos(self.clock.thread_cpu()), Ordering::Relaxed);
    }

    fn end(&self) {
        self.inner
            .spent
            .fetch_add(nanos(self.slice()), Ordering::Relaxed);
    }

    /// As if a slice had used so much.
    #[cfg(test)]
    pub(super) fn spend(&self, used: Duration) {
        self.inner.spent.fetch_add(nanos(used), Ordering::Relaxed);
    }

    /// The CPU time that the running slice has used. To be asked on the call's own thread.
    pub(super) fn slice(&self) -> Duration {
        let began = Duration::from_nanos(self.inner.began.load(Ordering::Relaxed));
        self.clock.thread_cpu().saturating_sub(began)
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A call that runs in turns.
pub(super) struct Metered<T> {
    call: BoxFuture<'static, T>,
    cpu: Cpu,
    line: PluginQueue,
    waited: Waited,
    stop: Cancel,
    waiting: Option<BoxFuture<'static, Option<Turn>>>,
    /// Counts the wait for the next turn.
    waits: Option<WaitGuard>,
    /// Of the slice that has ended.
    held: Option<Turn>,
}

impl<T> Metered<T> {
    /// Runs `call` in turns of `line` until `stop` tells it to stop, counting into `cpu`, and its waits for turns into
    /// `waited`.
    pub(super) fn new(
        call: impl Future<Output = T> + Send + 'static,
        cpu: Cpu,
        (line, waited): (PluginQueue, Waited),
        stop: Cancel,
    ) -> Self {
        Self {
            call: Box::pin(call),
            cpu,
            line,
            waited,
            stop,
            waiting: None,
            waits: None,
            held: None,
        }
    }
}

impl<T> Future for Metered<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let this = &mut *self;
        let waiting = this.waiting.get_or_insert_with(|| {
            let (held, line, stop) = (this.held.take(), this.line.clone(), this.stop.clone());
            Box::pin(async move {
                let turn = async {
                    match held {
                        Some(turn) => line.pass_on(turn).await,
                        None => line.take().await,
                    }
                };
                tokio::select! {
                    biased;
                    turn = turn => Some(turn),
                    () = stop.stopped() => None,
                }
            })
        });
        let Poll::Ready(turn) = waiting.as_mut().poll(context) else {
            let waited = &this.waited;
            this.waits.get_or_insert_with(|| waited.begin());
            return Poll::Pending;
        };
        (this.waiting, this.waits) = (None, None);
        let before = this.cpu.used();
        this.cpu.begin();
        let answer = this.call.as_mut().poll(context);
        this.cpu.end();
        let over = this.cpu.was_ended() && answer.is_pending();
        if let Some(mut turn) = turn {
            turn.spend(this.cpu.used().saturating_sub(before));
            this.held = over.then_some(turn);
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use futures::FutureExt;

    use super::*;
    use crate::fair_scheduler::FairScheduler;
    use windlass_base::seams::Spawn;

    /// A clock on which nothing takes CPU time: each slice counts the same.
    fn clock() -> Clock {
        Clock::starting_at("2026-11-21T09:30:00Z".parse().unwrap())
    }

    /// Computes without end, and counts its slices.
    struct Spinner(Cpu, Arc<AtomicUsize>);

    impl Future for Spinner {
        type Output = ();

        fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.end_slice();
            context.waker().wake_by_ref();
            Poll::Pending
        }
    }

    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "a test is where tasks come from")]
    async fn of_a_hundred_plugins_one_that_floods_gets_no_more_turns_than_the_others() {
        let spawn = Spawn::inline(tokio::runtime::Handle::current());
        for threads in [1, 2] {
            let turns = FairScheduler::new(threads);
            let slices: Vec<Arc<AtomicUsize>> = (0..100).map(|_| Arc::default()).collect();
            let mut calls = Vec::new();
            for (number, slices) in slices.iter().enumerate() {
                for _ in 0..if number == 0 { 32 } else { 1 } {
                    let cpu = Cpu::new(clock());
                    let call = Spinner(cpu.clone(), slices.clone());
                    let line = turns.line(format!("plugin-{number}").into(), 10);
                    let place = (line, Waited::new(clock()));
                    calls.push(spawn.guest(Metered::new(call, cpu, place, Cancel::default())));
                }
            }
            let counts = || slices.iter().map(|slices| slices.load(Ordering::Relaxed));
            while counts().sum::<usize>() < 5_000 {
                tokio::task::yield_now().await;
            }
            let (fewest, most) = (counts().min().unwrap(), counts().max().unwrap());
            assert!(most <= fewest + 5, "{fewest} to {most}");
        }
    }

    #[tokio::test]
    async fn a_call_that_is_told_to_stop_waits_for_no_turn() {
        let turns = FairScheduler::new(1);
        let _held = turns.line("busy".into(), 10).take().await;
        let stop = Cancel::default();
        let call = std::future::ready(());
        let place = (turns.line("a".into(), 10), Waited::new(clock()));
        let mut call = Box::pin(Metered::new(call, Cpu::new(clock()), place, stop.clone()));
        assert!((&mut call).now_or_never().is_none());
        stop.stop();
        assert!(call.now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn the_wait_for_a_turn_counts_and_what_the_call_waits_for_by_itself_does_not() {
        let (turns, clock) = (FairScheduler::new(1), clock());
        let held = turns.line("busy".into(), 10).take().await;
        let waited = Waited::new(clock);
        let place = (turns.line("a".into(), 10), waited.clone());
        let call = async move { clock.sleep(Duration::from_secs(3)).await };
        let call = Metered::new(call, Cpu::new(clock), place, Cancel::default());
        let mut call = Box::pin(call);
        assert!((&mut call).now_or_never().is_none(), "it waits for a turn");
        clock.sleep(Duration::from_secs(5)).await;
        drop(held);
        call.await;
        assert_eq!(waited.total().as_secs(), 5);
    }
}
