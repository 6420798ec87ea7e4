//! The host's only source of random numbers.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Random numbers. Clones draw from the same sequence.
#[derive(Clone, Debug)]
pub struct Rng(Arc<Mutex<fastrand::Rng>>, Seeds);

/// Where seeds for guests come from: they must not be guessed from other guests' numbers.
#[derive(Clone, Copy, Debug)]
enum Seeds {
    System,
    Repeatable,
}

impl Rng {
    /// Seeded by the operating system.
    #[expect(clippy::disallowed_methods, reason = "this is the seam")]
    pub fn from_system() -> Self {
        Self(Arc::new(Mutex::new(fastrand::Rng::new())), Seeds::System)
    }

    /// Always the same sequence for the same seed.
    pub fn seeded(seed: u64) -> Self {
        Self(
            Arc::new(Mutex::new(fastrand::Rng::with_seed(seed))),
            Seeds::Repeatable,
        )
    }

    /// The sequence begins again, as of a new one with this seed.
    pub fn restart(&self, seed: u64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = fastrand::Rng::with_seed(seed);
    }

    /// Any number.
    pub fn number(&self) -> u64 {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .u64(..)
    }

    /// A seed for the randomness of one guest's call: from the operating system, unless everything
    /// is to be repeated.
    pub fn seed(&self) -> [u8; 32] {
        let mut seed = [0; 32];
        let filled = match self.1 {
            Seeds::System => {
                rustix::rand::getrandom(&mut seed, rustix::rand::GetRandomFlags::empty())
                    .unwrap_or(0)
            }
            Seeds::Repeatable => 0,
        };
        if filled < seed.len() {
            self.0
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .fill(&mut seed);
        }
        seed
    }

    /// `duration`, up to `share` (0 to 1) longer: spreads what would otherwise happen at once.
    pub fn spread(&self, duration: Duration, share: f64) -> Duration {
        let fraction = self.0.lock().unwrap_or_else(PoisonError::into_inner).f64();
        duration.saturating_add(duration.mul_f64(fraction * share.clamp(0.0, 1.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let (left, right) = (Rng::seeded(7), Rng::seeded(7));
        assert_eq!(left.number(), right.number());
        let second = Duration::from_secs(1);
        assert_eq!(left.spread(second, 0.5), right.spread(second, 0.5));
    }

    #[test]
    fn spreading_only_lengthens_and_keeps_to_its_share() {
        let rng = Rng::seeded(1);
        for _ in 0..1000 {
            let spread = rng.spread(Duration::from_secs(10), 0.2);
            assert!(spread >= Duration::from_secs(10) && spread <= Duration::from_secs(12));
        }
    }
}
