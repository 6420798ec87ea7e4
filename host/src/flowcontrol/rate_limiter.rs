//! Lets requests wait for their token.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use super::queue::RateQueue;
use super::{Claim, Rate};
use crate::seams::Seams;

/// The shortest sleep of the task that deals: as exact as timers are.
const SHORTEST: Duration = Duration::from_millis(1);

/// The longest: a new version can have another limit.
const LONGEST: Duration = Duration::from_secs(1);

/// Shares a rate of requests between plugins. Clones share it.
#[derive(Clone)]
pub struct RateLimiter {
    state: Arc<Mutex<RateLimiterState>>,
    /// Somebody waits for less time than the task that deals sleeps.
    sooner: Arc<Notify>,
    seams: Seams,
}

struct RateLimiterState {
    queue: RateQueue<oneshot::Sender<()>>,
    /// When the task that deals tokens wakes: there is one while somebody waits.
    wakes: Option<Instant>,
}

impl RateLimiter {
    /// So much for all plugins together.
    pub fn new(maximum: Rate, seams: Seams) -> Self {
        let state = RateLimiterState {
            queue: RateQueue::new(maximum),
            wakes: None,
        };
        Self {
            state: Arc::new(Mutex::new(state)),
            sooner: Arc::default(),
            seams,
        }
    }

    /// From now on so much; none: without any limit.
    pub fn limit(&self, maximum: Option<Rate>) {
        self.state.lock().queue.limit(maximum);
    }

    /// The plugin is gone.
    pub fn forget(&self, plugin: &str) {
        self.state.lock().queue.forget(plugin);
    }

    /// Waits until the plugin may send one more request. Who stops waiting takes nothing. The wait needs no
    /// timer of the thread that waits. `waits` is told from when on it is the others that keep the plugin waiting, and not
    /// its own limit any more; what it answers is dropped when the wait ends.
    pub async fn wait<T>(&self, claim: &Claim, waits: impl FnOnce(Instant) -> T) {
        let now = self.seams.clock.now();
        let (token, own, dealt) = {
            let mut state = self.state.lock();
            if state.queue.take(now, claim) {
                return;
            }
            let (sender, token) = oneshot::channel();
            let own = state.queue.push(now, claim, sender);
            let dealt = state.wakes;
            if let Some(wakes) = dealt {
                // The others may wait for tokens of their own.
                let wait = Self::deal_now(&mut state, now);
                if wait.is_some_and(|wait| wait < wakes.saturating_duration_since(now)) {
                    self.sooner.notify_one();
                }
            } else {
                state.wakes = Some(now);
            }
            (token, own, dealt.is_some())
        };
        let _waits = now.checked_add(own).map(waits);
        if !dealt {
            let dealer = self.clone();
            self.seams
                .spawn
                .detached(async move { dealer.deal().await });
        }
        // A plugin that is gone meanwhile has nobody to wait for.
        let _ = token.await;
    }

    /// Deals tokens until nobody waits.
    async fn deal(&self) {
        loop {
            let wait = {
                let (mut state, now) = (self.state.lock(), self.seams.clock.now());
                let wait = Self::deal_now(&mut state, now);
                let wait = wait.map(|wait| wait.clamp(SHORTEST, LONGEST));
                state.wakes = wait.map(|wait| now + wait);
                wait
            };
            let Some(wait) = wait else { return };
            tokio::select! {
                biased;
                () = self.seams.clock.sleep(wait) => {}
                () = self.sooner.notified() => {}
            }
        }
    }

