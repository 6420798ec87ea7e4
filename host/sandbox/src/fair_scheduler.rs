//! Whose turn it is to run on a guest thread: as many turns as threads, shared between plugins by weight.
//!
//! - A call holds a turn only while it can run; one that waits for the API server holds none.
//! - Whose slice has ended keeps its turn until it would run again, and then passes it on. As many calls as
//!   there are turns are ready to run, and all others wait here: their threads could not tell plugins apart.
//! - The plugin that has used least CPU time for its weight is next, however many calls each has waiting
//!   ([`FairQueue`]). So who runs for a moment after each answer does not wait for all who compute.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::engine::SLICE;
use windlass_base::flowcontrol::{self, FairQueue};

/// What a turn counts as at least: to hand it over costs something too.
const LEAST: Duration = Duration::from_micros(100);

/// Shares turns. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct FairScheduler(Arc<Mutex<SchedulerState>>);

/// Where the calls of one plugin wait for their turns.
#[derive(Clone, Debug)]
pub(super) struct PluginQueue {
    turns: FairScheduler,
    plugin: Arc<str>,
    weight: u32,
}

#[derive(Debug)]
struct SchedulerState {
    free: usize,
    /// The calls that wait, and their weights. Virtual time is in nanoseconds of CPU time at the usual weight.
    calls: FairQueue<(u32, oneshot::Sender<Turn>)>,
}

/// The right to run. Dropping it hands it to the next.
#[derive(Debug)]
pub(super) struct Turn {
    line: Option<PluginQueue>,
    spent: Duration,
}

impl FairScheduler {
    /// `count` turns.
    pub(super) fn new(count: usize) -> Self {
        let state = SchedulerState {
            free: count.max(1),
            calls: FairQueue::default(),
        };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Where calls of `plugin` wait, of this weight.
    pub(super) fn line(&self, plugin: Arc<str>, weight: u32) -> PluginQueue {
        PluginQueue {
            turns: self.clone(),
            plugin,
            weight,
        }
    }

    /// The plugin is gone: what it has used is forgotten. Its calls that wait go on waiting.
    pub(super) fn forget(&self, plugin: &str) {
        let mut state = self.0.lock();
        if !state.calls.waits(plugin) {
            state.calls.forget(plugin);
        }
    }

    fn hand_on(&self) {
        loop {
            let next = self.0.lock().next();
            let Some((plugin, weight, call)) = next else {
                return;
            };
            let line = self.line(plugin, weight);
            match call.send(Turn::of(line)) {
                Ok(()) => return,
                // It does not wait any more: the turn goes to the one after.
                Err(mut turn) => {
                    if let Some(line) = turn.line.take() {
                        self.0.lock().settle(&line, Duration::ZERO);
                    }
                }
            }
        }
    }
}

impl PluginQueue {
    /// The weight of its calls.
    #[cfg(test)]
    pub(super) fn weight(&self) -> u32 {
        self.weight
    }

    /// Waits for a turn.
    pub(super) async fn take(&self) -> Turn {
        loop {
            let turn = {
                let mut state = self.turns.0.lock();
                if state.free > 0 {
                    state.free -= 1;
                    state.begin(&self.plugin, self.weight);
                    return Turn::of(self.clone());
                }
                state.queue(self)
            };
            if let Ok(turn) = turn.await {
                return turn;
            }
        }
    }

    /// Hands `turn` to the next one, and waits for another one.
    pub(super) async fn pass_on(&self, turn: Turn) -> Turn {
        let place = self.turns.0.lock().queue(self);
        drop(turn);
        match place.await {
            Ok(turn) => turn,
            Err(_) => self.take().await,
        }
    }
}

impl SchedulerState {
    fn queue(&mut self, line: &PluginQueue) -> oneshot::Receiver<Turn> {
        let (sender, receiver) = oneshot::channel();
        let (call, credit) = ((line.weight, sender), cost(SLICE, line.weight));
        self.calls.push(&line.plugin, credit, call);
        receiver
    }

    /// The call that is next, or one more free turn.
    fn next(&mut self) -> Option<(Arc<str>, u32, oneshot::Sender<Turn>)> {
        let Some((plugin, (weight, call))) = self.calls.next(|_| true) else {
            self.free += 1;
            return None;
        };
        self.begin(&plugin, weight);
        Some((plugin, weight, call))
    }

    /// A turn of `plugin` begins. It counts as a whole slice until it is known how long it was. A plugin that has not
    /// run for long may make up for one slice. So one that computes little between two answers comes before those that
    /// always compute.
    fn begin(&mut self, plugin: &Arc<str>, weight: u32) {
        let slice = cost(SLICE, weight);
        self.calls.begin(plugin, slice, slice);
    }

    /// A turn was so long.
    fn settle(&mut self, line: &PluginQueue, spent: Duration) {
        let (slice, spent) = (cost(SLICE, line.weight), cost(spent, line.weight));
        self.calls.settle(&line.plugin, slice, spent);
    }
}

fn cost(spent: Duration, weight: u32) -> u64 {
    let nanos = u64::try_from(spent.as_nanos()).unwrap_or(u64::MAX);
    flowcontrol::cost(nanos, weight)
}

impl Turn {
    fn of(line: PluginQueue) -> Self {
        Self {
            line: Some(line),
            spent: Duration::ZERO,
        }
    }

