//! The only place that starts tasks and threads.
//!
//! - Host tasks (informers, leases, requests) and guest calls run on different threads, so a guest
//!   that spins never delays the host.
//! - In a simulation everything is one thread, and there is no ticker.

use std::ops::ControlFlow;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::{JoinError, JoinHandle};

use super::process::Process;

/// Starts tasks. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Spawn {
    host: Handle,
    guests: Handle,
    threads: bool,
    /// Whose tasks they are, in a simulation of many processes.
    process: Option<Process>,
}

/// A running task. Dropping it ends the task at its next await.
#[derive(Debug)]
pub struct Task<T = ()>(JoinHandle<T>);

/// The task's answer; an error if it panicked or was ended.
impl<T> Future for Task<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context)
    }
}

impl<T> Task<T> {
    /// Whether the task has ended.
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Starts `count` threads for guest calls and nothing else: they have no timers and no I/O.
///
/// # Errors
/// The operating system refused the threads.
pub fn guest_threads(count: usize) -> std::io::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(count)
        .thread_name("guest")
        .build()
}

#[expect(clippy::disallowed_methods, reason = "this is the seam")]
impl Spawn {
    /// Host tasks on `host`, guest calls on `guests`.
    pub fn on_threads(host: Handle, guests: Handle) -> Self {
        Self {
            host,
            guests,
            threads: true,
            process: None,
        }
    }

    /// Everything on the one thread of `handle`, without an epoch ticker.
    pub fn inline(handle: Handle) -> Self {
        Self {
            host: handle.clone(),
            guests: handle,
            threads: false,
            process: None,
        }
    }

    /// The same, with all tasks in `process`.
    pub fn of_process(handle: Handle, process: Process) -> Self {
        Self {
            process: Some(process),
            ..Self::inline(handle)
        }
    }

    /// Whether there are threads beside the one of a simulation.
    pub fn has_threads(&self) -> bool {
        self.threads
    }

    /// Starts a host task.
    pub fn task<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        Task(self.start(&self.host, future))
    }

    /// Starts a host task that ends by itself, or with the host.
    pub fn detached(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.start(&self.host, future);
    }

    /// Starts a guest call.
    pub fn guest<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        Task(self.start(&self.guests, future))
    }

    fn start<T: Send + 'static>(
        &self,
        on: &Handle,
        future: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        let Some(process) = &self.process else {
            return on.spawn(future);
        };
        let task = on.spawn(process.run(future));
        process.own(task.abort_handle());
        task
    }

    /// Runs blocking work (compiling, reading files) beside the host's tasks.
    ///
    /// # Errors
    /// The work panicked.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        self.host.spawn_blocking(work).await
    }

    /// Calls `tick` every `period` on a thread of its own, until it breaks. A simulation has no
    /// ticker: this does nothing there.
    ///
    /// # Errors
    /// The operating system refused the thread.
    pub fn every(
        &self,
        period: Duration,
        name: &str,
        mut tick: impl FnMut() -> ControlFlow<()> + Send + 'static,
    ) -> std::io::Result<()> {
        if !self.threads {
            return Ok(());
        }
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                while tick().is_continue() {
                    std::thread::sleep(period);
                }
            })?;
        Ok(())
    }
}
