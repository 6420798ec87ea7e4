//! How many calls of which plugin are in flight: call slots, shared by weight.
//!
//! - A plugin with nothing in flight gets a slot at once. One is kept free for each such plugin, so that calls that
//!   sleep until their deadline cannot hold them all.
//! - A plugin has a fair share of the slots: by its weight among all plugins that are loaded, and at least one. Up to
//!   its share it need not wait for those beyond theirs. Beyond it, a plugin gets only what no share of another
//!   plugin needs.
//! - At most half of the slots are kept free, so that with hundreds of plugins a busy one still has several. More
//!   plugins than that may have to wait for each other; the one that holds least for its weight is next.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Shares slots. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct CallSlots(Arc<Mutex<SlotsState<oneshot::Sender<CallSlot>>>>);

/// The right to have one call in flight. Dropping it hands it to the next.
#[derive(Debug)]
pub(super) struct CallSlot(Option<(CallSlots, Arc<str>)>);

impl CallSlots {
    /// `count` slots, at least two.
    pub(super) fn new(count: usize) -> Self {
        Self(Arc::new(Mutex::new(SlotsState::new(count.max(2)))))
    }

    /// A version of `plugin` is loaded, whose calls have this weight, and of which at most so many run at once. While
    /// other versions of it are loaded their limits stand.
    pub(super) fn join(&self, plugin: &Arc<str>, weight: u32, most: usize) {
        self.0.lock().join(plugin, weight, most);
    }

    /// From now on calls of `plugin` have this weight, and at most so many run at once.
    pub(super) fn limit(&self, plugin: &Arc<str>, weight: u32, most: usize) {
        self.0.lock().limit(plugin, weight, most);
        self.deal();
    }

    /// The weight of `plugin`, and how many of its calls may run at once.
    #[cfg(test)]
    pub(super) fn limits_of(&self, plugin: &str) -> Option<(u32, usize)> {
        let state = self.0.lock();
        let member = state.members.get(plugin)?;
        Some((u32::try_from(member.weight).ok()?, member.most))
    }

    /// One of its versions is gone. `true` if it was the last.
    pub(super) fn leave(&self, plugin: &str) -> bool {
        let is_gone = self.0.lock().leave(plugin);
        self.deal();
        is_gone
    }

    /// Waits for a slot for a call of `plugin`. Who stops waiting takes nothing.
    pub(super) async fn take(&self, plugin: &Arc<str>) -> CallSlot {
        loop {
            let slot = {
                let mut state = self.0.lock();
                if state.take(plugin) {
                    return CallSlot(Some((self.clone(), plugin.clone())));
                }
                let (sender, slot) = oneshot::channel();
                state.push(plugin, sender);
                slot
            };
            self.deal();
            if let Ok(slot) = slot.await {
                return slot;
            }
        }
    }

    /// Hands out what is free.
    fn deal(&self) {
        loop {
            let next = self.0.lock().next();
            let Some((plugin, waiter)) = next else { return };
            let slot = CallSlot(Some((self.clone(), plugin.clone())));
            // Who does not wait any more gives it back.
            if let Err(mut slot) = waiter.send(slot) {
                slot.0 = None;
                self.0.lock().release(&plugin);
            }
        }
    }
}

impl Drop for CallSlot {
    fn drop(&mut self) {
        if let Some((slots, plugin)) = self.0.take() {
            slots.0.lock().release(&plugin);
            slots.deal();
        }
    }
}

/// Who holds slots, and who waits, as `W`.
#[derive(Debug)]
struct SlotsState<W> {
    size: usize,
    free: usize,
    members: BTreeMap<Arc<str>, Member<W>>,
    waiting: usize,
    arrivals: u64,
}

#[derive(Debug)]
struct Member<W> {
    versions: usize,
    weight: usize,
    most: usize,
    held: usize,
    /// Who of equals comes first.
    since: u64,
    calls: VecDeque<W>,
}

/// How many slots are kept free.
#[derive(Clone, Copy, Debug)]
struct ReservedSlots {
    /// One for each plugin that has nothing in flight.
    idle: usize,
    /// What plugins have not taken of their shares.
    shares: usize,
    /// All weights together.
    weights: usize,
}

impl<W> Member<W> {
    /// How many slots it has by right: its part of `size`, with all weights together being `weights`.
    fn share(&self, size: usize, weights: usize) -> usize {
        (size * self.weight / weights.max(1)).max(1)
    }
}

impl<W> SlotsState<W> {
    fn new(size: usize) -> Self {
        Self {
            size,
            free: size,
            members: BTreeMap::new(),
            waiting: 0,
            arrivals: 0,
        }
    }

