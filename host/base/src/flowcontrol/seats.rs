//! How many requests may be in flight at once: as many as the API server answers without delay.
//!
//! - The limit grows while it is reached and answers come quickly. It shrinks when answers take several times as long
//!   as the best ones of the last minutes. Lists do not count, since their size decides how long they take.
//! - Each plugin may always have [`ASSURED`] requests in flight: the requests of others may end late.
//! - A plugin whose request is refused with 429 may have half as many in flight, and one more with each round of
//!   answers (additive increase, multiplicative decrease).

use std::time::Duration;

use tokio::time::Instant;

/// The limit at the start of each period: few enough to see how fast the API server is without them.
const LEAST: f64 = 8.0;
/// The highest limit: about the share of one client in a priority level of a usual API server.
const MOST: f64 = 256.0;
/// The number of requests in flight that a plugin may always have.
const ASSURED: f64 = 2.0;
/// The number of answers that are judged together.
const WINDOW: usize = 16;
/// How long the best answers of a period are compared with: until the end of the next one.
const PERIOD: Duration = Duration::from_secs(60);
/// Answers that take so many times as long as the best ones are slow, if they also take [`NOTICED`] longer.
const SLOW: u32 = 3;
/// A shorter delay is not noticed: timers and schedulers make as much.
const NOTICED: Duration = Duration::from_millis(3);

/// The class of a request: requests of one class take about as long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestClass {
    /// A read of one object.
    Read,
    /// A write.
    Write,
    /// A list, or several requests: how long it takes says nothing.
    Other,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestEnd {
    /// The API server has answered after this time.
    Answered(Duration),
    /// The API server has too many requests of this client (429).
    Refused,
    /// There was no answer, or nobody knows.
    Unknown,
}

/// The seats of all plugins together.
#[derive(Debug)]
pub(super) struct Seats {
    limit: f64,
    taken: u32,
    /// Whether a plugin has waited for a seat in this window.
    is_reached: bool,
    began: Option<Instant>,
    reads: Latencies,
    writes: Latencies,
}

/// The seats of one plugin.
#[derive(Debug)]
pub(super) struct PluginSeats {
    held: u32,
    allowed: f64,
    /// How many of those held were sent before the plugin was refused last.
    before: u32,
}

/// How long answers of one class take.
#[derive(Debug, Default)]
struct Latencies {
    window: Vec<Duration>,
    /// The best of the last period and of this one.
    best: [Option<Duration>; 2],
}

impl Default for Seats {
    fn default() -> Self {
        Self {
            limit: LEAST,
            taken: 0,
            is_reached: false,
            began: None,
            reads: Latencies::default(),
            writes: Latencies::default(),
        }
    }
}

impl Default for PluginSeats {
    fn default() -> Self {
        Self {
            held: 0,
            allowed: MOST,
            before: 0,
        }
    }
}

impl Seats {
    /// Whether a plugin may have one more request in flight.
    pub(super) fn has_room(&self, plugin: &PluginSeats) -> bool {
        let held = f64::from(plugin.held) + 1.0;
        held <= plugin.allowed && (held <= ASSURED || f64::from(self.taken) + 1.0 <= self.limit)
    }

    /// The limit, and how many requests are in flight now. More may be: each plugin has its assured ones.
    pub(super) fn used(&self) -> (f64, u32) {
        (self.limit, self.taken)
    }

    /// A request waits for a seat.
    pub(super) fn reached(&mut self) {
        self.is_reached = true;
    }

    /// A request of the plugin begins.
    pub(super) fn take(&mut self, plugin: &mut PluginSeats) {
        self.taken += 1;
        plugin.held += 1;
    }

    /// A request ends. Its plugin may be gone.
    pub(super) fn leave(
        &mut self,
        now: Instant,
        plugin: Option<&mut PluginSeats>,
        (class, end): (RequestClass, RequestEnd),
    ) {
        self.taken = self.taken.saturating_sub(1);
        if let Some(plugin) = plugin {
            plugin.ends(end);
        }
        if let RequestEnd::Answered(took) = end {
            self.answered(now, class, took);
        }
    }

