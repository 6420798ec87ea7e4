//! The host's only clock: monotonic time, wall time, sleeping, and the CPU time of a thread.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use rustix::time::{ClockId, Timespec, clock_gettime};
pub(super) use tokio::time::Instant;

/// A clock. Cheap to clone.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Source);

#[derive(Clone, Copy, Debug)]
enum Source {
    System,
    /// Wall time moves with tokio's (pausable) time, and CPU time stands still.
    Virtual {
        wall: Timestamp,
        at: Instant,
    },
}

#[expect(clippy::disallowed_methods, reason = "this is the seam")]
impl Clock {
    /// The machine's clock.
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// A clock that shows `wall` now and moves with tokio's time, for tests that pause it. Guest
    /// CPU counts as no time.
    pub fn starting_at(wall: Timestamp) -> Self {
        let at = Instant::now();
        Self(Source::Virtual { wall, at })
    }

    /// Monotonic time.
    pub fn now(&self) -> Instant {
        Instant::now()
    }

    /// Time since the machine started, which counts on while it sleeps.
    pub fn boot(&self) -> Duration {
        match self.0 {
            Source::System => duration(clock_gettime(ClockId::Boottime)),
            Source::Virtual { at, .. } => at.elapsed(),
        }
    }

    /// The time of day, in UTC.
    pub fn wall(&self) -> Timestamp {
        match self.0 {
            Source::System => {
                Timestamp::try_from(SystemTime::now()).unwrap_or(Timestamp::UNIX_EPOCH)
            }
            Source::Virtual { wall, at } => wall + at.elapsed(),
        }
    }

    /// CPU time that the current thread has used so far, in user and kernel mode.
    pub fn thread_cpu(&self) -> Duration {
        match self.0 {
            Source::System => duration(clock_gettime(ClockId::ThreadCPUTime)),
            Source::Virtual { .. } => Duration::ZERO,
        }
    }

    /// Waits for `duration`.
    pub async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    /// Waits until `instant`.
    pub async fn sleep_until(&self, instant: Instant) {
        tokio::time::sleep_until(instant).await;
    }

    /// Runs `future` for at most `duration`; `None` if that was too short. The future is dropped
    /// then, unless it was handed in by reference.
    pub async fn within<T>(
        &self,
        duration: Duration,
        future: impl Future<Output = T>,
    ) -> Option<T> {
        tokio::time::timeout(duration, future).await.ok()
    }
}

fn duration(time: Timespec) -> Duration {
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn virtual_wall_time_moves_with_tokios_time() {
        let start: Timestamp = "2026-11-21T09:30:00Z".parse().unwrap();
        let clock = Clock::starting_at(start);
        clock.sleep(Duration::from_secs(90)).await;
        assert_eq!(clock.wall().to_string(), "2026-11-21T09:31:30Z");
        assert_eq!(clock.thread_cpu(), Duration::ZERO);
    }
}
