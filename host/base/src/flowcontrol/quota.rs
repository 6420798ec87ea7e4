//! What may be used over time and is lost if there is none: log bytes and Events.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::bucket::{Rate, TokenBucket};
use super::max_min::{Want, level};
use super::{Claim, WEIGHT};

/// How often the shares are worked out again.
const WINDOW: Duration = Duration::from_secs(1);

/// Shares a maximum between plugins.
#[derive(Debug)]
pub struct Quota {
    /// None: there is no limit, and no plugin has one.
    maximum: Option<Rate>,
    /// Of all plugins together.
    bucket: Option<TokenBucket>,
    /// When the window began.
    began: Option<Instant>,
    /// How much each unit of weight may use each second, while plugins want more than the maximum.
    level: Option<f64>,
    accounts: BTreeMap<Arc<str>, Usage>,
}

/// What a plugin has used.
#[derive(Debug)]
struct Usage {
    bucket: TokenBucket,
    rate: Rate,
    weight: f64,
    /// What it has asked for in this window.
    asked: f64,
    /// What it has used in this window, and what it had used too much before.
    used: f64,
}

/// Whether there was enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuotaDecision {
    /// It was.
    Yes,
    /// The plugin is at its own limit.
    OwnLimit,
    /// The plugins together are at the maximum of the host, and the plugin has had its share.
    HostMaximum,
}

impl Quota {
    /// So much for all plugins together.
    pub fn new(maximum: Rate) -> Self {
        Self {
            maximum: Some(maximum),
            bucket: None,
            began: None,
            level: None,
            accounts: BTreeMap::new(),
        }
    }

    /// Sets the limit; none: without any limit.
    pub fn limit(&mut self, maximum: Option<Rate>) {
        (self.maximum, self.bucket) = (maximum, None);
    }

    /// The plugin is gone.
    pub fn forget(&mut self, plugin: &str) {
        self.accounts.remove(plugin);
    }

    /// Takes `cost`, if the plugin may have it.
    pub fn take(&mut self, now: Instant, claim: &Claim, cost: f64) -> QuotaDecision {
        let Some(maximum) = self.maximum else {
            return QuotaDecision::Yes;
        };
        self.roll(now, maximum);
        let shared = self.bucket;
        let shared = shared.unwrap_or_else(|| TokenBucket::full(maximum, now));
        let shared = self.bucket.insert(shared);
        shared.refill(maximum, now);
        let weight = f64::from(claim.weight.max(1)) / f64::from(WEIGHT);
        let account = self
            .accounts
            .entry(claim.plugin.clone())
            .or_insert_with(|| Usage {
                bucket: TokenBucket::full(claim.rate, now),
                rate: claim.rate,
                weight,
                asked: 0.0,
                used: 0.0,
            });
        (account.rate, account.weight) = (claim.rate, weight);
        account.asked += cost;
        account.bucket.refill(claim.rate, now);
        if !account.bucket.has(cost) {
            return QuotaDecision::OwnLimit;
        }
        let enough = match self.level {
            // What a plugin may use in a window is held against it alone: who asks late in it gets as much.
            Some(level) => account.used < level * weight * WINDOW.as_secs_f64(),
            None => shared.has(cost),
        };
        if !enough {
            return QuotaDecision::HostMaximum;
        }
        account.bucket.charge(claim.rate, cost);
        account.used += cost;
        shared.charge(maximum, cost);
        QuotaDecision::Yes
    }

