//! Who gets the next token: a weighted fair queue under token buckets.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::Claim;
use super::bucket::{Rate, TokenBucket};
use super::fair_queue::{FairQueue, cost};

/// What a token takes at the usual weight, in virtual time.
const TOKEN: u64 = 1_000_000;

/// Those who wait, as `W`.
#[derive(Debug)]
pub(super) struct RateQueue<W> {
    /// None: there is no limit, and no plugin has one.
    maximum: Option<Rate>,
    bucket: Option<TokenBucket>,
    accounts: BTreeMap<Arc<str>, RateAccount>,
    waiters: FairQueue<W>,
}

#[derive(Debug)]
struct RateAccount {
    bucket: TokenBucket,
    rate: Rate,
    weight: u32,
}

impl<W> RateQueue<W> {
    /// So much for all together.
    pub(super) fn new(maximum: Rate) -> Self {
        Self {
            maximum: Some(maximum),
            bucket: None,
            accounts: BTreeMap::new(),
            waiters: FairQueue::new(),
        }
    }

    /// From now on so much; none: without any limit.
    pub(super) fn limit(&mut self, maximum: Option<Rate>) {
        (self.maximum, self.bucket) = (maximum, None);
    }

    /// The plugin is gone. Its waiters are dropped.
    pub(super) fn forget(&mut self, plugin: &str) {
        self.accounts.remove(plugin);
        self.waiters.forget(plugin);
    }

    /// Takes a token at once, if there is one and nobody waits.
    pub(super) fn take(&mut self, now: Instant, claim: &Claim) -> bool {
        let Some(maximum) = self.maximum else {
            return true;
        };
        if self.waiters.waiting() > 0 || !self.refilled(maximum, now).has(1.0) {
            return false;
        }
        if !self.account(now, claim).bucket.has(1.0) {
            return false;
        }
        self.grant(&claim.plugin, maximum);
        true
    }

    /// Lets `waiter` wait for a token. Answers how long it waits because of the plugin's own limit: the plugin's tokens
    /// go to those of its requests first that wait already. What it waits beyond that is because of the others.
    pub(super) fn push(&mut self, now: Instant, claim: &Claim, waiter: W) -> Duration {
        self.waiters.push(&claim.plugin, 0, waiter);
        let tokens = u32::try_from(self.waiters.waiting_for(&claim.plugin)).unwrap_or(u32::MAX);
        let account = self.account(now, claim);
        account.bucket.wait(claim.rate, f64::from(tokens))
    }

    /// Who gets a token now, and whose it is.
    pub(super) fn next(&mut self, now: Instant) -> Option<(Arc<str>, W)> {
        let maximum = self.maximum;
        if let Some(maximum) = maximum
            && !self.refilled(maximum, now).has(1.0)
        {
            return None;
        }
        let accounts = &mut self.accounts;
        let next = self.waiters.next(|plugin| {
            accounts.get_mut(plugin).is_some_and(|account| {
                account.bucket.refill(account.rate, now);
                maximum.is_none() || account.bucket.has(1.0)
            })
        });
        let (plugin, waiter) = next?;
        if let Some(maximum) = maximum {
            self.grant(&plugin, maximum);
        }
        Some((plugin, waiter))
    }

    /// The token of `plugin` was not used: it did not wait any more.
    pub(super) fn give_back(&mut self, plugin: &str) {
        let Some(maximum) = self.maximum else {
            return;
        };
        if let Some(bucket) = &mut self.bucket {
            bucket.charge(maximum, -1.0);
        }
        if let Some(account) = self.accounts.get_mut(plugin) {
            account.bucket.charge(account.rate, -1.0);
            self.waiters.settle(plugin, cost(TOKEN, account.weight), 0);
        }
    }

    /// How long until somebody gets a token; none if nobody waits.
    pub(super) fn wait(&self) -> Option<Duration> {
        let maximum = self.maximum.filter(|_| self.waiters.waiting() > 0)?;
        let shared = self
            .bucket
            .map_or(Duration::ZERO, |it| it.wait(maximum, 1.0));
        let waiting = self
            .accounts
            .iter()
            .filter(|(plugin, _)| self.waiters.waits(plugin));
        let own = waiting.map(|(_, account)| account.bucket.wait(account.rate, 1.0));
        Some(shared.max(own.min()?))
    }

    fn refilled(&mut self, maximum: Rate, now: Instant) -> &TokenBucket {
        let full = || TokenBucket::full(maximum, now);
        let bucket = self.bucket.get_or_insert_with(full);
        bucket.refill(maximum, now);
        bucket
    }

    fn account(&mut self, now: Instant, claim: &Claim) -> &mut RateAccount {
        let new = || RateAccount {
            bucket: TokenBucket::full(claim.rate, now),
            rate: claim.rate,
            weight: claim.weight,
        };
        let account = self
            .accounts
            .entry(claim.plugin.clone())
            .or_insert_with(new);
        (account.rate, account.weight) = (claim.rate, claim.weight);
        account.bucket.refill(claim.rate, now);
        account
    }