    /// Deals all tokens that are there. Answers how long until the next one; none if nobody waits.
    fn deal_now(state: &mut RateLimiterState, now: Instant) -> Option<Duration> {
        while let Some((plugin, waiter)) = state.queue.next(now) {
            if waiter.send(()).is_err() {
                state.queue.give_back(&plugin);
            }
        }
        state.queue.wait()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use futures::future::join_all;
    use tokio::runtime::Handle;

    use super::*;
    use crate::seams::{Clock, Rng, Spawn};

    #[expect(clippy::disallowed_methods, reason = "a test is where tasks come from")]
    fn limiter(per_second: f64, burst: f64) -> RateLimiter {
        let start = "2026-11-21T09:30:00Z".parse().unwrap();
        let seams = Seams {
            clock: Clock::starting_at(start),
            rng: Rng::seeded(1),
            spawn: Spawn::inline(Handle::current()),
        };
        RateLimiter::new(Rate { per_second, burst }, seams)
    }

    async fn wait(limiter: &RateLimiter, claim: &Claim) {
        limiter.wait(claim, |_| ()).await;
    }

    fn claim(plugin: &str) -> Claim {
        let (per_second, burst) = (10.0, 20.0);
        Claim {
            plugin: plugin.into(),
            weight: 10,
            rate: Rate { per_second, burst },
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_plugin_has_its_burst_at_once_and_then_its_rate() {
        let limiter = limiter(1000.0, 1000.0);
        let clock = limiter.seams.clock;
        let began = clock.now();
        for _ in 0..20 {
            assert!(wait(&limiter, &claim("a")).now_or_never().is_some());
        }
        for _ in 0..30 {
            wait(&limiter, &claim("a")).await;
        }
        assert_eq!((clock.now() - began).as_secs(), 3);
        let other = claim("b");
        assert!(wait(&limiter, &other).now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_within_its_limit_does_not_wait_for_who_is_not() {
        let limiter = limiter(1000.0, 1000.0);
        let (flood, other) = (claim("flood"), claim("other"));
        let mut flooding = Box::pin(join_all((0..100).map(|_| wait(&limiter, &flood))));
        assert!((&mut flooding).now_or_never().is_none());
        tokio::task::yield_now().await;
        assert!(wait(&limiter, &other).now_or_never().is_some());
        flooding.await;
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_a_moment_does_not_wait_for_who_waits_longer() {
        let limiter = limiter(1000.0, 1000.0);
        let clock = limiter.seams.clock;
        let slow = Claim {
            rate: Rate {
                per_second: 1.0,
                burst: 1.0,
            },
            ..claim("slow")
        };
        let fast = claim("fast");
        wait(&limiter, &slow).await;
        join_all((0..20).map(|_| wait(&limiter, &fast))).await;
        let began = clock.now();
        let mut waits = Box::pin(wait(&limiter, &slow));
        assert!((&mut waits).now_or_never().is_none());
        tokio::task::yield_now().await;
        wait(&limiter, &fast).await;
        let millis = (clock.now() - began).as_millis();
        assert!((100..=102).contains(&millis), "{millis}");
        waits.await;
        assert_eq!((clock.now() - began).as_secs(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn who_stops_waiting_takes_no_token() {
        let limiter = limiter(1000.0, 1000.0);
        let clock = limiter.seams.clock;
        let one = claim("a");
        join_all((0..20).map(|_| wait(&limiter, &one))).await;
        let mut gone: Vec<_> = (0..50).map(|_| Box::pin(wait(&limiter, &one))).collect();
        for waiter in &mut gone {
            assert!(waiter.now_or_never().is_none());
        }
        drop(gone);
        let began = clock.now();
        join_all((0..10).map(|_| wait(&limiter, &one))).await;
        assert_eq!((clock.now() - began).as_secs(), 1);
        assert_eq!(limiter.state.lock().wakes, None, "nobody waits");
    }

    #[tokio::test(start_paused = true)]
    async fn the_maximum_is_shared_by_weight() {
        let limiter = limiter(8.0, 8.0);
        let (light, heavy) = (
            claim("light"),
            Claim {
                weight: 30,
                ..claim("heavy")
            },
        );
        let counts = [std::cell::Cell::new(0), std::cell::Cell::new(0)];
        let flood = async |claim: &Claim, count: &std::cell::Cell<u32>| loop {
            wait(&limiter, claim).await;
            count.set(count.get() + 1);
        };
        let both = async {
            join_all((0..4).flat_map(|_| {
                [
                    flood(&light, &counts[0]).boxed_local(),
                    flood(&heavy, &counts[1]).boxed_local(),
                ]
            }))
            .await;
        };
        let clock = limiter.seams.clock;
        clock.within(Duration::from_secs(100), both).await;
        let (light, heavy) = (counts[0].get(), counts[1].get());
        assert!((800..=810).contains(&(light + heavy)), "{light} {heavy}");
        // The first tokens go to the first one that comes.
        assert!((200..=210).contains(&light), "{light} of {}", light + heavy);
    }
}
