//! Who compiles next: one component at a time, so that large ones do not take the memory of each other.
//!
//! - A compilation that takes long is no longer waited for: another one begins beside it, up to [`SEATS`].
//! - The next turn is that of the plugin that has wasted the least time, and then of the one that came first.
//! - A compilation that failed for want of memory while others went on is done again when fewer go on.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use windlass_base::seams::{Clock, watch};

/// The most compilations that go on at once.
const SEATS: usize = 4;

/// A compilation that has taken so long holds up no other one. Most take less.
const LONG: Duration = Duration::from_secs(10);

/// How often a compilation that waits looks whether those that go on take long.
const LOOK: Duration = Duration::from_secs(1);

/// How often a component is compiled at most, if others took its memory.
const TRIES: usize = 3;

/// The most plugins whose wasted time is remembered.
const MOST_NAMES: usize = 1000;

/// The turns of a host.
#[derive(Debug)]
pub(crate) struct CompileTurns {
    clock: Clock,
    state: Arc<Mutex<State>>,
    /// Counts the turns that ended.
    ended: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    ongoing: Vec<Ongoing>,
    waiting: Vec<Waiting>,
    /// The time of each plugin's compilations that gave no code, since its last one that did.
    wasted: HashMap<String, Duration>,
}

/// A compilation that goes on.
#[derive(Debug)]
struct Ongoing {
    number: u64,
    began: Instant,
    /// The most others that went on at the same time.
    beside: usize,
}

/// A compilation that waits for its turn.
#[derive(Debug)]
struct Waiting {
    number: u64,
    wasted: Duration,
    /// The turn begins when fewer others than this go on.
    below: usize,
}

/// A turn, until it is dropped.
struct Turn<'a> {
    turns: &'a CompileTurns,
    number: u64,
}

/// A place among those that wait, until it is dropped.
struct Place<'a> {
    turns: &'a CompileTurns,
    number: u64,
}

impl CompileTurns {
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            clock,
            state: Arc::default(),
            ended: watch::Sender::new(0),
        }
    }

    /// Compiles a component of `plugin` by `compile` when it is its turn, and again if `is_starved` says that the result is
    /// for want of memory and others went on meanwhile.
    pub(crate) async fn compile<T, E, F: Future<Output = Result<T, E>>>(
        &self,
        plugin: &str,
        mut compile: impl FnMut() -> F,
        is_starved: impl Fn(&E) -> bool,
    ) -> Result<T, E> {
        let mut below = SEATS;
        let mut tries = 1;
        loop {
            let turn = self.turn(plugin, below).await;
            let result = compile().await;
            let (beside, took) = turn.end();
            match result {
                Err(error) if tries < TRIES && beside > 0 && is_starved(&error) => {
                    below = beside;
                    tries += 1;
                }
                result => {
                    self.state.lock().note(plugin, took, result.is_ok());
                    return result;
                }
            }
        }
    }

    /// Waits until a component of `plugin` may be compiled, beside fewer than `below` others.
    async fn turn(&self, plugin: &str, below: usize) -> Turn<'_> {
        let place = self.place(plugin, below);
        let mut ended = self.ended.subscribe();
        loop {
            let now = self.clock.now();
            if self.state.lock().takes(place.number, now) {
                let number = place.number;
                return Turn {
                    turns: self,
                    number,
                };
            }
            tokio::select! {
                biased;
                _ = ended.changed() => {}
                () = self.clock.sleep(LOOK) => {}
            }
        }
    }

    fn place(&self, plugin: &str, below: usize) -> Place<'_> {
        let mut state = self.state.lock();
        state.next += 1;
        let waiting = Waiting {
            number: state.next,
            wasted: state.wasted.get(plugin).copied().unwrap_or_default(),
            below,
        };
        let number = waiting.number;
        state.waiting.push(waiting);
        Place {
            turns: self,
            number,
        }
    }
}

impl State {
    /// Begins the compilation of this number if it is the next one.
    fn takes(&mut self, number: u64, now: Instant) -> bool {
        let is_held_up = self.ongoing.iter().any(|other| now - other.began < LONG);
        if is_held_up || self.ongoing.len() >= SEATS {
            return false;
        }
        self.waiting
            .sort_by_key(|place| (place.wasted, place.number));
        let others = self.ongoing.len();
        // One that waits for fewer others to go on holds up those that have wasted more.
        let mut first = None;
        for place in &self.waiting {
            if first.is_some_and(|wasted| place.wasted > wasted) {
                return false;
            }
            if others < place.below {
                if place.number != number {
                    return false;
                }
                self.begin(number, now);
                return true;
            }
            first = first.or(Some(place.wasted));
        }
        false
    }

    fn begin(&mut self, number: u64, now: Instant) {
        self.waiting.retain(|place| place.number != number);
        let beside = self.ongoing.len();
        for other in &mut self.ongoing {
            other.beside = other.beside.max(beside);
        }
        self.ongoing.push(Ongoing {
            number,
            began: now,
            beside,
        });
    }

