//! Whose request is sent next: a weighted fair queue under token buckets and seats.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::bucket::{Rate, TokenBucket};
use super::fair_queue::{FairQueue, cost};
use super::seats::{PluginSeats, RequestClass, RequestEnd, Seats};
use super::{RequestClaim, RequestLimit};

/// The virtual time that a request takes at the usual weight.
const TOKEN: u64 = 1_000_000;

/// Those who wait, as `W`.
#[derive(Debug)]
pub(super) struct RequestQueue<W> {
    limit: RequestLimit,
    bucket: Option<TokenBucket>,
    seats: Seats,
    accounts: BTreeMap<Arc<str>, RequestAccount>,
    waiters: FairQueue<W>,
}

#[derive(Debug)]
struct RequestAccount {
    /// None: the plugin has no limit of its own.
    bucket: Option<(Rate, TokenBucket)>,
    weight: u32,
    seats: PluginSeats,
}

impl<W> RequestQueue<W> {
    /// So much for all together.
    pub(super) fn new(limit: RequestLimit) -> Self {
        Self {
            limit,
            bucket: None,
            seats: Seats::default(),
            accounts: BTreeMap::new(),
            waiters: FairQueue::new(),
        }
    }

    /// From now on so much.
    pub(super) fn limit(&mut self, limit: RequestLimit) {
        (self.limit, self.bucket) = (limit, None);
    }

    /// The plugin is gone. Its waiters are dropped.
    pub(super) fn forget(&mut self, plugin: &str) {
        self.accounts.remove(plugin);
        self.waiters.forget(plugin);
    }

    /// Lets a request begin at once, if it may and nobody waits. It ends with [`RequestQueue::leave`].
    pub(super) fn take(&mut self, now: Instant, claim: &RequestClaim) -> bool {
        let is_free = self.limit == RequestLimit::None
            || self.waiters.waiting() == 0 && self.refilled(now).is_none_or(|(_, it)| it.has(1.0));
        self.account(now, claim);
        let Some(account) = self.accounts.get(&claim.plugin) else {
            return false;
        };
        let may = self.limit == RequestLimit::None
            || is_free && account.has_token() && self.seats.has_room(&account.seats);
        if may {
            self.grant(&claim.plugin);
        }
        may
    }

    /// Lets `waiter` wait for its request to begin. Answers how long it waits because of the plugin's own limit: the
    /// plugin's tokens go to those of its requests first that wait already. What it waits beyond that is because of the
    /// others, or of the API server.
    pub(super) fn push(&mut self, now: Instant, claim: &RequestClaim, waiter: W) -> Duration {
        self.waiters.push(&claim.plugin, 0, waiter);
        let tokens = u32::try_from(self.waiters.waiting_for(&claim.plugin)).unwrap_or(u32::MAX);
        let account = self.account(now, claim);
        account.wait(f64::from(tokens))
    }

    /// Whose request begins now, and its plugin. It ends with [`RequestQueue::leave`].
    pub(super) fn next(&mut self, now: Instant) -> Option<(Arc<str>, W)> {
        let is_limited = self.limit != RequestLimit::None;
        let has_none = self.refilled(now).is_some_and(|(_, it)| !it.has(1.0));
        if has_none {
            return None;
        }
        let (accounts, seats) = (&mut self.accounts, &mut self.seats);
        let next = self.waiters.next(|plugin| {
            accounts.get_mut(plugin).is_some_and(|account| {
                account.refill(now);
                let has_room = seats.has_room(&account.seats);
                if !has_room {
                    seats.reached();
                }
                !is_limited || account.has_token() && has_room
            })
        });
        let (plugin, waiter) = next?;
        self.grant(&plugin);
        Some((plugin, waiter))
    }

    /// The request of `plugin` was not sent: it did not wait any more.
    pub(super) fn give_back(&mut self, now: Instant, plugin: &str) {
        if let (RequestLimit::Rate(maximum), Some(bucket)) = (self.limit, &mut self.bucket) {
            bucket.charge(maximum, -1.0);
        }
        if let Some(account) = self.accounts.get_mut(plugin) {
            account.charge(-1.0);
            self.waiters.settle(plugin, cost(TOKEN, account.weight), 0);
        }
        self.leave(now, plugin, (RequestClass::Other, RequestEnd::Unknown));
    }

