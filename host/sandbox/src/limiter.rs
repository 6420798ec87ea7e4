//! Guest memory: one sum over all memories and tables of a call, which counts on the plugin's account.
//!
//! - wasmtime's own limiter counts each memory by itself, and a component has many.
//! - What would exceed either bound is denied (the guest sees -1), never an OOM kill.

use wasmtime::ResourceLimiter;

use windlass_base::memory::{Account, Charge, Exceeded};

/// The bytes that one table element takes in the host, at most.
const ELEMENT: usize = 16;

/// The memory of one call.
#[derive(Debug)]
pub(super) struct Limiter {
    charge: Charge,
    limit: usize,
    denied: Option<Denied>,
}

/// Why a growth was denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Denied {
    /// The limit of one call.
    Call,
    /// The plugin's account, or the host's budget.
    Account(Exceeded),
}

impl Limiter {
    /// At most `limit` bytes, on `account`.
    pub(super) fn new(limit: usize, account: &Account) -> Self {
        Self {
            charge: account.passing(),
            limit,
            denied: None,
        }
    }

    /// The bytes in use. Memories do not shrink, so this is the peak too.
    pub(super) fn used(&self) -> usize {
        self.charge.bytes()
    }

    /// Whether a growth was denied, and why the last one was.
    pub(super) fn denied(&self) -> Option<Denied> {
        self.denied
    }

    fn grow(&mut self, bytes: usize) -> bool {
        let denied = if self.used().saturating_add(bytes) > self.limit {
            Denied::Call
        } else if let Err(exceeded) = self.charge.grow(bytes) {
            Denied::Account(exceeded)
        } else {
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

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_base::memory::{Bounds, Budget};

    #[test]
    fn all_memories_and_tables_count_together() {
        let mut limiter = Limiter::new(1000, &Account::unlimited());
        assert!(limiter.memory_growing(0, 400, None).unwrap());
        assert!(
            limiter.memory_growing(0, 400, None).unwrap(),
            "a second memory"
        );
        assert!(limiter.table_growing(0, 10, None).unwrap());
        assert!(!limiter.memory_growing(400, 500, None).unwrap());
        assert_eq!(
            (limiter.used(), limiter.denied()),
            (960, Some(Denied::Call))
        );
    }

    #[test]
    fn calls_share_an_account_and_give_it_back() {
        let budget = Budget::new(usize::MAX);
        let bounds = Bounds {
            soft: 1000,
            hard: 1000,
        };
        let account = Account::new(budget.clone(), bounds);
        let mut one = Limiter::new(1000, &account);
        let mut other = Limiter::new(1000, &account);
        assert!(one.memory_growing(0, 700, None).unwrap());
        assert!(!other.memory_growing(0, 700, None).unwrap());
        let denied = Denied::Account(Exceeded::Plugin(1000));
        assert_eq!(other.denied(), Some(denied));
        drop(one);
        assert!(other.memory_growing(0, 700, None).unwrap());
        drop(other);
        assert_eq!((account.used(), budget.used()), (0, 0));
    }
}
