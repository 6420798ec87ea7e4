//! What a plugin did in the last ten minutes, in steps of five seconds: enough for a line of little bars.

use std::collections::VecDeque;
use std::time::Duration;

/// How long a step is.
pub const STEP: Duration = Duration::from_secs(5);
/// So many steps are kept.
const STEPS: usize = 120;

/// What a plugin did in one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// Passes that ended.
    pub passes: u32,
    /// Fields that became hot.
    pub hot_loops: u32,
    /// How long requests to the API server waited for their turn, together.
    pub throttled_ms: u32,
    /// Log lines that were dropped.
    pub log_lines: u32,
    /// Events that were dropped.
    pub events: u32,
}

/// The same, so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub(super) passes: u64,
    pub(super) hot_loops: u64,
    pub(super) throttled_ms: u64,
    pub(super) log_lines: u64,
    pub(super) events: u64,
}

/// The steps, the oldest first.
#[derive(Debug, Default)]
pub(super) struct History {
    steps: VecDeque<Interval>,
    before: Totals,
}

impl History {
    /// A step is over; so many there were in all by then.
    pub(super) fn ends(&mut self, now: Totals) {
        let before = std::mem::replace(&mut self.before, now);
        let since = |so_far: fn(&Totals) -> u64| {
            u32::try_from(so_far(&now).saturating_sub(so_far(&before))).unwrap_or(u32::MAX)
        };
        self.steps.push_back(Interval {
            passes: since(|it| it.passes),
            hot_loops: since(|it| it.hot_loops),
            throttled_ms: since(|it| it.throttled_ms),
            log_lines: since(|it| it.log_lines),
            events: since(|it| it.events),
        });
        if self.steps.len() > STEPS {
            self.steps.pop_front();
        }
    }

    /// Those that are kept.
    pub(super) fn steps(&self) -> Vec<Interval> {
        self.steps.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_has_its_own_and_ten_minutes_are_kept() {
        let mut history = History::default();
        let totals = |passes, hot_loops| Totals {
            passes,
            hot_loops,
            ..Totals::default()
        };
        for (passes, hot_loops) in [(3, 0), (3, 1), (10, 1)] {
            history.ends(totals(passes, hot_loops));
        }
        let told = |history: &History| {
            let steps = history.steps().into_iter();
            steps
                .map(|step| (step.passes, step.hot_loops))
                .collect::<Vec<_>>()
        };
        assert_eq!(told(&history), [(3, 0), (0, 1), (7, 0)]);
        for more in 0..200 {
            history.ends(totals(10 + more, 1));
        }
        assert_eq!(told(&history).len(), 120);
        assert_eq!(STEP * 120, Duration::from_secs(600));
    }
}
