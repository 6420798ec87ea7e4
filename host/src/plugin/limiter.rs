//! Memory: one sum over all memories and tables of a call, and one budget for the whole process.
//!
//! - wasmtime's own limiter counts each memory by itself, and a component has many.
//! - What would exceed either bound is denied (the guest sees -1), never an OOM kill.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use wasmtime::ResourceLimiter;

/// The bytes that one table element takes in the host, at most.
const ELEMENT: usize = 16;

/// Memory for all guests together. Clones share it.
#[derive(Clone, Debug)]
pub struct Budget(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    limit: usize,
    used: AtomicUsize,
}

impl Budget {
    /// At most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self(Arc::new(Inner {
            limit,
            used: AtomicUsize::new(0),
        }))
    }

    /// The bytes in use.
    pub fn used(&self) -> usize {
        self.0.used.load(Ordering::Relaxed)
    }

    fn take(&self, bytes: usize) -> bool {
        let more = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= self.0.limit);
        self.0
            .used
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, more)
            .is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.0.used.fetch_sub(bytes, Ordering::AcqRel);
    }
}

/// The memory of one call.
#[derive(Debug)]
pub(super) struct Limiter {
    budget: Budget,
    limit: usize,
    used: usize,
    denied: Option<Denied>,
}

/// Why a growth was denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Denied {
    /// The plugin's own limit.
    Plugin,
    /// The host's budget for all plugins.
    Host,
}

impl Limiter {
    /// At most `limit` bytes, out of `budget`.
    pub(super) fn new(limit: usize, budget: Budget) -> Self {
        Self {
            budget,
            limit,
            used: 0,
            denied: None,
        }
    }

    /// The bytes in use. Memories do not shrink, so this is the peak too.
    pub(super) fn used(&self) -> usize {
        self.used
    }

    /// Whether a growth was denied, and why the last one was.
    pub(super) fn denied(&self) -> Option<Denied> {
        self.denied
    }

    fn grow(&mut self, bytes: usize) -> bool {
        let denied = if self.used.saturating_add(bytes) > self.limit {
            Denied::Plugin
        } else if !self.budget.take(bytes) {
            Denied::Host
        } else {
            self.used += bytes;
            return true;
        };
        self.denied = Some(denied);
        false
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(self.grow(desired.saturating_sub(current)))
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(self.grow(desired.saturating_sub(current).saturating_mul(ELEMENT)))
    }
}

impl Drop for Limiter {
    fn drop(&mut self) {
        self.budget.give_back(self.used);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_memories_and_tables_count_together() {
        let mut limiter = Limiter::new(1000, Budget::new(usize::MAX));
        assert!(limiter.memory_growing(0, 400, None).unwrap());
        assert!(
            limiter.memory_growing(0, 400, None).unwrap(),
            "a second memory"
        );
        assert!(limiter.table_growing(0, 10, None).unwrap());
        assert!(!limiter.memory_growing(400, 500, None).unwrap());
        assert_eq!(
            (limiter.used(), limiter.denied()),
            (960, Some(Denied::Plugin))
        );
    }

    #[test]
    fn calls_share_the_budget_and_give_it_back() {
        let budget = Budget::new(1000);
        let mut one = Limiter::new(1000, budget.clone());
        let mut other = Limiter::new(1000, budget.clone());
        assert!(one.memory_growing(0, 700, None).unwrap());
        assert!(!other.memory_growing(0, 700, None).unwrap());
        assert_eq!(other.denied(), Some(Denied::Host));
        drop(one);
        assert!(other.memory_growing(0, 700, None).unwrap());
        drop(other);
        assert_eq!(budget.used(), 0);
    }
}
