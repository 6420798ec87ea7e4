//! The host's only clock: monotonic time, wall time, sleeping, and the CPU time of a thread.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use hyper_util::rt::TokioTimer;
use jiff::Timestamp;
use rustix::time::{ClockId, Timespec, clock_gettime};
pub(super) use tokio::time::Instant;

/// A clock. Cheap to clone.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    source: TimeSource,
    /// Whether who sleeps waits.
    waits: bool,
}

/// The hands of a clock that shows the time of day that it is set to, and no other.
#[derive(Debug, Default)]
pub struct ManualWallClock(AtomicI64);

impl ManualWallClock {
    /// From now on it is `wall`, to the microsecond.
    pub fn set(&self, wall: Timestamp) {
        self.0.store(wall.as_microsecond(), Ordering::Release);
    }

    /// What it is set to.
    pub fn wall(&self) -> Timestamp {
        let micros = self.0.load(Ordering::Acquire);
        Timestamp::from_microsecond(micros).unwrap_or(Timestamp::UNIX_EPOCH)
    }
}

#[derive(Clone, Copy, Debug)]
enum TimeSource {
    System,
    /// Wall time is set by hand.
    Set(&'static ManualWallClock),
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
        Self::of(TimeSource::System)
    }

    /// The machine's clock, but for the time of day, which is what `wall_clock` is set to.
    pub fn shown_by(wall_clock: &'static ManualWallClock) -> Self {
        Self::of(TimeSource::Set(wall_clock))
    }

    /// The same, for who need not wait: a sleep ends at once.
    #[must_use]
    pub fn impatient(self) -> Self {
        Self {
            waits: false,
            ..self
        }
    }

    fn of(source: TimeSource) -> Self {
        Self {
            source,
            waits: true,
        }
    }

    /// A clock that shows `wall` now and moves with tokio's time, for tests that pause it. Guest
    /// CPU counts as no time.
    pub fn starting_at(wall: Timestamp) -> Self {
        let at = Instant::now();
        Self::of(TimeSource::Virtual { wall, at })
    }

    /// Monotonic time.
    pub fn now(&self) -> Instant {
        Instant::now()
    }

    /// Time since the machine started, which counts on while it sleeps.
    pub fn boot(&self) -> Duration {
        match self.source {
            TimeSource::System | TimeSource::Set(_) => duration(clock_gettime(ClockId::Boottime)),
            TimeSource::Virtual { at, .. } => at.elapsed(),
        }
    }

    /// Monotonic time for what plugins are shown: if the time of day is set by hand, it moves with that.
    pub fn shown(&self) -> Duration {
        match self.source {
            TimeSource::System | TimeSource::Virtual { .. } => self.boot(),
            TimeSource::Set(wall_clock) => {
                let micros = wall_clock.wall().as_microsecond();
                Duration::from_micros(u64::try_from(micros).unwrap_or(0))
            }
        }
    }

    /// The time of day, in UTC.
    pub fn wall(&self) -> Timestamp {
        match self.source {
            TimeSource::System => {
                Timestamp::try_from(SystemTime::now()).unwrap_or(Timestamp::UNIX_EPOCH)
            }
            TimeSource::Set(wall_clock) => wall_clock.wall(),
            TimeSource::Virtual { wall, at } => wall + at.elapsed(),
        }
    }

    /// CPU time that the current thread has used so far, in user and kernel mode.
    pub fn thread_cpu(&self) -> Duration {
        match self.source {
            TimeSource::System | TimeSource::Set(_) => {
                duration(clock_gettime(ClockId::ThreadCPUTime))
            }
            TimeSource::Virtual { .. } => Duration::ZERO,
        }
    }

    /// Waits for `duration`.
    pub async fn sleep(&self, duration: Duration) {
        if self.waits {
            tokio::time::sleep(duration).await
        } else {
            tokio::task::yield_now().await
        }
    }

    /// The same time for hyper, which has deadlines of its own.
    pub fn timer(&self) -> TokioTimer {
        TokioTimer::new()
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

    #[tokio::test(start_paused = true)]
    async fn a_dial_says_the_time_of_day_and_who_is_impatient_does_not_wait() {
        static DIAL: ManualWallClock = ManualWallClock(AtomicI64::new(0));
        let start: Timestamp = "2026-11-21T09:30:00.25Z".parse().unwrap();
        DIAL.set(start);
        let clock = Clock::shown_by(&DIAL);
        let began = clock.now();
        clock.impatient().sleep(Duration::from_secs(90)).await;
        assert_eq!(clock.now(), began);
        clock.sleep(Duration::from_secs(90)).await;
        assert_eq!((clock.now() - began).as_secs(), 90);
        assert_eq!(clock.wall(), start);
    }
}
