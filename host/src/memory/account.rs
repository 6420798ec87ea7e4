//! What one plugin makes the host hold: guest memory, what guests hand over, JSON trees, tracked reads,
//! journals, recordings, and its share of the stores.
//!
//! - What a call wants is refused above the soft limit, and where the host's budget leaves no room.
//! - What comes without being asked for, such as the objects of a watch, is always counted. Above the hard
//!   limit the plugin must be stopped: [`Account::exceeded`] says so.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::budget::Budget;

/// The limits of one account, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Above it, what calls want is refused.
    pub soft: usize,
    /// Above it, the plugin is stopped.
    pub hard: usize,
}

impl Bounds {
    /// No limits.
    pub const NONE: Self = Self {
        soft: usize::MAX,
        hard: usize::MAX,
    };
}

/// The account of one plugin. Clones are the same.
#[derive(Clone, Debug)]
pub struct Account(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    budget: Budget,
    soft: AtomicUsize,
    hard: AtomicUsize,
    used: Arc<AtomicUsize>,
    refused: AtomicU64,
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
        Self(Arc::new(Inner {
            budget,
            soft: AtomicUsize::new(bounds.soft),
            hard: AtomicUsize::new(bounds.hard),
            used,
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

    /// Other limits from now on.
    pub fn bound(&self, bounds: Bounds) {
        self.0.soft.store(bounds.soft, Ordering::Relaxed);
        self.0.hard.store(bounds.hard, Ordering::Relaxed);
        self.look();
    }

    /// Takes `bytes`, until what is returned is dropped.
    ///
    /// # Errors
    /// The limit that does not allow it.
    pub fn take(&self, bytes: usize) -> Result<Charge, Exceeded> {
        let mut charge = self.charge();
        charge.grow(bytes)?;
        Ok(charge)
    }

    /// A charge of nothing yet.
    pub fn charge(&self) -> Charge {
        Charge {
            account: self.clone(),
            bytes: 0,
        }
    }

    /// Waits until the hard limit is exceeded; answers what is used then, and the limit.
    pub async fn exceeded(&self) -> (usize, usize) {
        loop {
            let news = self.0.budget.news();
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

    fn add(&self, bytes: usize) -> Result<(), Exceeded> {
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

    fn force(&self, bytes: usize) {
        self.0.used.fetch_add(bytes, Ordering::AcqRel);
        self.0.budget.force(bytes);
        self.look();
    }

    fn give_back(&self, bytes: usize) {
        self.0.used.fetch_sub(bytes, Ordering::AcqRel);
        self.0.budget.give_back(bytes);
    }

    /// Wakes those who wait for too much: another account may be the one that has it.
    fn look(&self) {
        if self.used() > self.0.hard.load(Ordering::Relaxed) || self.0.budget.is_overdrawn() {
            self.0.budget.tell();
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.budget.closed();
    }
}

/// Bytes of an account. Dropping it gives them back.
#[derive(Debug)]
pub struct Charge {
    account: Account,
    bytes: usize,
}

impl Charge {
    /// The bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// So many more.
    ///
    /// # Errors
    /// The limit that does not allow it. Nothing has changed then.
    pub fn grow(&mut self, bytes: usize) -> Result<(), Exceeded> {
        self.account.add(bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    /// It is so many bytes now, whatever the limits.
    pub fn set(&mut self, bytes: usize) {
        match bytes.checked_sub(self.bytes) {
            Some(more) if more > 0 => self.account.force(more),
            Some(_) => {}
            None => self.account.give_back(self.bytes - bytes),
        }
        self.bytes = bytes;
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.account.give_back(self.bytes);
    }
}

/// The accounts of a host's plugins, by name: all versions of a plugin share one. Clones are the same.
#[derive(Clone, Debug)]
pub struct Accounts {
    budget: Budget,
    open: Arc<Mutex<BTreeMap<Arc<str>, Weak<Inner>>>>,
}

impl Accounts {
    /// Accounts that draw on `budget`.
    pub fn new(budget: Budget) -> Self {
        Self {
            budget,
            open: Arc::default(),
        }
    }

    /// What they draw on.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// The account of `plugin`; a new one without limits if it has none.
    pub fn of(&self, plugin: &str) -> Account {
        let mut open = self.open();
        if let Some(account) = open.get(plugin).and_then(Weak::upgrade) {
            return Account(account);
        }
        open.retain(|_, account| account.strong_count() > 0);
        let account = Account::new(self.budget.clone(), Bounds::NONE);
        open.insert(plugin.into(), Arc::downgrade(&account.0));
        account
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Weak<Inner>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
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

    #[test]
    fn versions_of_a_plugin_share_an_account_and_the_newest_limits_count() {
        let accounts = Accounts::new(Budget::new(usize::MAX));
        let one = accounts.of("p");
        one.bound(bounds(64, 96));
        let held = one.take(64 * MIB).unwrap();
        assert!(one.take(MIB).is_err());
        let two = accounts.of("p");
        two.bound(bounds(65, 96));
        assert!(two.take(MIB).is_ok() && one.take(MIB).is_ok());
        drop((one, two, held));
        assert_eq!((accounts.of("p").used(), accounts.budget().used()), (0, 0));
    }
}
