//! Lets requests wait until they may be sent.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use super::queue::RequestQueue;
use super::seats::{RequestClass, RequestEnd};
use super::{RequestClaim, RequestLimit, RequestUsage};
use crate::seams::Seams;

/// The shortest sleep of the task that deals: as exact as timers are.
const SHORTEST: Duration = Duration::from_millis(1);

/// The longest: a new version can have another limit.
const LONGEST: Duration = Duration::from_secs(1);

/// Shares the requests to the API server between plugins. Clones share them.
#[derive(Clone)]
pub struct RateLimiter {
    state: Arc<Mutex<RateLimiterState>>,
    /// Somebody waits for less time than the task that deals sleeps.
    sooner: Arc<Notify>,
    seams: Seams,
}

struct RateLimiterState {
    queue: RequestQueue<oneshot::Sender<()>>,
    /// When the task that deals tokens wakes: there is one while somebody waits for a token.
    wakes: Option<Instant>,
}

/// A request that may be sent. The request ends when this is dropped.
#[must_use = "the request ends when this is dropped"]
pub struct RequestSeat {
    limiter: Option<RateLimiter>,
    plugin: Arc<str>,
    class: RequestClass,
    end: RequestEnd,
}

/// A request that waits. The request takes nothing if the wait is dropped.
struct WaitingRequest<'a> {
    limiter: &'a RateLimiter,
    plugin: &'a str,
    token: oneshot::Receiver<()>,
}

impl RateLimiter {
    /// So much for all plugins together.
    pub fn new(limit: RequestLimit, seams: Seams) -> Self {
        let state = RateLimiterState {
            queue: RequestQueue::new(limit),
            wakes: None,
        };
        Self {
            state: Arc::new(Mutex::new(state)),
            sooner: Arc::default(),
            seams,
        }
    }

    /// Sets the limit.
    pub fn limit(&self, limit: RequestLimit) {
        self.state.lock().queue.limit(limit);
    }

    /// The requests of now.
    pub fn usage(&self) -> RequestUsage {
        self.state.lock().queue.usage()
    }

    /// The plugin is gone.
    pub fn forget(&self, plugin: &str) {
        self.state.lock().queue.forget(plugin);
    }

    /// Waits until the plugin may send one more request. Who stops waiting takes nothing. The wait needs no
    /// timer of the thread that waits. `waits` is told from when on it is the others that keep the plugin waiting, and not
    /// its own limit any more; what it answers is dropped when the wait ends.
    pub async fn wait<T>(
        &self,
        claim: &RequestClaim,
        waits: impl FnOnce(Instant) -> T,
    ) -> RequestSeat {
        let now = self.seams.clock.now();
        let (token, own) = {
            let mut state = self.state.lock();
            if state.queue.take(now, claim) {
                return RequestSeat::of(Some(self.clone()), &claim.plugin);
            }
            let (sender, token) = oneshot::channel();
            let own = state.queue.push(now, claim, sender);
            // The others may wait for tokens of their own.
            self.deal_at(&mut state, now);
            (token, own)
        };
        let _waits = now.checked_add(own).map(waits);
        let mut waiting = WaitingRequest {
            limiter: self,
            plugin: &claim.plugin,
            token,
        };
        // A plugin that is gone meanwhile has nobody to wait for, and no seats.
        let limiter = (&mut waiting.token).await.ok().map(|()| self.clone());
        RequestSeat::of(limiter, &claim.plugin)
    }

    /// Deals what there is, and has a task deal the rest in time.
    fn deal_at(&self, state: &mut RateLimiterState, now: Instant) {
        let Some(wait) = Self::deal_now(state, now) else {
            return;
        };
        match state.wakes {
            Some(wakes) if wait < wakes.saturating_duration_since(now) => self.sooner.notify_one(),
            Some(_) => {}
            None => {
                state.wakes = Some(now);
                let dealer = self.clone();
                self.seams
                    .spawn
                    .detached(async move { dealer.deal().await });
            }
        }
    }

    /// Deals tokens until nobody waits for one.
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

    /// Lets all begin that may. Answers how long until the next token; none if nobody waits for one.
    fn deal_now(state: &mut RateLimiterState, now: Instant) -> Option<Duration> {
        while let Some((plugin, waiter)) = state.queue.next(now) {
            if waiter.send(()).is_err() {
                state.queue.give_back(now, &plugin);
            }
        }
        state.queue.wait()
    }

