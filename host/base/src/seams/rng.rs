//! The host's only source of random numbers.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use sha2::{Digest, Sha256};

/// Random numbers. Clones draw from the same sequence.
#[derive(Clone, Debug)]
pub struct Rng(Arc<Mutex<Sequence>>, Seeds);

#[derive(Debug)]
struct Sequence {
    numbers: fastrand::Rng,
    seed: u64,
    /// How many calls of each name there were; of repeatable numbers only.
    calls: HashMap<String, u64>,
}

impl Sequence {
    fn of(numbers: fastrand::Rng, seed: u64) -> Mutex<Self> {
        Mutex::new(Self {
            numbers,
            seed,
            calls: HashMap::new(),
        })
    }
}

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
        let sequence = Sequence::of(fastrand::Rng::new(), 0);
        Self(Arc::new(sequence), Seeds::System)
    }

    /// Always the same sequence for the same seed.
    pub fn seeded(seed: u64) -> Self {
        let sequence = Sequence::of(fastrand::Rng::with_seed(seed), seed);
        Self(Arc::new(sequence), Seeds::Repeatable)
    }

    /// The numbers of a guest's call. Repeatable ones depend on the seed, on what the call is about, and on how many
    /// calls about that there were, and not on who else draws numbers meanwhile.
    pub fn of_call(&self, about: impl FnOnce() -> String) -> Self {
        if matches!(self.1, Seeds::System) {
            return self.clone();
        }
        let about = about();
        let mut sequence = self.0.lock();
        let mixed = Sha256::new_with_prefix(sequence.seed.to_be_bytes()).chain_update(&about);
        let number = sequence.calls.entry(about).or_default();
        let mixed = mixed.chain_update(number.to_be_bytes());
        *number += 1;
        let mixed: [u8; 32] = mixed.finalize().into();
        Self::seeded(mixed.first_chunk().copied().map_or(0, u64::from_be_bytes))
    }

    /// The sequence begins again, as of a new one with this seed.
    pub fn restart(&self, seed: u64) {
        let mut sequence = self.0.lock();
        sequence.numbers = fastrand::Rng::with_seed(seed);
        sequence.seed = seed;
        sequence.calls.clear();
    }

    /// Whether the numbers are the same each time.
    pub fn is_repeatable(&self) -> bool {
        matches!(self.1, Seeds::Repeatable)
    }

    /// Any number.
    pub fn number(&self) -> u64 {
        self.0.lock().numbers.u64(..)
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
            self.0.lock().numbers.fill(&mut seed);
        }
        seed
    }

    /// `duration`, up to `share` (0 to 1) longer: spreads what would otherwise happen at once.
    pub fn spread(&self, duration: Duration, share: f64) -> Duration {
        duration.saturating_add(duration.mul_f64(self.fraction() * share.clamp(0.0, 1.0)))
    }

    /// Any number from 0 to 1.
    pub fn fraction(&self) -> f64 {
        self.0.lock().numbers.f64()
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
    fn the_numbers_of_a_call_do_not_depend_on_who_else_draws() {
        let call = |rng: &Rng, about: &str| rng.of_call(|| about.to_owned()).seed();
        let (quiet, busy) = (Rng::seeded(7), Rng::seeded(7));
        busy.number();
        call(&busy, "b");
        let first = call(&quiet, "a");
        assert_eq!(call(&busy, "a"), first);
        let second = call(&quiet, "a");
        assert_ne!(second, first, "each call has its own");
        assert_eq!(call(&busy, "a"), second);
        quiet.restart(7);
        assert_eq!(call(&quiet, "a"), first);
        quiet.restart(8);
        assert_ne!(call(&quiet, "a"), first);
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
