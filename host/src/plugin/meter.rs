//! Runs a call in turns and counts the CPU time that it uses.
//!
//! - Time counts only while the call runs on a thread, by that thread's own clock: what it waits
//!   for is not charged to it.
//! - Whenever the call waits, for an answer or for its next slice, its turn goes to another.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;

use super::turns::{Turn, Turns};
use crate::seams::Clock;

/// The CPU time of one call. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Cpu {
    clock: Clock,
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Nanoseconds of the slices that have ended.
    spent: AtomicU64,
    /// The thread's CPU time when the running slice began, in nanoseconds.
    began: AtomicU64,
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

    fn slice(&self) -> Duration {
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
    turns: Turns,
    plugin: Arc<str>,
    waiting: Option<BoxFuture<'static, Turn>>,
}

impl<T> Metered<T> {
    /// Runs `call` for `plugin`, counting into `cpu`.
    pub(super) fn new(
        call: impl Future<Output = T> + Send + 'static,
        cpu: Cpu,
        turns: Turns,
        plugin: Arc<str>,
    ) -> Self {
        Self {
            call: Box::pin(call),
            cpu,
            turns,
            plugin,
            waiting: None,
        }
    }
}

impl<T> Future for Metered<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let this = &mut *self;
        let waiting = this.waiting.get_or_insert_with(|| {
            let (turns, plugin) = (this.turns.clone(), this.plugin.clone());
            Box::pin(async move { turns.take(plugin).await })
        });
        let Poll::Ready(turn) = waiting.as_mut().poll(context) else {
            return Poll::Pending;
        };
        this.waiting = None;
        this.cpu.begin();
        let answer = this.call.as_mut().poll(context);
        this.cpu.end();
        drop(turn);
        answer
    }
}
