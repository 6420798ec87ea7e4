//! What starts the listener's tasks: handed in, since this crate starts none.

use std::fmt::{self, Debug, Formatter};
use std::pin::Pin;
use std::sync::Arc;

use hyper::rt::Executor;

/// A task.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Starts tasks. Cheap to clone.
#[derive(Clone)]
pub struct Spawn(Arc<dyn Fn(Task) + Send + Sync>);

impl Spawn {
    /// Starts tasks by `start`, in a tokio runtime that has I/O and time.
    pub fn new(start: impl Fn(Task) + Send + Sync + 'static) -> Self {
        Self(Arc::new(start))
    }

    /// Starts a task.
    pub(super) fn task(&self, task: impl Future<Output = ()> + Send + 'static) {
        (self.0)(Box::pin(task));
    }
}

impl Debug for Spawn {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("Spawn")
    }
}

/// The streams of an HTTP/2 connection are tasks as well.
impl<F> Executor<F> for Spawn
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    fn execute(&self, stream: F) {
        self.task(async {
            stream.await;
        });
    }
}
