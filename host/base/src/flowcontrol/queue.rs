//! Whose request is sent next: a weighted fair queue under token buckets and seats.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::bucket::{Rate, TokenBucket};
use super::fair_queue::{FairQueue, cost};
use super::seats::{PluginSeats, RequestClass, RequestEnd, Seats};
use super::{RequestClaim, RequestLimit, RequestUsage};

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
    /// The limit of all plugins together.
    pub(super) fn new(limit: RequestLimit) -> Self {
        Self {
            limit,
            bucket: None,
            seats: Seats::default(),
            accounts: BTreeMap::new(),
            waiters: FairQueue::default(),
        }
    }

    /// Sets the limit.
    pub(super) fn limit(&mut self, limit: RequestLimit) {
        (self.limit, self.bucket) = (limit, None);
    }

    /// The plugin is gone. Its waiters are dropped.
    pub(super) fn forget(&mut self, plugin: &str) {
        self.accounts.remove(plugin);
        self.waiters.forget(plugin);
    }

    /// The requests of now.
    pub(super) fn usage(&self) -> RequestUsage {
        let (limit, in_flight) = self.seats.used();
        RequestUsage {
            limit: (self.limit != RequestLimit::None).then_some(limit),
            in_flight,
            waiting: self.waiters.waiting(),
        }
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

    /// The time until the plugin has this number of tokens.
    fn wait(&self, tokens: f64) -> Duration {
        let wait = |(rate, bucket): (Rate, TokenBucket)| bucket.wait(rate, tokens);
        self.bucket.map_or(Duration::ZERO, wait)
    }
}

#[cfg(test)]
mod tests;