    fn join(&mut self, plugin: &Arc<str>, weight: u32, most: usize) {
        let member = self.member(plugin);
        member.versions += 1;
        if member.versions == 1 {
            self.limit(plugin, weight, most);
        }
    }

    fn limit(&mut self, plugin: &Arc<str>, weight: u32, most: usize) {
        let member = self.member(plugin);
        member.weight = usize::try_from(weight).unwrap_or(usize::MAX).max(1);
        member.most = most;
    }

    fn leave(&mut self, plugin: &str) -> bool {
        let Some(member) = self.members.get_mut(plugin) else {
            return true;
        };
        member.versions = member.versions.saturating_sub(1);
        let is_gone = member.versions == 0;
        self.tidy(plugin);
        is_gone
    }

    /// Takes a slot at once, if nobody waits and it may.
    fn take(&mut self, plugin: &Arc<str>) -> bool {
        if self.waiting > 0 || self.free == 0 {
            return false;
        }
        self.member(plugin);
        let may = self
            .members
            .get(plugin)
            .is_some_and(|member| self.may(member, || self.reserved()));
        if may {
            self.hold(plugin);
        }
        may
    }

    fn push(&mut self, plugin: &Arc<str>, waiter: W) {
        self.arrivals += 1;
        self.waiting += 1;
        let arrival = self.arrivals;
        let member = self.member(plugin);
        if member.calls.is_empty() {
            member.since = arrival;
        }
        member.calls.push_back(waiter);
    }

    /// Who gets a slot now: of those who may, the one that holds least for its weight.
    fn next(&mut self) -> Option<(Arc<str>, W)> {
        if self.waiting == 0 || self.free == 0 {
            return None;
        }
        let kept = self.reserved();
        let waiting = self
            .members
            .iter()
            .filter(|(_, member)| !member.calls.is_empty())
            .filter(|(_, member)| self.may(member, || kept));
        let (plugin, _) = waiting.min_by(|(_, one), (_, two)| {
            let held = (one.held * two.weight).cmp(&(two.held * one.weight));
            held.then(one.since.cmp(&two.since))
        })?;
        let plugin = plugin.clone();
        self.arrivals += 1;
        let arrival = self.arrivals;
        let member = self.members.get_mut(&plugin)?;
        member.since = arrival;
        let waiter = member.calls.pop_front()?;
        self.waiting -= 1;
        self.hold(&plugin);
        Some((plugin, waiter))
    }

    /// Whether one more call of `member` may be in flight.
    fn may(&self, member: &Member<W>, kept: impl FnOnce() -> ReservedSlots) -> bool {
        if self.free == 0 || member.held == 0 {
            return self.free > 0;
        }
        // No need to work out what cannot be more.
        let most = self.size / 2;
        self.free > most || {
            let kept = kept();
            let is_beyond = member.held >= member.share(self.size, kept.weights);
            let kept = if is_beyond { kept.shares } else { kept.idle };
            // And one for who is not there yet.
            self.free > (kept + 1).min(most)
        }
    }

    /// What is kept free. Of a plugin that holds a slot, or its share, that is nothing, so all see the same.
    fn reserved(&self) -> ReservedSlots {
        let weights = self.members.values().map(|member| member.weight).sum();
        let right = |member: &Member<W>| member.share(self.size, weights).min(member.most);
        let members = self.members.values();
        let (idle, shares) = members.fold((0, 0), |(idle, shares), member| {
            let missing = right(member).saturating_sub(member.held);
            (idle + usize::from(member.held == 0), shares + missing)
        });
        ReservedSlots {
            idle,
            shares,
            weights,
        }
    }

    fn hold(&mut self, plugin: &str) {
        if let Some(member) = self.members.get_mut(plugin) {
            member.held += 1;
            self.free -= 1;
        }
    }

    fn release(&mut self, plugin: &str) {
        if let Some(member) = self.members.get_mut(plugin)
            && let Some(held) = member.held.checked_sub(1)
        {
            member.held = held;
            self.free += 1;
            self.tidy(plugin);
        }
    }

    fn member(&mut self, plugin: &Arc<str>) -> &mut Member<W> {
        let new = || Member {
            versions: 0,
            weight: 1,
            most: 1,
            held: 0,
            since: 0,
            calls: VecDeque::new(),
        };
        self.members.entry(plugin.clone()).or_insert_with(new)
    }

    /// Forgets a plugin that has nothing left here.
    fn tidy(&mut self, plugin: &str) {
        let is_over = |member: &Member<W>| {
            member.versions == 0 && member.held == 0 && member.calls.is_empty()
        };
        if self.members.get(plugin).is_some_and(is_over) {
            self.members.remove(plugin);
        }
    }
}

#[cfg(test)]
mod tests;
