//! What plugins share of their host, and what one of them has of it: call slots, CPU turns, requests to the API
//! server, and log bytes.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::engine::SLOTS;
use super::fair_scheduler::{FairScheduler, PluginQueue};
use super::slots::{CallSlot, CallSlots};
use super::waited::Waited;
use windlass_base::flowcontrol::{
    Claim, Quota, QuotaDecision, Rate, RateLimiter, RequestClaim, RequestLimit, RequestSeat,
    Throttled,
};
use windlass_base::seams::{Clock, Seams};
use windlass_policy::manifest::Limits;

/// How many seconds of its log bytes a plugin can write at once.
const LOG_BURST: f64 = 16.0;

/// How often it is said that log lines are dropped.
const SAID: Duration = Duration::from_secs(10);

/// What all plugins of a host may do over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Maxima {
    /// Requests to the API server; none: as many as the API server answers without delay.
    pub requests: Option<Rate>,
    /// Log bytes each second, and 16 times as many at once.
    pub log_bytes: f64,
}

impl Default for Maxima {
    fn default() -> Self {
        Self {
            requests: None,
            log_bytes: f64::from(1 << 20),
        }
    }
}

impl Maxima {
    fn requests(&self) -> RequestLimit {
        self.requests
            .map_or(RequestLimit::Shared, RequestLimit::Rate)
    }

    fn log(&self) -> Rate {
        log_rate(self.log_bytes)
    }
}

fn log_rate(per_second: f64) -> Rate {
    Rate {
        per_second,
        burst: per_second * LOG_BURST,
    }
}

/// What is shared.
pub(super) struct Shares {
    slots: CallSlots,
    turns: FairScheduler,
    requests: RateLimiter,
    log: Mutex<Quota>,
    clock: Clock,
}

/// What one version of a plugin has of it.
pub(super) struct VersionShare {
    shares: Arc<Shares>,
    plugin: Arc<str>,
    requests: RequestClaim,
    log: Claim,
    line: PluginQueue,
    /// How many of its calls may be in flight at once.
    concurrency: usize,
    dropped: Mutex<DroppedLines>,
}

/// Log lines that were dropped, and of which nobody was told yet.
#[derive(Debug, Default)]
struct DroppedLines {
    lines: u64,
    said: Option<Instant>,
}

/// What becomes of a log line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Logged {
    /// It is written.
    Yes,
    /// It is dropped; if there is a text, it is to be said.
    Dropped(Option<String>),
}

impl Shares {
    /// Shares of a host with so many guest threads.
    pub(super) fn new(threads: usize, seams: &Seams) -> Arc<Self> {
        let maxima = Maxima::default();
        Arc::new(Self {
            // Below the pool's slots: a call waits here rather than fail there.
            slots: CallSlots::new(usize::try_from(SLOTS).unwrap_or(1).saturating_sub(4)),
            turns: FairScheduler::new(threads),
            requests: RateLimiter::new(maxima.requests(), seams.clone()),
            log: Mutex::new(Quota::new(maxima.log())),
            clock: seams.clock,
        })
    }

    /// Sets the limit over time; none: without any limit over time.
    pub(super) fn limit(&self, maxima: Option<Maxima>) {
        let requests = maxima.map_or(RequestLimit::None, |maxima| maxima.requests());
        self.requests.limit(requests);
        self.log.lock().limit(maxima.map(|maxima| maxima.log()));
    }

    /// The limiter of all requests to the API server.
    pub(super) fn requests(&self) -> &RateLimiter {
        &self.requests
    }

    /// The share of a version of `plugin`, for as long as it is held.
    pub(super) fn join(self: &Arc<Self>, plugin: Arc<str>, limits: &Limits) -> VersionShare {
        let weight = limits.weight;
        self.slots.join(&plugin, weight, limits.concurrency);
        VersionShare {
            requests: RequestClaim {
                plugin: plugin.clone(),
                weight,
                rate: limits.api_rate.map(|rate| Rate {
                    per_second: f64::from(rate.per_second),
                    burst: f64::from(rate.burst),
                }),
            },
            log: Claim {
                plugin: plugin.clone(),
                weight,
                rate: log_rate(f64::from(limits.log_bytes_per_second)),
            },
            line: self.turns.line(plugin.clone(), weight),
            concurrency: limits.concurrency,
            dropped: Mutex::default(),
            shares: self.clone(),
            plugin,
        }
    }
}

impl VersionShare {
    /// Its version takes over: from now on the calls of the plugin have its limits.
    pub(super) fn take_over(&self) {
        let slots = &self.shares.slots;
        slots.limit(&self.plugin, self.requests.weight, self.concurrency);
    }