    /// Begins the next window, if it is time.
    fn roll(&mut self, now: Instant, maximum: Rate) {
        let began = *self.began.get_or_insert(now);
        let lasted = now.saturating_duration_since(began);
        if lasted < WINDOW {
            return;
        }
        let seconds = lasted.as_secs_f64();
        let wants = self.accounts.values().map(|account| Want {
            weight: account.weight,
            demand: (account.asked / seconds).min(account.rate.per_second),
        });
        let next = level(maximum.per_second, wants.collect());
        for account in self.accounts.values_mut() {
            let allowed = self
                .level
                .map_or(account.used, |level| level * account.weight * seconds);
            account.used = (account.used - allowed).max(0.0);
            account.asked = 0.0;
            account.bucket.refill(account.rate, now);
        }
        self.accounts
            .retain(|_, account| account.used > 0.0 || !account.bucket.is_full(account.rate));
        (self.level, self.began) = (next, Some(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seams::Clock;

    fn claim(plugin: &str, weight: u32, per_second: f64) -> Claim {
        Claim {
            plugin: plugin.into(),
            weight,
            rate: Rate {
                per_second,
                burst: per_second,
            },
        }
    }

    /// What each plugin gets in each of `seconds`, of those it asks for one after the other: (claim, asks a second).
    fn shares(maximum: f64, plugins: &[(Claim, u32)], seconds: u64) -> Vec<Vec<u32>> {
        let start = Clock::system().now();
        let mut quota = Quota::new(Rate {
            per_second: maximum,
            burst: maximum,
        });
        let mut all = Vec::new();
        for second in 0..seconds {
            let mut got = vec![0; plugins.len()];
            for millis in 0..1000 {
                let now = start + Duration::from_millis(second * 1000 + millis);
                for ((claim, asks), got) in plugins.iter().zip(&mut got) {
                    let so_far = |millis: u64| u64::from(*asks) * millis / 1000;
                    for _ in so_far(millis)..so_far(millis + 1) {
                        *got += u32::from(quota.take(now, claim, 1.0) == QuotaDecision::Yes);
                    }
                }
            }
            all.push(got);
        }
        all
    }

    #[test]
    fn a_plugin_gets_its_burst_and_then_its_rate() {
        let flood = [(claim("a", 10, 50.0), 5000)];
        let got = shares(1e6, &flood, 4);
        assert_eq!(got, [[99], [50], [50], [50]]);
    }

    #[test]
    fn what_is_scarce_is_shared_by_weight_and_who_wants_little_gets_it() {
        // (plugins: weight, own limit, asks a second; what each gets in a second in the end)
        type Row<'a> = (&'a [(u32, f64, u32)], &'a [u32]);
        let rows: [Row<'_>; 4] = [
            (&[(10, 1e4, 5000), (10, 1e4, 5000)], &[50, 50]),
            (&[(10, 1e4, 5000), (30, 1e4, 5000)], &[25, 75]),
            (&[(10, 1e4, 5000), (10, 1e4, 20)], &[80, 20]),
            (
                &[(10, 30.0, 5000), (10, 1e4, 5000), (10, 1e4, 10)],
                &[30, 60, 10],
            ),
        ];
        for (plugins, want) in rows {
            let plugins: Vec<_> = plugins
                .iter()
                .zip(["a", "b", "c"])
                .map(|(&(weight, rate, asks), name)| (claim(name, weight, rate), asks))
                .collect();
            let got = shares(100.0, &plugins, 30);
            let last = got.last().unwrap();
            for (got, want) in last.iter().zip(want) {
                assert!(got.abs_diff(*want) <= 1, "{last:?} for {plugins:?}");
            }
        }
    }

    #[test]
    fn without_a_maximum_nothing_is_limited_and_who_is_gone_is_forgotten() {
        let start = Clock::system().now();
        let mut quota = Quota::new(Rate {
            per_second: 1.0,
            burst: 1.0,
        });
        let one = claim("a", 10, 1.0);
        assert_eq!(quota.take(start, &one, 1.0), QuotaDecision::Yes);
        assert_eq!(quota.take(start, &one, 1.0), QuotaDecision::OwnLimit);
        let other = claim("b", 10, 5.0);
        assert_eq!(quota.take(start, &other, 1.0), QuotaDecision::HostMaximum);
        quota.forget("a");
        assert!(!quota.accounts.contains_key("a"));
        quota.limit(None);
        for _ in 0..100 {
            assert_eq!(quota.take(start, &one, 1.0), QuotaDecision::Yes);
        }
    }

    #[test]
    fn plugins_that_ask_for_nothing_take_no_memory() {
        let start = Clock::system().now();
        let mut quota = Quota::new(Rate {
            per_second: 1e9,
            burst: 1e9,
        });
        for number in 0..1000 {
            quota.take(start, &claim(&number.to_string(), 10, 1.0), 1.0);
        }
        let later = start + Duration::from_secs(10);
        quota.take(later, &claim("a", 10, 1.0), 1.0);
        assert_eq!(quota.accounts.len(), 1);
    }
}
