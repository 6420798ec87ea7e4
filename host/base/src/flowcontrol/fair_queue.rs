//! Who is next of those who wait, so that each plugin gets its share by weight: start-time fair queueing.
//!
//! - Each service of a plugin begins, in virtual time, where the one before it ends. The plugin whose service begins
//!   first is next, however many of its calls wait.
//! - What is shared, and when there is some of it, is the caller's business.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::WEIGHT;

/// Those who wait, as `W`.
#[derive(Debug)]
pub struct FairQueue<W> {
    /// The virtual time: the start of the service that began last.
    now: u64,
    flows: BTreeMap<Arc<str>, Flow<W>>,
    waiting: usize,
    arrivals: u64,
}

/// One plugin.
#[derive(Debug)]
struct Flow<W> {
    /// The virtual time at which its next service begins.
    start: u64,
    /// Who of equals comes first.
    since: u64,
    waiters: VecDeque<W>,
}

/// What a service of `amount` takes, in virtual time, at this weight.
pub fn cost(amount: u64, weight: u32) -> u64 {
    amount.saturating_mul(u64::from(WEIGHT)) / u64::from(weight.max(1))
}

/// Nobody waits.
impl<W> Default for FairQueue<W> {
    fn default() -> Self {
        Self {
            now: 0,
            flows: BTreeMap::new(),
            waiting: 0,
            arrivals: 0,
        }
    }
}

impl<W> FairQueue<W> {
    /// Lets `waiter` wait for a service of `plugin`. A plugin that had nothing to wait for may make up for `credit`.
    pub fn push(&mut self, plugin: &Arc<str>, credit: u64, waiter: W) {
        self.arrivals += 1;
        self.waiting += 1;
        let (arrival, earliest) = (self.arrivals, self.now.saturating_sub(credit));
        let flow = self.flow(plugin);
        if flow.waiters.is_empty() {
            flow.since = arrival;
            flow.start = flow.start.max(earliest);
        }
        flow.waiters.push_back(waiter);
    }

    /// Takes out the next waiter of the plugins that are ready, and names its plugin.
    pub fn next(&mut self, mut is_ready: impl FnMut(&str) -> bool) -> Option<(Arc<str>, W)> {
        let waiting = self.flows.iter_mut();
        let ready =
            waiting.filter(|(plugin, flow)| !flow.waiters.is_empty() && is_ready(plugin.as_ref()));
        let (plugin, flow) = ready.min_by_key(|(_, flow)| (flow.start, flow.since))?;
        let waiter = flow.waiters.pop_front()?;
        self.arrivals += 1;
        self.waiting -= 1;
        flow.since = self.arrivals;
        Some((plugin.clone(), waiter))
    }

    /// A service of `plugin` begins, and takes `cost`. A plugin that had none for long may make up for `credit`.
    pub fn begin(&mut self, plugin: &Arc<str>, cost: u64, credit: u64) {
        let earliest = self.now.saturating_sub(credit);
        let flow = self.flow(plugin);
        let start = flow.start.max(earliest);
        flow.start = start.saturating_add(cost);
        self.now = self.now.max(start);
    }

    /// A service of `plugin` that was to take `expected` took `cost`.
    pub fn settle(&mut self, plugin: &str, expected: u64, cost: u64) {
        if let Some(flow) = self.flows.get_mut(plugin) {
            let before = flow.start.saturating_sub(expected);
            flow.start = before.saturating_add(cost);
        }
    }

    /// How many wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// How many wait for a service of `plugin`.
    pub(crate) fn waiting_for(&self, plugin: &str) -> usize {
        self.flows.get(plugin).map_or(0, |flow| flow.waiters.len())
    }

    /// Whether somebody waits for a service of `plugin`.
    pub fn waits(&self, plugin: &str) -> bool {
        self.waiting_for(plugin) > 0
    }

    /// The plugin is gone. Its waiters are dropped.
    pub fn forget(&mut self, plugin: &str) {
        let gone = self.flows.remove(plugin);
        self.waiting -= gone.map_or(0, |gone| gone.waiters.len());
    }

