//! Where a call runs: with its pass, if the plugin's calls are known to be short; else on a guest thread.
//!
//! - To hand a call to another thread, and its answer back, costs more than a short call itself: two wake-ups, and
//!   two more for each request that it makes.
//! - Trust is earned by short calls, one after the other, and lost with the first that is not short. A call that turns
//!   out to be long goes on on a guest thread, at the latest when the clock ticks. So a guest that behaves, and then spins,
//!   holds a thread of the host for one slice, and not again before it has behaved for as long.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;

use super::cpu_meter::Cpu;
use windlass_base::seams::{Spawn, Task};

/// The CPU time of a short call, at most.
const SHORT: Duration = Duration::from_millis(1);

/// So many short calls in a row earn trust.
const EARNED: u32 = 32;

/// What a plugin's calls were like.
#[derive(Debug, Default)]
pub(super) struct InlineBudget(AtomicU32);

impl InlineBudget {
    /// Whether the next call may begin with its pass.
    fn is_earned(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= EARNED
    }

    /// A call has used so much.
    pub(super) fn note(&self, used: Duration) {
        if used > SHORT {
            self.0.store(0, Ordering::Relaxed);
        } else if !self.is_earned() {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

type Running<T> = BoxFuture<'static, Result<T, Box<dyn Any + Send>>>;

/// A call that has begun. Dropping it ends the call where it waits.
pub(super) struct Execution<T> {
    place: RunsOn<T>,
    cpu: Cpu,
    spawn: Spawn,
}

enum RunsOn<T> {
    /// Where this is polled.
    Here(Running<T>),
    /// On a guest thread.
    Away(Task<Result<T, Box<dyn Any + Send>>>),
    /// Nowhere: it has ended.
    Over,
}

impl<T: Send + 'static> Execution<T> {
    /// Begins `call`, which counts into `cpu`.
    pub(super) fn begin(
        call: impl Future<Output = T> + Send + 'static,
        trust: &InlineBudget,
        cpu: Cpu,
        spawn: &Spawn,
    ) -> Self {
        let call = AssertUnwindSafe(call).catch_unwind().boxed();
        let place = if trust.is_earned() {
            RunsOn::Here(call)
        } else {
            RunsOn::Away(spawn.guest(call))
        };
        let spawn = spawn.clone();
        Self { place, cpu, spawn }
    }
}

/// The call's answer; none if the host panicked in it.
impl<T: Send + 'static> Future for Execution<T> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let this = &mut *self;
        if let RunsOn::Here(call) = &mut this.place {
            if let Poll::Ready(answer) = call.as_mut().poll(context) {
                this.place = RunsOn::Over;
                return Poll::Ready(answer.ok());
            }
            if this.cpu.used() <= SHORT {
                return Poll::Pending;
            }
            if let RunsOn::Here(call) = std::mem::replace(&mut this.place, RunsOn::Over) {
                this.place = RunsOn::Away(this.spawn.guest(call));
            }
        }
        match &mut this.place {
            RunsOn::Away(call) => Pin::new(call)
                .poll(context)
                .map(|answer| answer.ok().and_then(Result::ok)),
            RunsOn::Here(_) => Poll::Pending,
            RunsOn::Over => Poll::Ready(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;
    use tokio::runtime::{Handle, Runtime};
    use windlass_base::seams::Clock;

    #[expect(clippy::disallowed_methods, reason = "a test is where tasks come from")]
    fn threads() -> (Runtime, Spawn) {
        let guests = windlass_base::seams::guest_threads(1).unwrap();
        let spawn = Spawn::on_threads(Handle::current(), guests.handle().clone());
        (guests, spawn)
    }

    #[tokio::test]
    async fn calls_run_with_their_pass_as_long_as_they_are_short() {
        let (guests, spawn) = threads();
        let trust = InlineBudget::default();
        let here = thread::current().id();
        let is_here = async |used: Duration| {
            let cpu = Cpu::new(Clock::system());
            let call = async move { thread::current().id() };
            let ran = Execution::begin(call, &trust, cpu, &spawn).await;
            trust.note(used);
            ran.unwrap() == here
        };
        for _ in 0..EARNED {
            assert!(!is_here(SHORT).await);
        }
        assert!(is_here(SHORT * 2).await);
        assert!(!is_here(SHORT).await);
        guests.shutdown_background();
    }

    #[tokio::test]
    async fn a_call_that_turns_out_to_be_long_goes_on_on_a_guest_thread() {
        let (guests, spawn) = threads();
        let trust = InlineBudget(AtomicU32::new(EARNED));
        let cpu = Cpu::new(Clock::system());
        let here = thread::current().id();
        let (spends, mut slices) = (cpu.clone(), Vec::new());
        let call = async move {
            for _ in 0..3 {
                slices.push(thread::current().id() == here);
                spends.spend(SHORT * 2 / 3);
                tokio::task::yield_now().await;
            }
            slices
        };
        let slices = Execution::begin(call, &trust, cpu, &spawn).await;
        assert_eq!(slices, Some(vec![true, true, false]));
        guests.shutdown_background();
    }

    #[tokio::test]
    async fn a_panic_of_the_host_is_a_lost_call_wherever_it_runs() {
        let (guests, spawn) = threads();
        for earned in [0, EARNED] {
            let trust = InlineBudget(AtomicU32::new(earned));
            let call = async move { assert_eq!(earned, 1) };
            let lost = Execution::begin(call, &trust, Cpu::new(Clock::system()), &spawn);
            assert_eq!(lost.await, None);
        }
        guests.shutdown_background();
    }
}