    fn note(&mut self, plugin: &str, took: Duration, has_code: bool) {
        if has_code {
            self.wasted.remove(plugin);
        } else {
            if self.wasted.len() >= MOST_NAMES {
                self.wasted.clear();
            }
            *self.wasted.entry(plugin.to_owned()).or_default() += took;
        }
    }
}

impl Turn<'_> {
    /// The most others that went on meanwhile, and how long the turn was.
    fn end(self) -> (usize, Duration) {
        let now = self.turns.clock.now();
        let state = self.turns.state.lock();
        let mut ongoing = state.ongoing.iter();
        let own = ongoing.find(|own| own.number == self.number);
        own.map_or((0, Duration::ZERO), |own| (own.beside, now - own.began))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.turns.state.lock();
        state.ongoing.retain(|own| own.number != self.number);
        drop(state);
        self.turns.ended.send_modify(|ended| *ended += 1);
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut state = self.turns.state.lock();
        state.waiting.retain(|place| place.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);
    const SECOND: Duration = Duration::from_secs(1);

    /// Turns in virtual time, and what happened: `name` when a compilation begins, `name.` when it ends.
    struct Stage {
        turns: CompileTurns,
        clock: Clock,
        happened: RefCell<Vec<String>>,
    }

    impl Stage {
        fn set() -> Self {
            let clock = Clock::starting_at(jiff::Timestamp::UNIX_EPOCH);
            Self {
                turns: CompileTurns::new(clock),
                clock,
                happened: RefCell::default(),
            }
        }

        fn note(&self, what: String) {
            self.happened.borrow_mut().push(what);
        }

        /// Compiles for `plugin`, which takes `time` and ends with `results`, one after the other.
        async fn compile(
            &self,
            plugin: &str,
            time: Duration,
            results: &[Result<(), &'static str>],
        ) -> Result<(), &'static str> {
            let mut results = results.iter();
            let compile = || {
                let result = *results.next().unwrap();
                async move {
                    self.note(plugin.to_owned());
                    self.clock.sleep(time).await;
                    self.note(format!("{plugin}."));
                    result
                }
            };
            self.turns
                .compile(plugin, compile, |error| *error == "starved")
                .await
        }

        fn happened(&self) -> String {
            self.happened.take().join(" ")
        }
    }

    #[tokio::test(start_paused = true)]
    async fn components_are_compiled_one_after_the_other_in_order() {
        let stage = Stage::set();
        let one = |name| stage.compile(name, SECOND, &[Ok(())]);
        let _ = futures::future::join3(one("a"), one("b"), one("c")).await;
        assert_eq!(stage.happened(), "a a. b b. c c.");
    }

    #[tokio::test(start_paused = true)]
    async fn a_compilation_that_takes_long_holds_up_no_other_one() {
        let stage = Stage::set();
        let bomb = |name| stage.compile(name, MINUTE * 10, &[Err("killed")]);
        let small = stage.compile("small", SECOND, &[Ok(())]);
        let bombs = futures::future::join3(bomb("x"), bomb("y"), bomb("z"));
        let _ = futures::future::join(bombs, small).await;
        assert_eq!(stage.happened(), "x y z small small. x. y. z.");
    }

    #[tokio::test(start_paused = true)]
    async fn a_plugin_that_wasted_time_comes_after_the_others() {
        let stage = Stage::set();
        let _ = stage.compile("bomb", MINUTE, &[Err("killed")]).await;
        stage.happened();
        let again = stage.compile("bomb", SECOND, &[Ok(())]);
        let small = |name| stage.compile(name, SECOND, &[Ok(())]);
        let _ = futures::future::join3(small("a"), again, small("b")).await;
        assert_eq!(stage.happened(), "a a. b b. bomb bomb.");
        assert!(stage.turns.state.lock().wasted.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_others_starved_is_compiled_again_when_fewer_go_on() {
        let stage = Stage::set();
        let bomb = stage.compile("bomb", MINUTE, &[Err("killed")]);
        let starved = stage.compile("starved", SECOND, &[Err("starved"), Ok(())]);
        let (_, result) = futures::future::join(bomb, starved).await;
        assert_eq!(result, Ok(()));
        assert_eq!(
            stage.happened(),
            "bomb starved starved. bomb. starved starved."
        );
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_starved_alone_has_failed() {
        let stage = Stage::set();
        let alone = stage.compile("alone", SECOND, &[Err("starved")]).await;
        assert_eq!(alone, Err("starved"));
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_wait_any_more_holds_up_nobody() {
        let stage = Stage::set();
        let first = stage.turns.turn("first", SEATS).await;
        let mut second = Box::pin(stage.turns.turn("second", SEATS));
        assert!(futures::poll!(&mut second).is_pending());
        drop(second);
        drop(first);
        let _ = stage.compile("third", SECOND, &[Ok(())]).await;
        assert!(stage.turns.state.lock().ongoing.is_empty());
    }
}