    fn answered(&mut self, now: Instant, class: RequestClass, took: Duration) {
        let began = *self.began.get_or_insert(now);
        if now.saturating_duration_since(began) >= PERIOD {
            self.began = Some(now);
            self.limit = LEAST;
            self.reads.next_period();
            self.writes.next_period();
        }
        let latencies = match class {
            RequestClass::Read => &mut self.reads,
            RequestClass::Write => &mut self.writes,
            RequestClass::Other => return,
        };
        let Some(is_slow) = latencies.add(took) else {
            return;
        };
        if is_slow {
            self.limit = (self.limit * 0.75).max(LEAST);
        } else if std::mem::take(&mut self.is_reached) {
            self.limit = (self.limit * 1.5).min(MOST);
        }
    }
}

impl PluginSeats {
    fn ends(&mut self, end: RequestEnd) {
        let is_new = self.before == 0;
        self.before = self.before.saturating_sub(1);
        match end {
            // Requests that were sent before the limit shrank say nothing new.
            RequestEnd::Refused if is_new => {
                let sent = self.allowed.min(f64::from(self.held));
                self.allowed = (sent / 2.0).max(1.0);
                self.before = self.held.saturating_sub(1);
            }
            RequestEnd::Answered(_) => {
                self.allowed = (self.allowed + self.allowed.recip()).min(MOST);
            }
            RequestEnd::Refused | RequestEnd::Unknown => {}
        }
        self.held = self.held.saturating_sub(1);
    }
}

impl Latencies {
    /// Adds the time of an answer. At the end of a window, it answers whether the window is slow.
    fn add(&mut self, took: Duration) -> Option<bool> {
        self.window.push(took);
        if self.window.len() < WINDOW {
            return None;
        }
        // The lower quartile: one slow webhook does not make the whole server slow.
        self.window.sort_unstable();
        let typical = *self.window.get(WINDOW / 4)?;
        self.window.clear();
        let [before, now] = &mut self.best;
        *now = Some(now.map_or(typical, |best| best.min(typical)));
        let best = before.iter().chain(now.iter()).min()?;
        Some(typical > *best * SLOW && typical > *best + NOTICED)
    }