    fn flow(&mut self, plugin: &Arc<str>) -> &mut Flow<W> {
        let new = || Flow {
            start: 0,
            since: 0,
            waiters: VecDeque::new(),
        };
        self.flows.entry(plugin.clone()).or_insert_with(new)
    }

    /// How many plugins are remembered.
    #[cfg(any(test, feature = "testing"))]
    pub fn remembered(&self) -> usize {
        self.flows.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who is served, one after the other, of plugins that always have so many calls that wait: (weight, what a service
    /// takes, calls).
    fn served(plugins: &[(u32, u64, usize)], services: usize) -> Vec<usize> {
        let mut queue = FairQueue::default();
        let names = ["a", "b", "c"].map(Arc::<str>::from);
        for (number, (_, _, calls)) in plugins.iter().enumerate() {
            for _ in 0..*calls {
                queue.push(&names[number], 0, number);
            }
        }
        let mut counts = vec![0; plugins.len()];
        for _ in 0..services {
            let (plugin, number) = queue.next(|_| true).unwrap();
            let (weight, takes, _) = plugins[number];
            // It is known only afterwards how much a service took.
            let expected = cost(100, weight);
            queue.begin(&plugin, expected, 0);
            queue.settle(&plugin, expected, cost(takes, weight));
            queue.push(&plugin, 0, number);
            counts[number] += 1;
        }
        assert_eq!(
            queue.waiting(),
            plugins.iter().map(|(.., calls)| calls).sum::<usize>()
        );
        counts
    }

    #[test]
    fn services_are_shared_by_weight_and_by_what_they_take() {
        // (weight, what a service takes, calls that wait), services; how many each plugin has
        type Row<'a> = (&'a [(u32, u64, usize)], usize, &'a [usize]);
        let rows: [Row<'_>; 4] = [
            (&[(10, 100, 1), (10, 100, 32)], 100, &[50, 50]),
            (&[(10, 100, 1), (30, 100, 1)], 100, &[25, 75]),
            (&[(10, 100, 1), (10, 25, 1)], 100, &[20, 80]),
            (&[(1, 100, 1), (1, 100, 8), (2, 100, 1)], 100, &[25, 25, 50]),
        ];
        for (plugins, services, want) in rows {
            let got = served(plugins, services);
            for (got, want) in got.iter().zip(want) {
                assert!(got.abs_diff(*want) <= 1, "{got} of {want} for {plugins:?}");
            }
        }
    }

    #[test]
    fn who_was_away_may_make_up_for_its_credit_and_no_more() {
        // (credit; how many services of 100 the late one has before the busy one has its next)
        for (credit, want) in [(0, 1), (250, 4)] {
            let mut queue = FairQueue::default();
            let (busy, late) = (Arc::from("busy"), Arc::from("late"));
            for _ in 0..10 {
                queue.begin(&busy, 100, 0);
            }
            // The last service of the busy one began at 900: its next one begins at 1000.
            queue.push(&busy, 0, "busy");
            let mut before = 0;
            loop {
                queue.push(&late, credit, "late");
                let (plugin, who) = queue.next(|_| true).unwrap();
                if who == "busy" {
                    break;
                }
                queue.begin(&plugin, 100, credit);
                before += 1;
            }
            assert_eq!(before, want, "{credit}");
        }
    }

    #[test]
    fn who_is_not_ready_is_passed_over_and_who_is_gone_leaves_nothing() {
        let mut queue = FairQueue::default();
        let (a, b) = (Arc::from("a"), Arc::from("b"));
        queue.push(&a, 0, 1);
        queue.push(&b, 0, 2);
        assert_eq!(queue.next(|plugin| plugin == "b"), Some((b, 2)));
        assert_eq!(queue.next(|plugin| plugin == "b"), None);
        assert!(queue.waits("a") && !queue.waits("b"));
        queue.forget("a");
        queue.forget("b");
        assert_eq!((queue.waiting(), queue.remembered()), (0, 0));
    }
}
