//! What one plugin makes the host hold: guest memory, what guests hand over, JSON trees, tracked reads,
//! journals, recordings, and its share of the stores.
//!
//! - What a call wants is refused above the soft limit, and where the host's budget leaves no room.
//! - Memory that nobody asked for, such as the objects of a watch, is always counted. Above the hard
//!   limit the plugin must be stopped: [`Account::exceeded`] says so.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::bounds::{Bounds, VersionBounds};
use super::budget::Budget;
use super::charge::Charge;

/// The account of one plugin. Clones are the same.
#[derive(Clone, Debug)]
pub struct Account(pub(super) Arc<AccountInner>);

/// What clones share.
#[derive(Debug)]
pub(super) struct AccountInner {
    pub(super) budget: Budget,
    limits: Mutex<VersionBounds>,
    /// What `limits` say together.
    pub(super) soft: AtomicUsize,
    hard: AtomicUsize,
    used: Arc<AtomicUsize>,
    /// What of `used` ends with the calls that run.
    pub(super) passing: AtomicUsize,
    refused: AtomicU64,
}

/// Room for a version that is to take over. Dropping it takes the room away.
#[derive(Debug)]
pub struct Room {
    account: Account,
    id: u64,
}

impl Drop for Room {
    fn drop(&mut self) {
        let id = self.id;
        self.account
            .rebound(|limits| limits.coming.retain(|(it, _)| *it != id));
    }
}

/// Why bytes were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exceeded {
    /// The plugin's soft limit, in bytes.
    Plugin(usize),
    /// The host's budget for all plugins, in bytes.
    Host(usize),
}

impl fmt::Display for Exceeded {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plugin(limit) => write!(
                out,
                "the plugin would exceed its limit for memory in the host ({} MiB): do less at once, declare fewer fields, or raise spec.limits.hostMemory",
                limit >> 20
            ),
            Self::Host(limit) => write!(
                out,
                "the host is at its limit for the memory of all plugins ({} MiB): give its container more memory",
                limit >> 20
            ),
        }
    }
}

impl Account {
    /// An account that draws on `budget`.
    pub fn new(budget: Budget, bounds: Bounds) -> Self {
        let used = Arc::default();
        budget.opened(&used);
        Self(Arc::new(AccountInner {
            budget,
            limits: Mutex::new(VersionBounds {
                running: (bounds != Bounds::NONE).then_some(bounds),
                ..VersionBounds::default()
            }),
            soft: AtomicUsize::new(bounds.soft),
            hard: AtomicUsize::new(bounds.hard),
            used,
            passing: AtomicUsize::new(0),
            refused: AtomicU64::new(0),
        }))
    }

    /// An account without limits.
    pub fn unlimited() -> Self {
        Self::new(Budget::new(usize::MAX), Bounds::NONE)
    }

    /// The bytes in use.
    pub fn used(&self) -> usize {
        self.0.used.load(Ordering::Relaxed)
    }

    /// How often something was refused.
    pub fn refused(&self) -> u64 {
        self.0.refused.load(Ordering::Relaxed)
    }

    /// Whether something was refused since [`Account::refused`] was `before`, while others hold something too.
    pub fn was_short_since(&self, before: u64) -> bool {
        self.refused() > before && self.used() > 0
    }

    /// The limits of the version that runs, from now on.
    pub fn bound(&self, bounds: Bounds) {
        self.rebound(|limits| limits.running = Some(bounds));
    }

    /// Makes room for a version that is to take over, until what is returned is dropped: while both are here, each limit
    /// is the sum of theirs.
    pub fn make_room(&self, bounds: Bounds) -> Room {
        let mut id = 0;
        self.rebound(|limits| {
            id = limits.ids;
            limits.ids += 1;
            limits.coming.push((id, bounds));
        });
        let account = self.clone();
        Room { account, id }
    }

    fn rebound(&self, change: impl FnOnce(&mut VersionBounds)) {
        let mut limits = self.0.limits.lock();
        change(&mut limits);
        let Bounds { soft, hard } = limits.bounds();
        self.0.soft.store(soft, Ordering::Relaxed);
        self.0.hard.store(hard, Ordering::Relaxed);
        drop(limits);
        self.look();
    }