    /// Waits until one more call may be in flight.
    pub(super) async fn slot(&self, throttled: Option<&Throttled>) -> CallSlot {
        let began = self.shares.clock.now();
        let slot = self.shares.slots.take(&self.plugin).await;
        if let Some(throttled) = throttled {
            throttled.waited_for_slot(self.shares.clock.now() - began);
        }
        slot
    }

    /// Where its calls wait for their turns.
    pub(super) fn line(&self) -> PluginQueue {
        self.line.clone()
    }

    /// Waits until one more request may be sent. The wait holds no turn. What of it is because of the others, or of the
    /// API server, counts into `waited`.
    pub(super) async fn request(
        &self,
        throttled: &Throttled,
        waited: Option<&Waited>,
    ) -> RequestSeat {
        let _waits = throttled.waits_for_request(self.shares.clock);
        let others = |from| waited.map(|waited| waited.begin_at(from));
        self.shares.requests.wait(&self.requests, others).await
    }

    /// Whether a line of so many bytes may be written to the log.
    pub(super) fn log(&self, bytes: usize) -> Logged {
        // Time, level and names make a line longer than its text.
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX).saturating_add(256);
        let now = self.shares.clock.now();
        let taken = self
            .shares
            .log
            .lock()
            .take(now, &self.log, f64::from(bytes));
        let why = match taken {
            QuotaDecision::Yes => return Logged::Yes,
            QuotaDecision::OwnLimit => {
                "the plugin is at its own limit: let it write less, or raise spec.limits.logBytesPerSecond"
            }
            QuotaDecision::HostMaximum => {
                "the plugins together are at the host's maximum: let them write less, or raise --plugin-log-bytes-per-second"
            }
        };
        let mut dropped = self.dropped.lock();
        dropped.lines += 1;
        if dropped.said.is_some_and(|said| now - said < SAID) {
            return Logged::Dropped(None);
        }
        let lines = std::mem::take(&mut dropped.lines);
        dropped.said = Some(now);
        Logged::Dropped(Some(format!(
            "{lines} log lines are dropped, and more may be: {why}"
        )))
    }
}