    /// A request of `plugin` ends.
    pub(super) fn leave(&mut self, now: Instant, plugin: &str, end: (RequestClass, RequestEnd)) {
        let account = self.accounts.get_mut(plugin);
        let seats = account.map(|account| &mut account.seats);
        self.seats.leave(now, seats, end);
    }

    /// How long until somebody gets a token; none if nobody waits for one. Who waits for a seat waits for the end of a
    /// request.
    pub(super) fn wait(&self) -> Option<Duration> {
        if self.limit == RequestLimit::None || self.waiters.waiting() == 0 {
            return None;
        }
        let shared = match (self.limit, self.bucket) {
            (RequestLimit::Rate(maximum), Some(bucket)) => bucket.wait(maximum, 1.0),
            _ => Duration::ZERO,
        };
        let waiting = self.accounts.iter().filter(|(plugin, account)| {
            self.waiters.waits(plugin) && self.seats.has_room(&account.seats)
        });
        let own = waiting.map(|(_, account)| account.wait(1.0));
        Some(shared.max(own.min()?))
    }

    /// The bucket of all plugins, if there is one.
    fn refilled(&mut self, now: Instant) -> Option<(Rate, &TokenBucket)> {
        let RequestLimit::Rate(maximum) = self.limit else {
            return None;
        };
        let full = || TokenBucket::full(maximum, now);
        let bucket = self.bucket.get_or_insert_with(full);
        bucket.refill(maximum, now);
        Some((maximum, bucket))
    }

    fn account(&mut self, now: Instant, claim: &RequestClaim) -> &mut RequestAccount {
        let new = || RequestAccount {
            bucket: None,
            weight: claim.weight,
            seats: PluginSeats::default(),
        };
        let account = self
            .accounts
            .entry(claim.plugin.clone())
            .or_insert_with(new);
        account.weight = claim.weight;
        let bucket = account.bucket.map(|(_, bucket)| bucket);
        account.bucket = claim
            .rate
            .map(|rate| (rate, bucket.unwrap_or_else(|| TokenBucket::full(rate, now))));
        account.refill(now);
        account
    }

    fn grant(&mut self, plugin: &Arc<str>) {
        if let (RequestLimit::Rate(maximum), Some(bucket)) = (self.limit, &mut self.bucket) {
            bucket.charge(maximum, 1.0);
        }
        if let Some(account) = self.accounts.get_mut(plugin) {
            if self.limit != RequestLimit::None {
                account.charge(1.0);
            }
            self.seats.take(&mut account.seats);
            self.waiters.begin(plugin, cost(TOKEN, account.weight), 0);
        }
    }
}

impl RequestAccount {
    fn refill(&mut self, now: Instant) {
        if let Some((rate, bucket)) = &mut self.bucket {
            bucket.refill(*rate, now);
        }
    }

    fn has_token(&self) -> bool {
        self.bucket.is_none_or(|(_, bucket)| bucket.has(1.0))
    }

    fn charge(&mut self, cost: f64) {
        if let Some((rate, bucket)) = &mut self.bucket {
            bucket.charge(*rate, cost);
        }
    }