    /// Takes `bytes` for a call, until what is returned is dropped.
    ///
    /// # Errors
    /// The limit that does not allow it.
    pub fn take(&self, bytes: usize) -> Result<Charge, Exceeded> {
        let mut charge = self.passing();
        charge.grow(bytes)?;
        Ok(charge)
    }

    /// A charge of nothing yet, for what stays after a call.
    pub fn charge(&self) -> Charge {
        Charge::new(self, false)
    }

    /// A charge of nothing yet, for what ends with a call.
    pub fn passing(&self) -> Charge {
        Charge::new(self, true)
    }

    /// Waits until the hard limit is exceeded; answers what is used then, and the limit.
    pub async fn exceeded(&self) -> (usize, usize) {
        loop {
            let news = self.0.budget.changed();
            let (used, hard) = (self.used(), self.0.hard.load(Ordering::Relaxed));
            let budget = &self.0.budget;
            let greedy =
                budget.is_overdrawn() && used > budget.equal_share() && used >= budget.largest();
            if used > hard {
                return (used, hard);
            }
            if greedy {
                return (used, self.0.budget.equal_share());
            }
            news.await;
        }
    }

    pub(super) fn add(&self, bytes: usize) -> Result<(), Exceeded> {
        let inner = &*self.0;
        let soft = inner.soft.load(Ordering::Relaxed);
        let more = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= soft);
        let before = inner
            .used
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
        let exceeded = match before {
            Ok(before) if inner.budget.take(bytes, before.saturating_add(bytes)) => return Ok(()),
            Ok(_) => {
                inner.used.fetch_sub(bytes, Ordering::AcqRel);
                Exceeded::Host(inner.budget.limit())
            }
            Err(_) => Exceeded::Plugin(soft),
        };
        inner.refused.fetch_add(1, Ordering::Relaxed);
        Err(exceeded)
    }

    pub(super) fn force(&self, bytes: usize) {
        self.0.used.fetch_add(bytes, Ordering::AcqRel);
        self.0.budget.force(bytes);
        self.look();
    }

    pub(super) fn give_back(&self, bytes: usize) {
        self.0.used.fetch_sub(bytes, Ordering::AcqRel);
        self.0.budget.give_back(bytes);
    }

    /// Wakes those who wait for too much: another account may be the one that has it.
    fn look(&self) {
        if self.used() > self.0.hard.load(Ordering::Relaxed) || self.0.budget.is_overdrawn() {
            self.0.budget.notify();
        }
    }
}

