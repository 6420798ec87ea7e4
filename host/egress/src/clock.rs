//! The time, as the host hands it in.

use std::pin::Pin;

use tokio::time::Instant;

/// The future of [`Clock::sleep_until`].
pub type Sleeping<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// A monotonic clock that can be waited for.
pub trait Clock: Send + Sync {
    /// What it shows.
    fn now(&self) -> Instant;

    /// Waits until it shows `instant`.
    fn sleep_until(&self, instant: Instant) -> Sleeping<'_>;
}

/// Runs `future` until `deadline`; none if that comes first. The future is dropped then.
pub async fn until<T>(
    clock: &dyn Clock,
    deadline: Instant,
    future: impl Future<Output = T>,
) -> Option<T> {
    tokio::select! {
        biased;
        answer = future => Some(answer),
        () = clock.sleep_until(deadline) => None,
    }
}
