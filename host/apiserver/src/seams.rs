//! Time and randomness, handed in, so that the same seed gives the same history byte for byte.

use std::fmt::{self, Debug, Formatter};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
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
pub struct Rng {
    numbers: Arc<Mutex<fastrand::Rng>>,
    /// The seed, if each object has a sequence of its own.
    by_object: Option<u64>,
}

/// What the suffixes of generated names are made of: no vowels, so that no words come out
/// (apimachinery `util/rand`).
const SUFFIX: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

impl Rng {
    /// Always the same sequence for the same seed.
    pub fn seeded(seed: u64) -> Self {
        Self {
            numbers: Arc::new(Mutex::new(fastrand::Rng::with_seed(seed))),
            by_object: None,
        }
    }

    /// As [`Rng::seeded`], but what is drawn for an object depends on the seed and on that object alone. The server
    /// must keep its history, by which it tells an object from an earlier one of the same name.
    pub fn by_object(seed: u64) -> Self {
        Self {
            by_object: Some(seed),
            ..Self::seeded(seed)
        }
    }

    /// The sequence of the object that `name` names, or the one sequence that all objects share.
    pub(crate) fn of(&self, name: impl FnOnce() -> String) -> Self {
        let Some(seed) = self.by_object else {
            return self.clone();
        };
        let digest = Sha256::new_with_prefix(seed.to_be_bytes()).chain_update(name());
        let digest: [u8; 32] = digest.finalize().into();
        let own = digest
            .first_chunk()
            .copied()
            .map_or(seed, u64::from_be_bytes);
        Self::seeded(own)
    }

    fn draw<T>(&self, from: impl FnOnce(&mut fastrand::Rng) -> T) -> T {
        from(&mut self.numbers.lock())
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

    #[test]
    fn the_sequence_of_an_object_does_not_depend_on_other_objects() {
        let of = |rng: &Rng, name: &str| rng.of(|| name.to_owned()).uid();
        let rng = Rng::by_object(7);
        let first = of(&rng, "a");
        let other = of(&rng, "b");
        assert_ne!(first, other);
        assert_eq!(of(&rng, "a"), first);
        assert_ne!(of(&Rng::by_object(8), "a"), first);
        let shared = Rng::seeded(7);
        assert_ne!(of(&shared, "a"), of(&shared, "a"), "one sequence for all");
    }
}
