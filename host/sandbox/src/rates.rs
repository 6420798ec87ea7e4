//! Token buckets of a plugin's own, which its calls about all objects share.
//!
//! - A bucket that is full is as one that nobody knows: it is forgotten when there are many.
//! - A guest is hostile: names and buckets have bounds.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

/// Buckets of a plugin that are not full, at most.
const BUCKETS: usize = 1_000;

/// The longest name of a bucket, in bytes.
const NAME: usize = 128;

const HOUR: f64 = 3_600_000.0;

/// The buckets of one plugin. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Rates(Arc<Mutex<Buckets>>);

#[derive(Debug, Default)]
struct Buckets {
    by_name: HashMap<String, Bucket>,
    /// Whether it was said that there are too many.
    said: bool,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: f64,
    /// When it had them.
    at: Duration,
    rate: BucketRate,
}

/// How fast a bucket fills, and how many tokens it holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct BucketRate {
    pub(super) per_hour: u32,
    pub(super) burst: u32,
}

/// Why no token can ever be taken, for the log; none if that was said already.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoBucket(pub(super) Option<&'static str>);

impl Bucket {
    /// The tokens that it has at `now`, by its rate until then.
    fn tokens_at(&self, now: Duration) -> f64 {
        let gone = now.saturating_sub(self.at).as_secs_f64() * 1_000.0;
        let more = gone * f64::from(self.rate.per_hour) / HOUR;
        (self.tokens + more).min(f64::from(self.rate.burst))
    }

    fn is_full_at(&self, now: Duration) -> bool {
        self.tokens_at(now) >= f64::from(self.rate.burst)
    }

    /// Takes a token, or says after how many milliseconds there is one.
    fn take(&mut self, now: Duration, rate: BucketRate) -> Option<u32> {
        self.tokens = self.tokens_at(now).min(f64::from(rate.burst));
        (self.at, self.rate) = (now, rate);
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            return None;
        }
        if rate.per_hour == 0 || rate.burst == 0 {
            return Some(u32::MAX);
        }
        let wait = (1.0 - self.tokens) * HOUR / f64::from(rate.per_hour);
        // It is at most an hour.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 1 and an hour"
        )]
        Some(wait.ceil().clamp(1.0, HOUR) as u32)
    }
}

impl Rates {
    /// Takes a token of `bucket` at `now`. None if there was one; otherwise after how many milliseconds there is one.
    ///
    /// # Errors
    /// The name is too long, or there are too many buckets that are not full.
    pub(super) fn take(
        &self,
        bucket: &str,
        rate: BucketRate,
        now: Duration,
    ) -> Result<Option<u32>, NoBucket> {
        let mut buckets = self.0.lock();
        if bucket.len() > NAME {
            return Err(buckets.none("the name of a bucket has at most 128 bytes"));
        }
        if let Some(held) = buckets.by_name.get_mut(bucket) {
            return Ok(held.take(now, rate));
        }
        if buckets.by_name.len() >= BUCKETS {
            buckets.by_name.retain(|_, held| !held.is_full_at(now));
        }
        if buckets.by_name.len() >= BUCKETS {
            return Err(buckets.none("the plugin has 1,000 buckets that are not full"));
        }
        let mut full = Bucket {
            tokens: f64::from(rate.burst),
            at: now,
            rate,
        };
        let taken = full.take(now, rate);
        buckets.by_name.insert(bucket.to_owned(), full);
        Ok(taken)
    }
}

impl Buckets {
    fn none(&mut self, why: &'static str) -> NoBucket {
        let is_known = std::mem::replace(&mut self.said, true);
        NoBucket((!is_known).then_some(why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn rate(per_hour: u32, burst: u32) -> BucketRate {
        BucketRate { per_hour, burst }
    }

    #[test]
    fn a_bucket_is_full_at_first_and_fills_over_time() {
        let rates = Rates::default();
        // One a minute, three at once. (second, what is answered)
        let rows = [
            (0, None),
            (0, None),
            (0, None),
            (0, Some(60_000)),
            (15, Some(45_000)),
            (60, None),
            (60, Some(60_000)),
            (61, Some(59_000)),
            (10_000, None),
            (10_000, None),
            (10_000, None),
            (10_000, Some(60_000)),
            // The clock is read in another order: no token comes of it.
            (9_000, Some(60_000)),
        ];
        for (second, want) in rows {
            let now = second * SECOND;
            assert_eq!(rates.take("a", rate(60, 3), now), Ok(want), "{second}");
        }
        // Another bucket has tokens of its own.
        assert_eq!(rates.take("b", rate(60, 1), SECOND), Ok(None));
    }

    #[test]
    fn what_can_never_be_is_the_longest_time() {
        let rates = Rates::default();
        assert_eq!(rates.take("none", rate(60, 0), SECOND), Ok(Some(u32::MAX)));
        assert_eq!(rates.take("once", rate(0, 1), SECOND), Ok(None));
        assert_eq!(
            rates.take("once", rate(0, 1), 9 * SECOND),
            Ok(Some(u32::MAX))
        );
        assert_eq!(rates.take("slow", rate(1, 1), SECOND), Ok(None));
        assert_eq!(rates.take("slow", rate(1, 1), SECOND), Ok(Some(3_600_000)));
        assert_eq!(rates.take("fast", rate(u32::MAX, 1), SECOND), Ok(None));
        assert_eq!(rates.take("fast", rate(u32::MAX, 1), SECOND), Ok(Some(1)));
    }

    #[test]
    fn a_rate_that_changes_counts_from_then_on() {
        let rates = Rates::default();
        for _ in 0..5 {
            assert_eq!(rates.take("a", rate(60, 5), SECOND), Ok(None));
        }
        assert_eq!(rates.take("a", rate(3600, 5), SECOND), Ok(Some(1_000)));
        assert_eq!(rates.take("a", rate(3600, 5), 11 * SECOND), Ok(None));
        // It held four more; of a smaller bucket one is left.
        assert_eq!(rates.take("a", rate(60, 1), 11 * SECOND), Ok(None));
        assert_eq!(rates.take("a", rate(60, 1), 11 * SECOND), Ok(Some(60_000)));
    }

    #[test]
    fn buckets_have_bounds_and_full_ones_make_room() {
        let rates = Rates::default();
        let long = "x".repeat(NAME + 1);
        let long = rates.take(&long, rate(1, 1), SECOND);
        assert!(matches!(long, Err(NoBucket(Some(_)))), "{long:?}");
        for number in 0..BUCKETS {
            let name = number.to_string();
            assert_eq!(rates.take(&name, rate(60, 1), SECOND), Ok(None));
        }
        let more = rates.take("more", rate(60, 1), SECOND);
        assert_eq!(more, Err(NoBucket(None)), "it was said before");
        assert_eq!(rates.take("7", rate(60, 1), SECOND), Ok(Some(60_000)));
        assert_eq!(rates.take("more", rate(60, 1), 61 * SECOND), Ok(None));
    }
}
