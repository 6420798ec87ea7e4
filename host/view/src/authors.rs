//! Which keys have written parts of objects that they do not own: somebody else's change of such a part runs the key.
//!
//! - managedFields say who wrote what, so a key is remembered by its field manager, once for all objects that it
//!   writes. What the other managers write does not concern it.
//! - What a primary owns has the plugin's own manager, and concerns its owners.
//! - A part concerns its author whether or not the plugin declared that it reads those fields.
//! - Of its primary itself a plugin says what is not news, with its trigger and the fields that it reads. That holds
//!   for what it wrote there too, such as a status: the contract says so.
//! - What is kept counts on the plugin's account.

use std::collections::{BTreeSet, HashMap};

use super::View;
use windlass_base::bugs::bug;
use windlass_base::memory::{Account, Charge, Exceeded};
use windlass_kube::informer::Change;
use windlass_kube::object::owned::{Tag, changed, managers};
use windlass_kube::object::{Key, Object};

/// What it takes to remember one author, in bytes, beside its name.
const REMEMBERED: usize = 200;

/// The keys of one plugin that have a field manager of their own.
#[derive(Debug)]
pub(super) struct Authors {
    keys: HashMap<Tag, Key>,
    managers: HashMap<Key, Tag>,
    charge: Charge,
}

impl Authors {
    /// None yet. They count on `account`.
    pub(super) fn on(account: &Account) -> Self {
        Self {
            keys: HashMap::new(),
            managers: HashMap::new(),
            charge: account.charge(),
        }
    }

    /// The key `by` writes as `manager`. An earlier object of the same name wrote as another one, which counts no more.
    fn insert(&mut self, by: &Key, manager: Tag) -> Result<(), Exceeded> {
        if self.managers.get(by) == Some(&manager) {
            return Ok(());
        }
        self.forget(by);
        self.charge.grow(bytes(by))?;
        self.managers.insert(by.clone(), manager);
        self.keys.insert(manager, by.clone());
        Ok(())
    }

    fn forget(&mut self, by: &Key) {
        let Some((by, manager)) = self.managers.remove_entry(by) else {
            return;
        };
        if self.keys.get(&manager) == Some(&by) {
            self.keys.remove(&manager);
        }
        let left = self.charge.bytes().saturating_sub(bytes(&by));
        self.charge.set(left);
    }
}

fn bytes(key: &Key) -> usize {
    let namespace = key.namespace.as_ref().map_or(0, |text| text.len());
    REMEMBERED + 2 * (namespace + key.name.len())
}

impl View {
    /// The key `by` is about to write as `manager`: it runs again when somebody else changes what it wrote.
    ///
    /// # Errors
    /// The plugin's account has no room for it: the run must not write.
    pub fn writes_as(&self, by: &Key, manager: &str) -> Result<(), Exceeded> {
        if manager == self.watch_spec.manager {
            return Ok(());
        }
        self.authors.lock().insert(by, Tag::of_manager(manager))
    }

    /// The primary `by` is gone.
    pub(super) fn forget_author(&self, by: &Key) {
        self.authors.lock().forget(by);
    }

    /// The keys whose part of an object `change` has changed, or has taken away with the object.
    pub(super) fn authors_of(&self, change: &Change) -> BTreeSet<Key> {
        let (old, new) = (change.old.as_ref(), change.new.as_ref());
        let concerned = match (old, new) {
            (Some(old), Some(new)) if old.metadata.uid == new.metadata.uid => {
                changed(old.owned(), new.owned())
            }
            (old, new) => {
                let sides = [old, new].into_iter().flatten();
                sides.flat_map(|object| managers(object.owned())).collect()
            }
        };
        let before = bug!(OldOwnersAreNotWoken, old, old.filter(|_| new.is_none()));
        let sides = [before, new].into_iter().flatten();
        self.authors_by(&concerned, sides)
    }

    /// The keys that have written a part of `object`.
    pub(super) fn authors_in(&self, object: &Object) -> BTreeSet<Key> {
        let all = managers(object.owned()).collect();
        self.authors_by(&all, [object].into_iter())
    }

    fn authors_by<'a>(
        &self,
        managers: &BTreeSet<Tag>,
        objects: impl Iterator<Item = &'a Object>,
    ) -> BTreeSet<Key> {
        if managers.is_empty() {
            return BTreeSet::new();
        }
        let mut keys: BTreeSet<Key> = {
            let authors = self.authors.lock();
            let found = managers.iter().filter_map(|tag| authors.keys.get(tag));
            found.cloned().collect()
        };
        if managers.contains(&Tag::of_manager(&self.watch_spec.manager)) {
            keys.extend(objects.flat_map(|object| self.wakes.owners(&object.metadata)));
        }
        keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_base::memory::{Bounds, Budget};

    fn key(name: &str) -> Key {
        Key::new(Some("home"), name)
    }

    #[test]
    fn an_author_counts_on_the_account_once_and_until_its_object_is_gone() {
        let account = Account::unlimited();
        let mut authors = Authors::on(&account);
        let [first, second] = ["windlass/p/1", "windlass/p/2"].map(Tag::of_manager);
        authors.insert(&key("a"), first).unwrap();
        let used = account.used();
        assert!(used > 0);
        authors.insert(&key("a"), first).unwrap();
        assert_eq!(account.used(), used, "it was known already");
        authors.insert(&key("a"), second).unwrap();
        assert_eq!(account.used(), used, "another object has the name now");
        assert_eq!(authors.keys.get(&first), None);
        assert_eq!(authors.keys.get(&second), Some(&key("a")));
        authors.forget(&key("b"));
        authors.forget(&key("a"));
        assert!(authors.keys.is_empty() && authors.managers.is_empty());
        assert_eq!(account.used(), 0);
    }

    #[test]
    fn an_author_is_refused_where_there_is_no_room() {
        let bounds = Bounds {
            soft: 2 * REMEMBERED,
            hard: usize::MAX,
        };
        let account = Account::new(Budget::new(usize::MAX), bounds);
        let mut authors = Authors::on(&account);
        authors.insert(&key("a"), Tag::of_manager("1")).unwrap();
        assert!(authors.insert(&key("b"), Tag::of_manager("2")).is_err());
        assert_eq!(authors.managers.len(), 1, "nothing is kept of it");
    }
}
