//! What is served because of CustomResourceDefinitions: brought up to date whenever one is written.
//!
//! - A write reads the definition that was written, and no other: the names of the others and what they
//!   serve are known.
//! - What a definition serves stays the same object until that definition changes.

mod open;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::crd::{self, names};
use crate::registry::{Kept, Origin, Registry, Resource, Served};
use crate::seams::Clock;
use crate::store::{Entry, GroupResource, NamespacedName};
use open::OpenDefinition;

/// Whether the objects of a resource are definitions.
pub fn is_crd(resource: &Resource) -> bool {
    resource.plural == "customresourcedefinitions" && resource.group == "apiextensions.k8s.io"
}

/// Where definitions lie.
pub fn place() -> GroupResource {
    GroupResource {
        group: "apiextensions.k8s.io".to_owned(),
        plural: "customresourcedefinitions".to_owned(),
    }
}

/// What is known of all definitions.
#[derive(Debug)]
pub struct Known {
    clock: Clock,
    by_name: BTreeMap<Box<str>, One>,
    work: Work,
}

/// What is known of one definition.
#[derive(Debug)]
struct One {
    /// The revision that was read.
    revision: u64,
    /// Its group, names and status, by which the names of others are judged.
    head: Value,
    /// What it serves.
    resources: Vec<Arc<Resource>>,
}

/// How much has been done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// How often a definition was parsed.
    pub parsed: u64,
    /// How often other kinds were served than before.
    pub served: u64,
}

impl Known {
    /// No definitions yet.
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            by_name: BTreeMap::new(),
            work: Work::default(),
        }
    }

    /// How much has been done so far.
    pub fn work(&self) -> Work {
        self.work
    }

    /// Accepts names, establishes what has them, and serves what is established.
    pub(crate) fn follow(&mut self, served: &Served) {
        let held = served.store().list(&place(), None).entries;
        let mut touched = self.forget(&held);
        for entry in &held {
            let known = self.by_name.get(&entry.key.name);
            if known.is_none_or(|known| known.revision != entry.revision) {
                touched.insert(self.settle(served, entry));
            }
        }
        for group in &touched {
            self.hand_out(served, group);
        }
        self.serve(served);
    }

    /// Forgets definitions that have gone, and answers their groups.
    fn forget(&mut self, held: &[Arc<Entry>]) -> BTreeSet<String> {
        if held.len() >= self.by_name.len() && held.iter().all(|entry| self.has(entry)) {
            return BTreeSet::new();
        }
        let names: BTreeSet<&str> = held.iter().map(|entry| &*entry.key.name).collect();
        let mut groups = BTreeSet::new();
        self.by_name.retain(|name, one| {
            let stays = names.contains(&**name);
            if !stays {
                groups.insert(group_of(&one.head).to_owned());
            }
            stays
        });
        groups
    }

    fn has(&self, entry: &Entry) -> bool {
        self.by_name.contains_key(&entry.key.name)
    }

    /// Gives names that have become free to the definitions of the group that wait for them.
    fn hand_out(&mut self, served: &Served, group: &str) {
        // Each round gives a name away, and no definition takes more than it asks for.
        for _ in 0..self.by_name.len() {
            let now = self.clock.wall();
            let waiting = self.waiting(group, now);
            if waiting.is_empty() {
                return;
            }
            for name in waiting {
                if let Some(entry) = served
                    .store()
                    .get(&place(), &NamespacedName::new("", &name))
                {
                    self.settle(served, &entry);
                }
            }
        }
    }

    /// The definitions of a group whose names would be judged otherwise now.
    fn waiting(&self, group: &str, now: Timestamp) -> Vec<Box<str>> {
        let all = self.by_name.iter();
        let of_group = all.filter(|(_, one)| group_of(&one.head) == group);
        of_group
            .filter(|(_, one)| names::accept(&one.head, self.heads(group), now).is_some())
            .map(|(name, _)| name.clone())
            .collect()
    }

    fn heads(&self, group: &str) -> impl Iterator<Item = &Value> {
        let heads = self.by_name.values().map(|one| &one.head);
        heads.filter(move |head| group_of(head) == group)
    }

    /// Brings the status of a definition up to date, and notes what it serves; answers its group.
    fn settle(&mut self, served: &Served, entry: &Arc<Entry>) -> String {
        self.work.parsed += 1;
        let mut open = OpenDefinition::of(entry);
        let group = group_of(open.head()).to_owned();
        self.note(&open);
        let now = self.clock.wall();
        // Each step is a write of its own, as on the real server.
        let accepted = names::accept(open.head(), self.heads(&group), now);
        let mut goes_on = open.write(served, accepted, now);
        for step in [names::approve, names::establish] {
            if goes_on {
                let new = step(open.head(), now);
                goes_on = open.write(served, new, now);
            }
        }
        self.note(&open);
        let name = open.entry().key.name.clone();
        let before = self.storage_of(&name);
        let json = open.entry().json.clone();
        let resources = crd::resources(&open.whole(), &json, before.as_ref());
        if let Some(one) = self.by_name.get_mut(&name) {
            one.resources = resources.into_iter().map(Arc::new).collect();
        }
        group
    }

    /// How the objects of a definition were kept until now.
    fn storage_of(&self, name: &str) -> Option<Arc<Kept>> {
        let first = self.by_name.get(name)?.resources.first()?;
        first.kept.clone()
    }

    fn note(&mut self, open: &OpenDefinition) {
        let (entry, head) = (open.entry(), open.short());
        match self.by_name.get_mut(&entry.key.name) {
            Some(one) => {
                one.revision = entry.revision;
                one.head = head;
            }
            None => {
                let one = One {
                    revision: entry.revision,
                    head,
                    resources: Vec::new(),
                };
                self.by_name.insert(entry.key.name.clone(), one);
            }
        }
    }

    fn serve(&mut self, served: &Served) {
        let before = served.registry();
        let all = before.all().iter();
        let built_in = all.filter(|resource| resource.origin == Origin::BuiltIn);
        let custom = self.by_name.values().flat_map(|one| &one.resources);
        let resources: Vec<Arc<Resource>> = built_in.chain(custom).cloned().collect();
        let mut pairs = before.all().iter().zip(&resources);
        let same = before.all().len() == resources.len()
            && pairs.all(|(before, now)| Arc::ptr_eq(before, now));
        if !same {
            self.work.served += 1;
            served.serve(Registry::new(resources));
        }
    }
}

fn group_of(head: &Value) -> &str {
    let group = head.pointer("/spec/group").and_then(Value::as_str);
    group.unwrap_or_default()
}