impl Drop for AccountInner {
    fn drop(&mut self) {
        self.budget.closed();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    const MIB: usize = 1 << 20;

    fn bounds(soft: usize, hard: usize) -> Bounds {
        Bounds {
            soft: soft * MIB,
            hard: hard * MIB,
        }
    }

    #[test]
    fn a_call_gets_what_the_soft_limit_leaves() {
        let account = Account::new(Budget::new(1000 * MIB), bounds(64, 96));
        let held = account.take(63 * MIB).unwrap();
        assert_eq!(
            account.take(2 * MIB).unwrap_err(),
            Exceeded::Plugin(64 * MIB)
        );
        let rest = account.take(MIB).unwrap();
        assert_eq!((account.used(), account.refused()), (64 * MIB, 1));
        drop((held, rest));
        assert_eq!(account.used(), 0);
        assert!(account.take(64 * MIB).is_ok());
        assert!(account.take(65 * MIB).is_err());
    }

    #[test]
    fn what_is_not_asked_for_is_counted_up_to_the_hard_limit() {
        let budget = Budget::new(1000 * MIB);
        let account = Account::new(budget.clone(), bounds(64, 96));
        let mut stores = account.charge();
        stores.set(95 * MIB);
        assert!(account.exceeded().now_or_never().is_none());
        assert!(account.take(1).is_err(), "above the soft limit");
        let mut exceeded = Box::pin(account.exceeded());
        assert!((&mut exceeded).now_or_never().is_none());
        stores.set(97 * MIB);
        assert_eq!(exceeded.now_or_never(), Some((97 * MIB, 96 * MIB)));
        stores.set(10 * MIB);
        assert_eq!((account.used(), budget.used()), (10 * MIB, 10 * MIB));
        drop(stores);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn one_account_leaves_room_for_others_in_the_budget() {
        let budget = Budget::new(100 * MIB);
        let greedy = Account::new(budget.clone(), bounds(1000, 1000));
        let modest = Account::new(budget.clone(), bounds(1000, 1000));
        let held = greedy.take(75 * MIB).unwrap();
        assert_eq!(greedy.take(1).unwrap_err(), Exceeded::Host(100 * MIB));
        assert_eq!(greedy.used(), 75 * MIB, "what was refused is not counted");
        assert!(modest.take(25 * MIB).is_ok());
        drop(held);
        assert!(modest.take(75 * MIB).is_ok());
    }

    #[test]
    fn who_overdraws_the_budget_is_told_and_its_neighbor_is_not() {
        let budget = Budget::new(100 * MIB);
        let greedy = Account::new(budget.clone(), bounds(1000, 1000));
        let modest = Account::new(budget.clone(), bounds(1000, 1000));
        let _held = modest.take(20 * MIB).unwrap();
        let mut stores = greedy.charge();
        stores.set(81 * MIB);
        assert_eq!(greedy.exceeded().now_or_never(), Some((81 * MIB, 50 * MIB)));
        assert!(modest.exceeded().now_or_never().is_none());
    }

    #[test]
    fn of_several_who_use_more_than_their_share_the_largest_goes_first() {
        let budget = Budget::new(90 * MIB);
        let [large, small, tiny] =
            [(); 3].map(|()| Account::new(budget.clone(), bounds(1000, 1000)));
        let mut stores = [&large, &small, &tiny].map(Account::charge);
        stores[2].set(MIB);
        stores[1].set(40 * MIB);
        stores[0].set(60 * MIB);
        assert!(large.exceeded().now_or_never().is_some());
        let mut next = Box::pin(small.exceeded());
        assert!((&mut next).now_or_never().is_none());
        stores[2].set(60 * MIB);
        stores[0].set(0);
        assert!(tiny.exceeded().now_or_never().is_some());
        stores[1].set(70 * MIB);
        assert_eq!(next.now_or_never(), Some((70 * MIB, 30 * MIB)));
    }

    /// The version that runs keeps its limits until another one takes over, and is not stopped for what that one needs.
    #[test]
    fn a_version_that_is_to_come_has_room_of_its_own() {
        let steps = |account: &Account| {
            let soft = account.0.soft.load(Ordering::Relaxed) / MIB;
            (soft, account.0.hard.load(Ordering::Relaxed) / MIB)
        };
        let account = Account::new(Budget::new(usize::MAX), Bounds::NONE);
        let first = account.make_room(bounds(64, 96));
        assert_eq!(steps(&account), (64, 96), "nothing else is here");
        account.bound(bounds(64, 96));
        drop(first);
        // Both may have full stores.
        let mut stores = account.charge();
        stores.set(90 * MIB);
        let smaller = account.make_room(bounds(32, 48));
        assert_eq!(steps(&account), (96, 144));
        let mut others = account.charge();
        others.set(45 * MIB);
        assert!(account.exceeded().now_or_never().is_none());
        let larger = account.make_room(bounds(128, 192));
        assert_eq!(steps(&account), (224, 336));
        let unlimited = account.make_room(Bounds::NONE);
        assert_eq!(account.0.soft.load(Ordering::Relaxed), usize::MAX);
        drop((larger, unlimited));
        assert_eq!(steps(&account), (96, 144), "they never came");
        drop(others);
        account.bound(bounds(32, 48));
        drop(smaller);
        assert_eq!(
            account.exceeded().now_or_never(),
            Some((90 * MIB, 48 * MIB))
        );
    }

    #[test]
    fn what_others_hold_is_told_from_what_does_not_fit_at_all() {
        let account = Account::new(Budget::new(usize::MAX), bounds(64, 96));
        let before = account.refused();
        assert!(account.take(65 * MIB).is_err());
        assert!(!account.was_short_since(before), "nobody else is there");
        let mut stores = account.charge();
        stores.set(MIB);
        let before = account.refused();
        assert!(account.take(63 * MIB).is_ok());
        assert!(!account.was_short_since(before), "there was room");
        assert!(account.take(64 * MIB).is_err());
        assert!(account.was_short_since(before));
    }
}
