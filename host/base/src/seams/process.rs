//! A process of a simulation: many of them are tasks of one runtime.
//!
//! - While it is frozen none of its tasks is polled, whatever they wait for.
//! - When it is killed all its tasks stop at once, between two polls, and everything that they hold is
//!   dropped. No task of it ever runs again.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use tokio::task::AbortHandle;

/// Tasks that live, stand still and die together. Clones are the same process.
#[derive(Clone, Debug)]
pub struct Process(Arc<ProcessInner>);

#[derive(Debug)]
struct ProcessInner {
    /// Entered whenever a task of it is polled.
    span: tracing::Span,
    life: Mutex<Life>,
    tasks: AtomicUsize,
}

#[derive(Debug)]
enum Life {
    Runs(Vec<AbortHandle>),
    /// With those who wanted to run meanwhile.
    Frozen(Vec<AbortHandle>, Vec<Waker>),
    Killed,
}

impl Process {
    /// A process that runs. What it logs is in `span`.
    pub fn new(span: tracing::Span) -> Self {
        Self(Arc::new(ProcessInner {
            span,
            life: Mutex::new(Life::Runs(Vec::new())),
            tasks: AtomicUsize::new(0),
        }))
    }

    /// Lets it stand still.
    pub fn freeze(&self) {
        let mut life = self.0.life.lock();
        if let Life::Runs(tasks) = &mut *life {
            *life = Life::Frozen(std::mem::take(tasks), Vec::new());
        }
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        let mut life = self.0.life.lock();
        if let Life::Frozen(tasks, waiting) = &mut *life {
            let waiting = std::mem::take(waiting);
            *life = Life::Runs(std::mem::take(tasks));
            drop(life);
            waiting.into_iter().for_each(Waker::wake);
        }
    }

    /// Ends it without a word to any of its tasks.
    pub fn kill(&self) {
        let life = std::mem::replace(&mut *self.0.life.lock(), Life::Killed);
        if let Life::Runs(tasks) | Life::Frozen(tasks, _) = life {
            tasks.iter().for_each(AbortHandle::abort);
        }
    }

    /// Whether it was killed.
    pub fn is_killed(&self) -> bool {
        matches!(*self.0.life.lock(), Life::Killed)
    }

    /// How many tasks it has now.
    pub fn tasks(&self) -> usize {
        self.0.tasks.load(Ordering::Relaxed)
    }

    /// Remembers a task, to end it with the others.
    pub(super) fn own(&self, task: AbortHandle) {
        match &mut *self.0.life.lock() {
            Life::Runs(tasks) | Life::Frozen(tasks, _) => {
                // Now and then, so that it costs little and stays short.
                if tasks.len() == tasks.capacity() {
                    tasks.retain(|task| !task.is_finished());
                }
                tasks.push(task);
            }
            Life::Killed => task.abort(),
        }
    }

    /// `future` as a part of the process.
    pub(super) fn run<F: Future>(&self, future: F) -> ProcessTask<F> {
        self.0.tasks.fetch_add(1, Ordering::Relaxed);
        ProcessTask {
            process: self.clone(),
            future: Box::pin(future),
        }
    }

    /// Whether a task may be polled now. One that may not is woken when it may.
    fn admits(&self, context: &Context<'_>) -> bool {
        match &mut *self.0.life.lock() {
            Life::Runs(_) => true,
            Life::Frozen(_, waiting) => {
                waiting.push(context.waker().clone());
                false
            }
            Life::Killed => false,
        }
    }
}

/// A task of a process.
pub(super) struct ProcessTask<F> {
    process: Process,
    future: Pin<Box<F>>,
}

impl<F: Future> Future for ProcessTask<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        if !self.process.admits(context) {
            return Poll::Pending;
        }
        let process = self.process.clone();
        let _entered = process.0.span.enter();
        self.future.as_mut().poll(context)
    }
}

impl<F> Drop for ProcessTask<F> {
    fn drop(&mut self) {
        self.process.0.tasks.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seams::{Clock, Spawn};
    use std::time::Duration;

    const SECOND: Duration = Duration::from_secs(1);

    /// Counts the seconds that it lives, and starts tasks that do the same.
    async fn count(spawn: Spawn, counted: Arc<AtomicUsize>) {
        let clock = Clock::system();
        let child = spawn.clone();
        let seen = counted.clone();
        spawn.detached(async move {
            loop {
                clock.sleep(SECOND).await;
                seen.fetch_add(1, Ordering::Relaxed);
                child.detached(async {});
            }
        });
        std::future::pending().await
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_stands_still_goes_on_and_dies_as_a_whole() {
        let process = Process::new(tracing::Span::none());
        #[expect(clippy::disallowed_methods, reason = "a test is where tasks come from")]
        let handle = tokio::runtime::Handle::current();
        let spawn = Spawn::of_process(handle, process.clone());
        let counted = Arc::new(AtomicUsize::new(0));
        let _task = spawn.task(count(spawn.clone(), counted.clone()));
        let clock = Clock::system();
        let after = async |wait: Duration| {
            clock.sleep(wait).await;
            counted.load(Ordering::Relaxed)
        };
        assert_eq!(after(SECOND * 10 + SECOND / 2).await, 10);
        process.freeze();
        assert_eq!(after(SECOND * 10).await, 10);
        process.thaw();
        assert_eq!(after(SECOND * 10).await, 20, "what was due is late");
        assert_eq!(process.tasks(), 2);
        process.kill();
        assert_eq!(after(SECOND * 10).await, 20);
        assert_eq!(process.tasks(), 0, "everything is dropped");
        spawn.detached(async {});
        assert_eq!(after(SECOND).await, 20);
        assert_eq!(process.tasks(), 0);
    }
}
