//! Who depends on whom: the objects with owners, by the uid of each owner.

use std::collections::{BTreeMap, BTreeSet};

use crate::controllers::feed::{Owner, Thing};

/// The graph. Objects without owners are not in it, unless as somebody's owner.
#[derive(Debug, Default)]
pub(super) struct Graph {
    owners: BTreeMap<Thing, Vec<Owner>>,
    dependents: BTreeMap<String, BTreeSet<Thing>>,
}

/// How the owners of an object have changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changed {
    /// Whether there are owners that were not there before, or not like this.
    pub(super) gained: bool,
    /// Owners that need not wait for the object any more.
    pub(super) freed: Vec<Owner>,
    /// The uids of owners that nothing names any more.
    pub(super) deserted: Vec<String>,
}

impl Graph {
    /// Notes the owners that an object has now; none when it has gone.
    pub(super) fn set(&mut self, thing: &Thing, owners: &[Owner]) -> Changed {
        let before = self.owners.remove(thing).unwrap_or_default();
        for owner in &before {
            if let Some(dependents) = self.dependents.get_mut(&owner.uid) {
                dependents.remove(thing);
                if dependents.is_empty() {
                    self.dependents.remove(&owner.uid);
                }
            }
        }
        for owner in owners {
            let dependents = self.dependents.entry(owner.uid.clone()).or_default();
            dependents.insert(thing.clone());
        }
        if !owners.is_empty() {
            self.owners.insert(thing.clone(), owners.to_vec());
        }
        let waits = |owner: &Owner| {
            owners
                .iter()
                .any(|now| now.uid == owner.uid && now.blocks())
        };
        Changed {
            gained: owners.iter().any(|owner| !before.contains(owner)),
            freed: before
                .iter()
                .filter(|owner| owner.blocks() && !waits(owner))
                .cloned()
                .collect(),
            deserted: {
                let uids = before.into_iter().map(|owner| owner.uid);
                uids.filter(|uid| !self.has_dependents(uid)).collect()
            },
        }
    }

    /// The objects that name this uid as an owner.
    pub(super) fn dependents(&self, uid: &str) -> impl Iterator<Item = &Thing> {
        self.dependents.get(uid).into_iter().flatten()
    }

    /// Whether an object of this uid has to wait for a dependent when it is deleted in the foreground.
    pub(super) fn is_blocked(&self, uid: &str) -> bool {
        self.dependents(uid).any(|thing| {
            let owners = self.owners.get(thing).into_iter().flatten();
            owners
                .into_iter()
                .any(|owner| owner.uid == uid && owner.blocks())
        })
    }

    /// Whether anything names this uid as an owner.
    pub(super) fn has_dependents(&self, uid: &str) -> bool {
        self.dependents.contains_key(uid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{GroupResource, NamespacedName};

    fn thing(name: &str) -> Thing {
        Thing {
            place: GroupResource {
                group: String::new(),
                plural: "configmaps".to_owned(),
            },
            key: NamespacedName::new("a", name),
        }
    }

    fn owner(uid: &str, blocks: bool) -> Owner {
        Owner {
            uid: uid.to_owned(),
            block_owner_deletion: blocks.then_some(true),
            ..Owner::default()
        }
    }

    #[test]
    fn dependents_are_found_by_the_uid_of_each_owner() {
        let mut graph = Graph::default();
        let (a, b) = (thing("a"), thing("b"));
        assert!(graph.set(&a, &[owner("1", true), owner("2", false)]).gained);
        assert!(graph.set(&b, &[owner("1", false)]).gained);
        assert_eq!(graph.dependents("1").collect::<Vec<_>>(), [&a, &b]);
        assert_eq!(
            [graph.is_blocked("1"), graph.is_blocked("2")],
            [true, false]
        );
        assert_eq!(
            graph.set(&a, &[owner("1", false), owner("2", false)]),
            Changed {
                gained: true,
                freed: vec![owner("1", true)],
                deserted: vec![],
            }
        );
        assert_eq!(graph.set(&a, &[owner("2", false)]), Changed::default());
        assert_eq!(graph.set(&b, &[]).deserted, ["1"]);
        assert!(!graph.has_dependents("1"));
        assert_eq!(graph.dependents("2").collect::<Vec<_>>(), [&a]);
    }
}
