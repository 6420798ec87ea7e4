//! Time and randomness, handed in, so that the same seed gives the same history byte for byte.

use std::fmt::{self, Debug, Formatter};
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
pub use tokio::time::Instant;

/// What the server gets from outside.
#[derive(Clone, Debug)]
pub struct Seams {
    /// The time of day.
    pub clock: Clock,
    /// Random numbers: uids, generated names, tokens.
    pub rng: Rng,
}

/// Shows the time of day; waits by tokio's time, which tests may pause.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// A clock that asks `wall`.
    pub fn new(wall: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(wall))
    }

    /// The time of day, in UTC.
    pub fn wall(&self) -> Timestamp {
        (self.0)()
    }

    /// Monotonic time, which stands still while tokio's is paused.
    #[expect(clippy::disallowed_methods, reason = "this is the seam")]
    pub fn instant(&self) -> Instant {
        Instant::now()
    }

    /// Waits until `instant`.
    #[expect(clippy::disallowed_methods, reason = "this is the seam")]
    pub async fn sleep_until(&self, instant: Instant) {
        tokio::time::sleep_until(instant).await;
    }

    /// Waits for `duration`.
    #[expect(clippy::disallowed_methods, reason = "this is the seam")]
    pub async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    /// Runs `future` for at most `duration`; nothing if that was too short.
    #[expect(clippy::disallowed_methods, reason = "this is the seam")]
    pub async fn within<T>(
        &self,
        duration: Duration,
        future: impl Future<Output = T>,
    ) -> Option<T> {
        tokio::time::timeout(duration, future).await.ok()
    }
}

impl Debug for Clock {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("Clock")
    }
}

/// Random numbers. Clones draw from the same sequence.
#[derive(Clone, Debug)]
pub struct Rng(Arc<Mutex<fastrand::Rng>>);

/// What the suffixes of generated names are made of: no vowels, so that no words come out
/// (apimachinery `util/rand`).
const SUFFIX: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

impl Rng {
    /// Always the same sequence for the same seed.
    pub fn seeded(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(fastrand::Rng::with_seed(seed))))
    }

    fn draw<T>(&self, from: impl FnOnce(&mut fastrand::Rng) -> T) -> T {
        from(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Any number.
    pub fn number(&self) -> u64 {
        self.draw(|rng| rng.u64(..))
    }

    /// A number below `end`; 0 when there is none.
    pub fn below(&self, end: u64) -> u64 {
        if end == 0 {
            return 0;
        }
        self.draw(|rng| rng.u64(..end))
    }

    /// A random (version 4) UUID.
    pub fn uid(&self) -> String {
        let bits = self.draw(|rng| rng.u128(..));
        let bits = bits & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
        let hex = format!("{bits:032x}");
        let part = |from, to| hex.get(from..to).unwrap_or_default();
        let parts = [
            part(0, 8),
            part(8, 12),
            part(12, 16),
            part(16, 20),
            part(20, 32),
        ];
        parts.join("-")
    }

    /// Five letters and digits, for a generated name.
    pub fn suffix(&self) -> String {
        let letter = || {
            let index = self.below(SUFFIX.len() as u64);
            let byte = usize::try_from(index)
                .ok()
                .and_then(|index| SUFFIX.get(index));
            char::from(*byte.unwrap_or(&b'x'))
        };
        (0..5).map(|_| letter()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_uids_of_version_4() {
        let (left, right) = (Rng::seeded(7), Rng::seeded(7));
        let uid = left.uid();
        assert_eq!(uid, right.uid());
        assert_eq!(uid.len(), 36);
        assert_eq!(uid.as_bytes()[14], b'4');
        assert!(b"89ab".contains(&uid.as_bytes()[19]));
        assert_eq!(left.suffix(), right.suffix());
    }
}
