//! The memory that all plugins of a host may use together.
//!
//! - The last quarter is for plugins that use less than an equal share: a plugin that fills its account
//!   leaves room for its neighbors.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// A process-wide number of bytes. Clones share it.
#[derive(Clone, Debug)]
pub struct Budget(Arc<BudgetInner>);

#[derive(Debug)]
struct BudgetInner {
    limit: usize,
    used: AtomicUsize,
    /// How many accounts draw on it, and what each uses.
    accounts: AtomicUsize,
    open: Mutex<Vec<Weak<AtomicUsize>>>,
    /// Rings when an account may use too much.
    news: Notify,
}

impl Budget {
    /// At most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self(Arc::new(BudgetInner {
            limit,
            used: AtomicUsize::new(0),
            accounts: AtomicUsize::new(0),
            open: Mutex::default(),
            news: Notify::new(),
        }))
    }

    /// The bytes in use.
    pub fn used(&self) -> usize {
        self.0.used.load(Ordering::Relaxed)
    }

    /// The bytes that there are.
    pub fn limit(&self) -> usize {
        self.0.limit
    }

    /// Whether more is in use than there is: the API server's objects come without being asked for.
    pub fn is_overdrawn(&self) -> bool {
        self.used() > self.0.limit
    }

    /// The bytes that each account could have if all had the same.
    pub fn equal_share(&self) -> usize {
        self.0.limit / self.0.accounts.load(Ordering::Relaxed).max(1)
    }

    /// Takes `bytes` for an account that will then use `total`; `false` if that leaves too little.
    pub(super) fn take(&self, bytes: usize, total: usize) -> bool {
        let room = room(self.0.limit, self.equal_share(), total);
        let more = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= room);
        let used = &self.0.used;
        used.fetch_update(Ordering::AcqRel, Ordering::Acquire, more)
            .is_ok()
    }

    /// Takes `bytes`, whatever is left.
    pub(super) fn force(&self, bytes: usize) {
        self.0.used.fetch_add(bytes, Ordering::AcqRel);
    }

    pub(super) fn give_back(&self, bytes: usize) {
        self.0.used.fetch_sub(bytes, Ordering::AcqRel);
        // Another account may be the largest now.
        if self.is_overdrawn() {
            self.notify();
        }
    }

    /// What the largest account uses.
    pub(super) fn largest(&self) -> usize {
        let open = self.0.open.lock();
        let used = open.iter().filter_map(Weak::upgrade);
        used.map(|used| used.load(Ordering::Relaxed))
            .max()
            .unwrap_or(0)
    }

    /// Waits until an account may use too much, from now on.
    pub(super) fn changed(&self) -> Notified<'_> {
        self.0.news.notified()
    }

    pub(super) fn notify(&self) {
        self.0.news.notify_waiters();
    }

    pub(super) fn opened(&self, used: &Arc<AtomicUsize>) {
        self.0.accounts.fetch_add(1, Ordering::Relaxed);
        self.0.open.lock().push(Arc::downgrade(used));
    }

    /// An account is gone: its last owner is being dropped.
    pub(super) fn closed(&self) {
        self.0.accounts.fetch_sub(1, Ordering::Relaxed);
        self.0.open.lock().retain(|used| used.strong_count() > 0);
    }
}

/// How much all accounts together may use for one of them to grow to `total` bytes.
fn room(limit: usize, equal_share: usize, total: usize) -> usize {
    if total <= equal_share {
        limit
    } else {
        limit - limit / 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_quarter_is_for_accounts_below_an_equal_share() {
        let rows = [
            (1000, 500, 500, 1000),
            (1000, 500, 501, 750),
            (usize::MAX, usize::MAX, 1, usize::MAX),
        ];
        for (limit, share, total, want) in rows {
            assert_eq!(room(limit, share, total), want, "{limit} {share} {total}");
        }
    }
}