impl Drop for VersionShare {
    fn drop(&mut self) {
        if self.shares.slots.leave(&self.plugin) {
            self.shares.turns.forget(&self.plugin);
            self.shares.requests.forget(&self.plugin);
            self.shares.log.lock().forget(&self.plugin);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use tokio::runtime::Handle;

    use super::*;
    use windlass_base::seams::{Rng, Spawn};
    use windlass_policy::manifest::ApiRate;

    fn api_rate(per_second: u32, burst: u32) -> Option<ApiRate> {
        Some(ApiRate { per_second, burst })
    }

    #[expect(clippy::disallowed_methods, reason = "a test is where tasks come from")]
    fn shares() -> (Arc<Shares>, Clock) {
        let clock = Clock::starting_at("2026-11-21T09:30:00Z".parse().unwrap());
        let seams = Seams {
            clock,
            rng: Rng::seeded(1),
            spawn: Spawn::inline(Handle::current()),
        };
        (Shares::new(1, &seams), clock)
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_log_lines_is_cut_to_its_rate_and_that_is_said_now_and_then() {
        let (shares, clock) = shares();
        let share = shares.join("flood".into(), &Limits::default());
        let (mut written, mut dropped, mut said) = (0_u64, 0, Vec::new());
        for _ in 0..600 {
            for _ in 0..100 {
                match share.log((8 << 10) - 256) {
                    Logged::Yes => written += 8 << 10,
                    Logged::Dropped(text) => {
                        dropped += 1;
                        said.extend(text);
                    }
                }
            }
            clock.sleep(Duration::from_millis(100)).await;
        }
        // A burst of 1 MiB, and 64 KiB in each of 60 s, of 480 MiB.
        assert!((75..=77).contains(&(written >> 16)), "{written}");
        assert_eq!(said.len(), 6, "{said:?}");
        assert!(
            said[1].contains("spec.limits.logBytesPerSecond"),
            "{said:?}"
        );
        assert!(dropped > 59_000, "{dropped}");
        let other = shares.join("other".into(), &Limits::default());
        assert_eq!(other.log(1000), Logged::Yes);
    }

    #[tokio::test(start_paused = true)]
    async fn many_plugins_that_flood_stay_below_the_maximum_and_leave_the_others_theirs() {
        let (shares, clock) = shares();
        let limits = Limits {
            log_bytes_per_second: 1 << 20,
            ..Limits::default()
        };
        let floods: Vec<_> = (0..8)
            .map(|number| shares.join(format!("flood-{number}").into(), &limits))
            .collect();
        let good = shares.join("good".into(), &limits);
        let (mut written, mut lost) = (0_u64, 0);
        for second in 0..120 {
            for _ in 0..10 {
                for flood in &floods {
                    for _ in 0..40 {
                        let is_written = flood.log((8 << 10) - 256) == Logged::Yes;
                        written += u64::from(is_written && second >= 60) * (8 << 10);
                    }
                }
                lost += u32::from(good.log(1000) != Logged::Yes && second >= 60);
                clock.sleep(Duration::from_millis(100)).await;
            }
        }
        assert_eq!(lost, 0);
        assert!(written <= 61 << 20, "{written} in 60 s");
    }

    /// Three requests, one after the other.
    #[tokio::test(start_paused = true)]
    async fn only_the_wait_for_the_others_is_a_wait_for_the_host() {
        // (the plugin's own limit, that of all; after how many seconds the third one is sent; how many of those count)
        type Row = ((u32, u32), (f64, f64), u64, u128);
        let rows: [Row; 3] = [
            ((1, 1), (1000.0, 1000.0), 2, 0),
            ((100, 100), (1.0, 1.0), 2, 2),
            ((1, 2), (0.5, 2.0), 2, 1),
        ];
        for (own, (per_second, burst), seconds, count) in rows {
            let (shares, clock) = shares();
            let requests = Some(Rate { per_second, burst });
            shares.limit(Some(Maxima {
                requests,
                ..Maxima::default()
            }));
            let limits = Limits {
                api_rate: api_rate(own.0, own.1),
                ..Limits::default()
            };
            let share = shares.join("a".into(), &limits);
            let (throttled, waited) = (Throttled::default(), Waited::new(clock));
            let began = clock.now();
            let requests = async {
                for _ in 0..3 {
                    drop(share.request(&throttled, Some(&waited)).await);
                }
            };
            // As a deadline does that passes meanwhile: what goes on counts too.
            let half = Duration::from_millis(seconds * 1000 - 500);
            let mut requests = Box::pin(requests);
            assert!(clock.within(half, &mut requests).await.is_none());
            let late = waited.total();
            requests.await;
            let took = (clock.now() - began).as_millis();
            assert!(took.abs_diff(u128::from(seconds) * 1000) <= 5, "{took}");
            let counted = waited.total().as_millis();
            assert!(counted.abs_diff(count * 1000) <= 5, "{counted} of {took}");
            let wanted = (count * 1000).saturating_sub(500);
            assert!(late.as_millis().abs_diff(wanted) <= 5, "{late:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_plugin_that_is_gone_leaves_nothing_and_no_limit_is_none() {
        let (shares, _) = shares();
        let throttled = Throttled::default();
        let few = Limits {
            api_rate: api_rate(1, 1),
            ..Limits::default()
        };
        let share = shares.join("a".into(), &few);
        assert!(share.request(&throttled, None).now_or_never().is_some());
        assert!(share.request(&throttled, None).now_or_never().is_none());
        drop(share);
        let share = shares.join("a".into(), &few);
        assert!(share.request(&throttled, None).now_or_never().is_some());
        shares.limit(None);
        for _ in 0..100 {
            assert!(share.request(&throttled, None).now_or_never().is_some());
            assert_eq!(share.log(1 << 20), Logged::Yes);
        }
    }

    /// A version that is loaded may be refused.
    #[tokio::test(start_paused = true)]
    async fn a_version_has_its_limits_over_time_and_its_slots_when_it_takes_over() {
        let (shares, clock) = shares();
        let throttled = Throttled::default();
        let name: Arc<str> = "a".into();
        let few = Limits {
            concurrency: 1,
            api_rate: api_rate(1, 1),
            log_bytes_per_second: 1 << 10,
            ..Limits::default()
        };
        let many = Limits {
            concurrency: 2,
            weight: 90,
            api_rate: api_rate(10, 10),
            log_bytes_per_second: 1 << 20,
            ..Limits::default()
        };
        let old = shares.join(name.clone(), &few);
        let new = shares.join(name.clone(), &many);
        assert_eq!(shares.slots.limits_of(&name), Some((few.weight, 1)));
        let requests = |share: &VersionShare| {
            let all = (0..20).map(|_| share.request(&throttled, None).now_or_never());
            all.take_while(Option::is_some).count()
        };
        assert_eq!(requests(&old), 1);
        assert_ne!(old.log(64 << 10), Logged::Yes);
        new.take_over();
        assert_eq!(shares.slots.limits_of(&name), Some((90, 2)));
        assert_eq!(new.line().weight(), 90);
        // Half a second of the old limit would be 512 bytes.
        clock.sleep(Duration::from_millis(500)).await;
        assert_eq!(new.log(64 << 10), Logged::Yes);
        assert!(requests(&new) > 1);
        drop(old);
        assert_eq!(shares.slots.limits_of(&name), Some((90, 2)));
    }
}