    fn leave(&self, plugin: &str, end: (RequestClass, RequestEnd)) {
        let (mut state, now) = (self.state.lock(), self.seams.clock.now());
        state.queue.leave(now, plugin, end);
        self.deal_at(&mut state, now);
    }
}

impl RequestSeat {
    fn of(limiter: Option<RateLimiter>, plugin: &Arc<str>) -> Self {
        Self {
            limiter,
            plugin: plugin.clone(),
            class: RequestClass::Other,
            end: RequestEnd::Unknown,
        }
    }

    /// The same, of a request of this class.
    pub fn of_class(mut self, class: RequestClass) -> Self {
        self.class = class;
        self
    }

    /// The request has ended like this.
    pub fn ended(&mut self, end: RequestEnd) {
        self.end = end;
    }
}

impl std::fmt::Debug for RequestSeat {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = formatter.debug_struct("RequestSeat");
        text.field("plugin", &self.plugin).finish_non_exhaustive()
    }
}

impl Drop for RequestSeat {
    fn drop(&mut self) {
        if let Some(limiter) = &self.limiter {
            limiter.leave(&self.plugin, (self.class, self.end));
        }
    }
}

impl Drop for WaitingRequest<'_> {
    fn drop(&mut self) {
        self.token.close();
        // The turn came, and nobody took it.
        if self.token.try_recv().is_ok() {
            let limiter = self.limiter;
            let (mut state, now) = (limiter.state.lock(), limiter.seams.clock.now());
            state.queue.give_back(now, self.plugin);
            limiter.deal_at(&mut state, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use futures::future::join_all;
    use tokio::runtime::Handle;

    use super::*;
    use crate::flowcontrol::Rate;
    use crate::seams::{Clock, Rng, Spawn};

    #[expect(clippy::disallowed_methods, reason = "a test is where tasks come from")]
    fn limiter(per_second: f64, burst: f64) -> RateLimiter {
        let start = "2026-11-21T09:30:00Z".parse().unwrap();
        let seams = Seams {
            clock: Clock::starting_at(start),
            rng: Rng::seeded(1),
            spawn: Spawn::inline(Handle::current()),
        };
        RateLimiter::new(RequestLimit::Rate(Rate { per_second, burst }), seams)
    }

    /// Waits for a request that is answered at once.
    async fn wait(limiter: &RateLimiter, claim: &RequestClaim) {
        drop(limiter.wait(claim, |_| ()).await);
    }

    fn claim(plugin: &str) -> RequestClaim {
        let (per_second, burst) = (10.0, 20.0);
        RequestClaim {
            plugin: plugin.into(),
            weight: 10,
            rate: Some(Rate { per_second, burst }),
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
        let slow = RequestClaim {
            rate: Some(Rate {
                per_second: 1.0,
                burst: 1.0,
            }),
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
            RequestClaim {
                weight: 30,
                ..claim("heavy")
            },
        );
        let counts = [std::cell::Cell::new(0), std::cell::Cell::new(0)];
        let flood = async |claim: &RequestClaim, count: &std::cell::Cell<u32>| loop {
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

    /// The receiver of a turn is dropped before the turn comes, and after.
    #[tokio::test(start_paused = true)]
    async fn who_stops_waiting_takes_no_seat() {
        let limiter = limiter(1000.0, 1000.0);
        let one = RequestClaim {
            rate: None,
            ..claim("a")
        };
        let mut held = Vec::new();
        while let Some(seat) = limiter.wait(&one, |_| ()).now_or_never() {
            held.push(seat);
        }
        let mut waits: Vec<_> = (0..3)
            .map(|_| Box::pin(limiter.wait(&one, |_| ())))
            .collect();
        for wait in &mut waits {
            assert!(wait.now_or_never().is_none());
        }
        waits.pop();
        // The first one that waits has its turn now, and is dropped before it knows.
        held.pop();
        drop(waits.remove(0));
        let last = waits.pop().unwrap().now_or_never();
        held.extend([last.unwrap()]);
        assert!(limiter.wait(&one, |_| ()).now_or_never().is_none());
        limiter.forget("a");
        drop(held);
        assert!(limiter.wait(&one, |_| ()).now_or_never().is_some());
    }
}