    /// The call has used so much CPU time in this turn.
    pub(super) fn spend(&mut self, spent: Duration) {
        self.spent = spent;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(line) = self.line.take() {
            line.turns.0.lock().settle(&line, self.spent.max(LEAST));
            line.turns.hand_on();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    /// Who has a turn, one after the other, if each of `calls` (plugin, weight, CPU time of a turn) wants `turns` of
    /// them and there is one at a time.
    fn dealt(calls: &[(&'static str, u32, Duration)], turns: usize) -> Vec<&'static str> {
        let shared = FairScheduler::new(1);
        let lines: Vec<_> = calls
            .iter()
            .map(|(name, weight, _)| shared.line((*name).into(), *weight))
            .collect();
        let mut held = shared
            .line("first".into(), 10)
            .take()
            .now_or_never()
            .unwrap();
        let mut waiting: Vec<_> = lines.iter().map(|line| line.take().boxed()).collect();
        for wait in &mut waiting {
            assert!(wait.now_or_never().is_none());
        }
        let mut order = Vec::new();
        while order.len() < turns {
            drop(held);
            let ready = waiting.iter_mut().enumerate();
            let mut ready = ready.filter_map(|(at, wait)| Some((at, wait.now_or_never()?)));
            let (at, turn) = ready.next().expect("somebody's turn");
            order.push(calls[at].0);
            held = turn;
            held.spend(calls[at].2);
            waiting[at] = lines[at].take().boxed();
            assert!((&mut waiting[at]).now_or_never().is_none());
        }
        order
    }

    #[test]
    fn turns_are_shared_by_weight_and_cpu_time_however_many_calls_each_has() {
        let (long, short) = (SLICE, SLICE / 8);
        type Row<'a> = (
            &'a [(&'static str, u32, Duration)],
            usize,
            &'a [(&'a str, usize)],
        );
        // (calls that wait, turns; how many each plugin has)
        let rows: [Row<'_>; 5] = [
            (
                &[("a", 10, long), ("b", 10, long)],
                100,
                &[("a", 50), ("b", 50)],
            ),
            (
                &[
                    ("a", 10, long),
                    ("a", 10, long),
                    ("a", 10, long),
                    ("b", 10, long),
                ],
                100,
                &[("a", 50), ("b", 50)],
            ),
            (
                &[("a", 10, long), ("b", 30, long)],
                100,
                &[("a", 25), ("b", 75)],
            ),
            // As much time for each: more turns for a plugin that needs less of it.
            (
                &[("a", 10, long), ("b", 10, short)],
                90,
                &[("a", 10), ("b", 80)],
            ),
            (
                &[("a", 1, long), ("b", 100, long)],
                101,
                &[("a", 1), ("b", 100)],
            ),
        ];
        for (calls, turns, want) in rows {
            let order = dealt(calls, turns);
            for (name, want) in want {
                let got = order.iter().filter(|it| *it == name).count();
                assert!(
                    got.abs_diff(*want) <= 2,
                    "{calls:?}: {name} had {got} turns"
                );
            }
        }
    }

    #[tokio::test]
    async fn who_waited_for_an_answer_does_not_wait_for_all_who_compute() {
        let turns = FairScheduler::new(1);
        let mut held = turns.line("spins-0".into(), 10).take().await;
        let lines: Vec<_> = (1..9)
            .map(|number| turns.line(format!("spins-{number}").into(), 10))
            .collect();
        let mut waiting: Vec<_> = lines.iter().map(|line| line.take().boxed()).collect();
        // All have had their slice, and want another.
        for at in 0..8 {
            assert!((&mut waiting[at]).now_or_never().is_none());
            held.spend(SLICE);
            drop(held);
            held = (&mut waiting[at]).now_or_never().unwrap();
            waiting[at] = lines[at].take().boxed();
        }
        for wait in &mut waiting {
            assert!(wait.now_or_never().is_none());
        }
        let line = turns.line("answered".into(), 10);
        for _ in 0..5 {
            let mut back = line.take().boxed();
            assert!((&mut back).now_or_never().is_none());
            held.spend(SLICE);
            drop(held);
            held = back.now_or_never().expect("it is next");
            held.spend(SLICE / 100);
            drop(held);
            let spins = waiting.iter_mut().enumerate();
            let mut spins = spins.filter_map(|(at, wait)| Some((at, wait.now_or_never()?)));
            let (at, turn) = spins.next().expect("somebody's turn");
            held = turn;
            waiting[at] = lines[at].take().boxed();
            assert!((&mut waiting[at]).now_or_never().is_none());
        }
    }

    #[tokio::test]
    async fn a_turn_is_not_lost_with_a_call_that_stopped_waiting() {
        let turns = FairScheduler::new(1);
        let line = |name: &str| turns.line(name.into(), 10);
        let held = line("a").take().await;
        let b = line("b");
        let mut gone = Box::pin(b.take());
        assert!((&mut gone).now_or_never().is_none());
        drop(gone);
        drop(held);
        assert!(line("c").take().now_or_never().is_some());
    }

    #[tokio::test]
    async fn a_turn_that_was_dealt_but_never_taken_up_goes_on() {
        let turns = FairScheduler::new(1);
        let line = |name: &str| turns.line(name.into(), 10);
        let held = line("a").take().await;
        let b = line("b");
        let mut dealt = Box::pin(b.take());
        assert!((&mut dealt).now_or_never().is_none());
        drop(held);
        drop(dealt);
        assert!(line("c").take().now_or_never().is_some());
    }

    #[tokio::test]
    async fn nothing_is_kept_of_plugins_that_are_gone() {
        let turns = FairScheduler::new(1);
        drop(turns.line("a".into(), 10).take().await);
        turns.forget("a");
        assert_eq!(turns.0.lock().calls.remembered(), 0);
    }
}
