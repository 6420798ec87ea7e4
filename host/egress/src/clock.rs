//! Deadlines.

use tokio::time::Instant;
use windlass_base::seams::Clock;

/// Runs `future` until `deadline`; none if that comes first. The future is dropped then.
pub async fn until<T>(
    clock: Clock,
    deadline: Instant,
    future: impl Future<Output = T>,
) -> Option<T> {
    tokio::select! {
        biased;
        answer = future => Some(answer),
        () = clock.sleep_until(deadline) => None,
    }
}