    fn next_period(&mut self) {
        let [before, now] = &mut self.best;
        if now.is_some() {
            *before = now.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seams::Clock;

    const READ: RequestClass = RequestClass::Read;

    fn millis(millis: u64) -> RequestEnd {
        RequestEnd::Answered(Duration::from_millis(millis))
    }

    /// How many a plugin has in flight when it sends what it may.
    fn filled(seats: &mut Seats, plugin: &mut PluginSeats) -> u32 {
        while seats.has_room(plugin) {
            seats.take(plugin);
        }
        seats.reached();
        plugin.held
    }

    /// A plugin alone keeps all seats taken. Each request takes `time(in flight)` milliseconds. Answers the limit and
    /// the most that were in flight after `rounds` rounds.
    fn alone(rounds: usize, time: impl Fn(u32) -> u64) -> (f64, u32) {
        let (mut seats, mut plugin) = (Seats::default(), PluginSeats::default());
        let (mut now, mut most) = (Clock::system().now(), 0);
        for _ in 0..rounds {
            let held = filled(&mut seats, &mut plugin);
            most = most.max(held);
            let took = time(held);
            now += Duration::from_millis(took.max(1));
            for _ in 0..held {
                seats.leave(now, Some(&mut plugin), (READ, millis(took)));
            }
        }
        (seats.limit, most)
    }

    #[test]
    fn a_plugin_alone_has_as_many_in_flight_as_the_server_answers_at_once() {
        // A server that answers all at once, and one that answers one after the other (2 ms each).
        assert_eq!(alone(100, |_| 5), (MOST, 256));
        let (_, most) = alone(100, |held| u64::from(held) * 2);
        assert!(
            (24..=61).contains(&most),
            "{most}: thrice what 8 take, and two steps"
        );
        // For hours, it does not take its own delay for the speed of the server.
        let (_, most) = alone(100_000, |held| u64::from(held) * 2);
        assert!(most <= 61, "{most}");
    }

    #[test]
    fn a_server_that_becomes_slow_gets_fewer_and_then_as_many_again() {
        let (mut seats, mut plugin) = (Seats::default(), PluginSeats::default());
        let start = Clock::system().now();
        let mut answer = |seats: &mut Seats, seconds: u64, took: u64| {
            for _ in 0..100 {
                filled(seats, &mut plugin);
                let now = start + Duration::from_secs(seconds);
                seats.leave(now, Some(&mut plugin), (READ, millis(took)));
            }
            seats.limit
        };
        let quick = answer(&mut seats, 0, 5);
        assert!(quick > 60.0, "{quick}");
        assert!(
            answer(&mut seats, 10, 12) > quick,
            "a delay of its own size"
        );
        for second in 11..20 {
            answer(&mut seats, second, 100);
        }
        assert_eq!(seats.limit, LEAST);
        // Two periods later, that is how fast the server is.
        answer(&mut seats, 80, 100);
        answer(&mut seats, 150, 100);
        assert!(answer(&mut seats, 151, 100) > LEAST);
    }

    #[test]
    fn lists_and_lost_answers_do_not_count_and_are_given_back() {
        let (mut seats, mut plugin) = (Seats::default(), PluginSeats::default());
        let now = Clock::system().now();
        for number in 0..1000 {
            filled(&mut seats, &mut plugin);
            let end = [
                (RequestClass::Other, millis(number)),
                (READ, RequestEnd::Unknown),
            ];
            seats.leave(now, Some(&mut plugin), end[usize::from(number % 2 == 0)]);
        }
        assert_eq!((seats.limit, plugin.allowed), (LEAST, MOST));
        // The plugin is gone, and its requests end.
        let held = filled(&mut seats, &mut plugin);
        for _ in 0..held {
            seats.leave(now, None, (READ, RequestEnd::Unknown));
        }
        assert_eq!(seats.taken, 0);
    }

    #[test]
    fn each_plugin_may_have_some_in_flight_whatever_others_do() {
        let mut seats = Seats::default();
        let (mut flood, mut other) = (PluginSeats::default(), PluginSeats::default());
        assert_eq!(filled(&mut seats, &mut flood), 8);
        assert_eq!(filled(&mut seats, &mut other), 2);
    }

    #[test]
    fn a_plugin_that_is_refused_has_half_and_then_one_more_each_round() {
        let (mut seats, mut plugin, mut other) = <(Seats, PluginSeats, PluginSeats)>::default();
        let now = Clock::system().now();
        assert_eq!(filled(&mut seats, &mut plugin), 8);
        for _ in 0..8 {
            seats.leave(now, Some(&mut plugin), (READ, RequestEnd::Refused));
        }
        assert_eq!(filled(&mut seats, &mut plugin), 4, "a burst counts once");
        assert_eq!(filled(&mut seats, &mut other), 4, "nobody else has fewer");
        for _ in 0..4 {
            seats.leave(now, Some(&mut other), (READ, RequestEnd::Unknown));
        }
        let mut rounds = Vec::new();
        for _ in 0..3 {
            let held = filled(&mut seats, &mut plugin);
            for _ in 0..held {
                seats.leave(now, Some(&mut plugin), (READ, millis(1)));
            }
            rounds.push(held);
        }
        assert_eq!(rounds, [4, 4, 5]);
        for _ in 0..10 {
            filled(&mut seats, &mut plugin);
            seats.leave(now, Some(&mut plugin), (READ, RequestEnd::Refused));
            while plugin.held > 0 {
                seats.leave(now, Some(&mut plugin), (READ, RequestEnd::Refused));
            }
        }
        assert_eq!(filled(&mut seats, &mut plugin), 1, "one is always allowed");
    }
}
