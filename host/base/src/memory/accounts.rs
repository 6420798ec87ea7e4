//! The accounts of a host's plugins.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::account::{Account, AccountInner};
use super::bounds::Bounds;
use super::budget::Budget;

/// The accounts of a host's plugins, by name: all versions of a plugin share one. Clones are the same.
#[derive(Clone, Debug)]
pub struct Accounts {
    budget: Budget,
    open: Arc<Mutex<BTreeMap<Arc<str>, Weak<AccountInner>>>>,
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
        let mut open = self.open.lock();
        if let Some(account) = open.get(plugin).and_then(Weak::upgrade) {
            return Account(account);
        }
        open.retain(|_, account| account.strong_count() > 0);
        let account = Account::new(self.budget.clone(), Bounds::NONE);
        open.insert(plugin.into(), Arc::downgrade(&account.0));
        account
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn bounds(soft: usize, hard: usize) -> Bounds {
        Bounds {
            soft: soft * MIB,
            hard: hard * MIB,
        }
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