    /// How long until the plugin has so many tokens.
    fn wait(&self, tokens: f64) -> Duration {
        let wait = |(rate, bucket): (Rate, TokenBucket)| bucket.wait(rate, tokens);
        self.bucket.map_or(Duration::ZERO, wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seams::Clock;

    fn claim(plugin: &str, weight: u32, per_second: f64) -> RequestClaim {
        RequestClaim {
            plugin: plugin.into(),
            weight,
            rate: Some(Rate {
                per_second,
                burst: per_second,
            }),
        }
    }

    fn maximum(per_second: f64) -> RequestLimit {
        let burst = 10.0;
        RequestLimit::Rate(Rate { per_second, burst })
    }

    fn one_a_second() -> RequestLimit {
        let (per_second, burst) = (1.0, 1.0);
        RequestLimit::Rate(Rate { per_second, burst })
    }

    /// Whose request begins, and ends at once.
    fn served<W>(queue: &mut RequestQueue<W>, now: Instant) -> Option<W> {
        let (plugin, waiter) = queue.next(now)?;
        let end = RequestEnd::Answered(Duration::ZERO);
        queue.leave(now, &plugin, (RequestClass::Other, end));
        Some(waiter)
    }

    /// How many tokens each plugin gets in 10 s if it always has `calls` that wait.
    fn tokens(all: f64, plugins: &[(RequestClaim, usize)]) -> Vec<usize> {
        let start = Clock::system().now();
        let mut queue = RequestQueue::new(maximum(all));
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
            while let Some(number) = served(&mut queue, now) {
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
        let mut queue = RequestQueue::new(maximum(10.0));
        let (flood, late) = (claim("flood", 10, 1e4), claim("late", 10, 1e4));
        for call in 0..1000 {
            queue.push(start, &flood, call);
        }
        while served(&mut queue, start).is_some() {}
        queue.push(start, &late, 5000);
        let soon = start + queue.wait().unwrap();
        assert_eq!(served(&mut queue, soon).unwrap(), 5000);
    }

    #[test]
    fn a_token_that_was_not_used_goes_to_the_next() {
        let start = Clock::system().now();
        let mut queue = RequestQueue::new(one_a_second());
        let one = claim("a", 10, 1.0);
        queue.push(start, &one, "gone");
        queue.push(start, &one, "there");
        let (plugin, _) = queue.next(start).unwrap();
        assert!(queue.next(start).is_none());
        queue.give_back(start, &plugin);
        assert_eq!(queue.next(start).unwrap().1, "there");
        assert_eq!(queue.wait(), None);
    }

    #[test]
    fn a_request_waits_for_its_plugins_own_tokens_and_then_for_the_others() {
        let start = Clock::system().now();
        let mut queue = RequestQueue::new(one_a_second());
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
        let mut queue: RequestQueue<u8> = RequestQueue::new(maximum(1.0));
        queue.limit(RequestLimit::None);
        let one = claim("a", 10, 1.0);
        assert!((0..1000).all(|_| queue.take(start, &one)));
    }

    #[test]
    fn who_is_gone_leaves_nobody_waiting() {
        let start = Clock::system().now();
        let mut queue = RequestQueue::new(maximum(1.0));
        queue.push(start, &claim("a", 10, 1.0), 1);
        queue.forget("a");
        assert_eq!((queue.wait(), queue.waiters.waiting()), (None, 0));
    }

    /// Two plugins that always have eight requests that wait, and an API server that answers the oldest one first.
    #[test]
    fn without_a_maximum_the_seats_are_shared_by_weight() {
        let start = Clock::system().now();
        // (weights of two plugins; what each has of 1,000 answers)
        for (weights, want) in [([10, 10], [500, 500]), ([10, 30], [250, 750])] {
            let mut queue = RequestQueue::new(RequestLimit::Shared);
            let plugins = ["a", "b"].map(Arc::<str>::from);
            let claims = [0, 1].map(|number| RequestClaim {
                plugin: plugins[number].clone(),
                weight: weights[number],
                rate: None,
            });
            for number in (0..2).flat_map(|number| [number; 8]) {
                queue.push(start, &claims[number], number);
            }
            let (mut flight, mut got) = (std::collections::VecDeque::new(), [0_usize; 2]);
            for _ in 0..1000 {
                while let Some((_, number)) = queue.next(start) {
                    flight.push_back(number);
                }
                assert_eq!(queue.wait(), None, "nobody waits for a token");
                let number = flight.pop_front().unwrap();
                queue.leave(
                    start,
                    &plugins[number],
                    (RequestClass::Other, RequestEnd::Unknown),
                );
                got[number] += 1;
                queue.push(start, &claims[number], number);
            }
            for (got, want) in got.iter().zip(want) {
                assert!(got.abs_diff(want) <= 10, "{got} of {want} for {weights:?}");
            }
        }
    }

    #[test]
    fn a_plugin_alone_without_a_limit_waits_for_answers_only() {
        let start = Clock::system().now();
        let mut queue = RequestQueue::new(RequestLimit::Shared);
        let one = RequestClaim {
            rate: None,
            ..claim("a", 10, 1.0)
        };
        let mut sent = 0;
        while queue.take(start, &one) {
            sent += 1;
        }
        assert_eq!(sent, 8);
        queue.push(start, &one, ());
        assert_eq!((queue.wait(), queue.next(start)), (None, None));
        let end = RequestEnd::Answered(Duration::from_millis(1));
        queue.leave(start, "a", (RequestClass::Read, end));
        assert!(queue.next(start).is_some());
    }
}