    fn grant(&mut self, plugin: &Arc<str>, maximum: Rate) {
        if let Some(bucket) = &mut self.bucket {
            bucket.charge(maximum, 1.0);
        }
        if let Some(account) = self.accounts.get_mut(plugin) {
            account.bucket.charge(account.rate, 1.0);
            self.waiters.begin(plugin, cost(TOKEN, account.weight), 0);
        }
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

    fn maximum(per_second: f64) -> Rate {
        Rate {
            per_second,
            burst: 10.0,
        }
    }

    /// How many tokens each plugin gets in 10 s if it always has `calls` that wait.
    fn tokens(all: f64, plugins: &[(Claim, usize)]) -> Vec<usize> {
        let start = Clock::system().now();
        let mut queue = RateQueue::new(maximum(all));
        let mut got = vec![0; plugins.len()];
        for (number, (claim, calls)) in plugins.iter().enumerate() {
            for _ in 0..*calls {
                queue.push(start, claim, number);
            }
        }
        let mut now = start;
        while let Some(wait) = queue.wait() {
            now += wait.max(Duration::from_micros(1));
            if now >= start + Duration::from_secs(10) {
                break;
            }
            while let Some((_, number)) = queue.next(now) {
                got[number] += 1;
                queue.push(now, &plugins[number].0, number);
            }
        }
        got
    }

    #[test]
    fn tokens_are_shared_by_weight_and_who_wants_little_gets_it() {
        // (plugins: weight, own limit, calls that wait; what each gets of 100 a second in 10 s)
        type Row<'a> = (&'a [(u32, f64, usize)], &'a [usize]);
        let rows: [Row<'_>; 5] = [
            (&[(10, 1e4, 8)], &[1010]),
            (&[(10, 1e4, 32), (10, 1e4, 1)], &[505, 505]),
            (&[(10, 1e4, 8), (40, 1e4, 8)], &[202, 808]),
            (&[(10, 20.0, 8), (10, 1e4, 8)], &[220, 790]),
            (&[(1, 1e4, 8), (1, 20.0, 8), (2, 1e4, 8)], &[263, 220, 527]),
        ];
        for (plugins, want) in rows {
            let plugins: Vec<_> = plugins
                .iter()
                .zip(["a", "b", "c"])
                .map(|(&(weight, rate, calls), name)| (claim(name, weight, rate), calls))
                .collect();
            let got = tokens(100.0, &plugins);
            for (one, want) in got.iter().zip(want) {
                assert!(one.abs_diff(*want) <= 20, "{got:?} for {plugins:?}");
            }
        }
    }

    #[test]
    fn who_comes_late_is_not_behind_those_who_flood() {
        let start = Clock::system().now();
        let mut queue = RateQueue::new(maximum(10.0));
        let (flood, late) = (claim("flood", 10, 1e4), claim("late", 10, 1e4));
        for call in 0..1000 {
            queue.push(start, &flood, call);
        }
        while queue.next(start).is_some() {}
        queue.push(start, &late, 5000);
        let soon = start + queue.wait().unwrap();
        assert_eq!(queue.next(soon).unwrap().1, 5000);
    }

    #[test]
    fn a_token_that_was_not_used_goes_to_the_next() {
        let start = Clock::system().now();
        let mut queue = RateQueue::new(Rate {
            per_second: 1.0,
            burst: 1.0,
        });
        let one = claim("a", 10, 1.0);
        queue.push(start, &one, "gone");
        queue.push(start, &one, "there");
        let (plugin, _) = queue.next(start).unwrap();
        assert!(queue.next(start).is_none());
        queue.give_back(&plugin);
        assert_eq!(queue.next(start).unwrap().1, "there");
        assert_eq!(queue.wait(), None);
    }

    #[test]
    fn a_request_waits_for_its_plugins_own_tokens_and_then_for_the_others() {
        let start = Clock::system().now();
        let mut queue = RateQueue::new(Rate {
            per_second: 1.0,
            burst: 1.0,
        });
        let (one, other) = (claim("a", 10, 2.0), claim("b", 10, 100.0));
        let millis: Vec<_> = (0..4)
            .map(|number| queue.push(start, &one, number).as_millis())
            .collect();
        assert_eq!(millis, [0, 0, 500, 1000], "two at once, and two a second");
        assert_eq!(queue.push(start, &other, 4), Duration::ZERO);
        assert_eq!(queue.wait(), Some(Duration::ZERO));
        queue.next(start).unwrap();
        assert_eq!(queue.wait(), Some(Duration::from_secs(1)), "the others'");
    }

    #[test]
    fn without_a_maximum_nobody_waits() {
        let start = Clock::system().now();
        let mut queue: RateQueue<u8> = RateQueue::new(maximum(1.0));
        queue.limit(None);
        let one = claim("a", 10, 1.0);
        assert!((0..1000).all(|_| queue.take(start, &one)));
    }

    #[test]
    fn who_is_gone_leaves_nobody_waiting() {
        let start = Clock::system().now();
        let mut queue = RateQueue::new(maximum(1.0));
        queue.push(start, &claim("a", 10, 1.0), 1);
        queue.forget("a");
        assert_eq!((queue.wait(), queue.waiters.waiting()), (None, 0));
    }
}
