//! Garbage collection: dependents go with their owners, in the background, before them, or not at all.
//!
//! - Each object is judged by what the store holds at that moment; an event only says whom to look at.
//! - An owner is absent if there is no object of that kind, name and uid in the dependent's namespace.
//! - Dependents are found by their owner's uid; nothing is scanned.

mod elsewhere;
mod gone;
mod graph;
mod judge;
mod owners;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::client::{Agent, At, Client, Failed, resource_at};
use super::feed::{Meta, Owner, Seen, Thing};
use super::queue::Queue;
use crate::meta::put;
use crate::mutants::mutant;
use crate::registry::{Registry, Resource};
use crate::seams::Instant;
use crate::server::Server;
use crate::store::NamespacedName;
use elsewhere::{is_elsewhere, tell};
use gone::AbsentOwner;
use graph::Graph;
use judge::{Deletion, FOREGROUND, GarbageStep, ORPHAN, OwnDependents, Standing};
use owners::{disown, unblock};

const AGENT: Agent = Agent {
    program: "kube-controller-manager",
    user: "system:serviceaccount:kube-system:generic-garbage-collector",
};

/// The garbage collector.
#[derive(Debug, Default)]
pub(super) struct Garbage {
    graph: Graph,
    queue: Queue<Thing>,
    /// Owners that have gone and that something still names, by uid.
    gone: BTreeMap<String, AbsentOwner>,
    /// Objects whose owners are of a kind that is not served.
    kindless: BTreeSet<Thing>,
    /// Who has been told that an owner is in another namespace.
    told: BTreeSet<(Thing, String)>,
}

impl Garbage {
    /// Notes whom an event is about.
    pub(super) fn observe(&mut self, server: &Server, seen: &Seen) {
        if seen.thing.place.plural == "events" && seen.thing.place.group.is_empty() {
            return;
        }
        let (thing, meta) = (&seen.thing, &seen.meta);
        let owners = if seen.is_gone() {
            &[]
        } else {
            meta.owner_references.as_slice()
        };
        let changed = self.graph.set(thing, owners);
        for owner in &changed.freed {
            self.look_at_owner(server, thing, owner);
        }
        for uid in &changed.deserted {
            self.gone.remove(uid);
        }
        if seen.is_gone() {
            if self.graph.has_dependents(&meta.uid) {
                let gone = AbsentOwner::of(&server.registry(), seen);
                self.gone.insert(meta.uid.clone(), gone);
            }
            self.kindless.remove(thing);
            self.told.retain(|(told, _)| told != thing);
            self.look_at_dependents(&meta.uid);
            return;
        }
        let waits = |meta: &Meta| meta.ends_with(FOREGROUND) || meta.ends_with(ORPHAN);
        if waits(meta) && !waits(&seen.before) {
            self.look_at_dependents(&meta.uid);
        }
        if changed.gained || waits(meta) {
            self.queue.add(thing.clone());
        }
    }

    /// Other kinds are served than before: some owners can be judged now.
    pub(super) fn kinds_changed(&mut self) {
        for thing in std::mem::take(&mut self.kindless) {
            self.queue.add(thing);
        }
    }

    /// Works on one object; says whether there was one.
    pub(super) fn work(&mut self, server: &Server) -> bool {
        let now = server.seams().clock.instant();
        let Some(thing) = self.queue.take(now) else {
            return false;
        };
        let client = Client {
            server,
            agent: AGENT,
        };
        match self.visit(client, &thing) {
            Ok(()) | Err(Failed::Absent) => self.queue.succeeded(&thing),
            Err(Failed::Changed) => self.queue.add(thing),
            Err(Failed::Refused(_)) => self.queue.failed(thing, now),
        }
        true
    }

    /// When there is something to do again.
    pub(super) fn due(&self) -> Option<Instant> {
        self.queue.due()
    }

    fn look_at_dependents(&mut self, uid: &str) {
        for dependent in self.graph.dependents(uid) {
            self.queue.add(dependent.clone());
        }
    }

    fn look_at_owner(&mut self, server: &Server, dependent: &Thing, owner: &Owner) {
        let registry = server.registry();
        if let Some(resource) = registry.meant_by(&owner.api_version, &owner.kind) {
            self.queue.add(place_of(resource, dependent, owner));
        }
    }

    fn visit(&mut self, client: Client<'_>, thing: &Thing) -> Result<(), Failed> {
        let registry = client.server.registry();
        let resource = resource_at(&registry, &thing.place);
        let (Some(resource), Some(entry)) = (resource, client.stored(thing)) else {
            return Ok(());
        };
        let meta = Meta::of(&entry);
        let revision = entry.revision.to_string();
        let at = At::new(resource, &thing.key);
        match self.step(client, &registry, thing, &meta) {
            // What it waits for says so when it goes.
            GarbageStep::Leave | GarbageStep::Wait => Ok(()),
            GarbageStep::AwaitKind => {
                self.kindless.insert(thing.clone());
                Ok(())
            }
            GarbageStep::Disown(uids) => {
                let lost = |uid: &str| uids.iter().any(|lost| lost == uid);
                disown(client, thing, resource, lost)
            }
            GarbageStep::Delete(Deletion::Unblocked) => {
                unblock(client, thing, resource)?;
                delete(client, at, &meta, None, Deletion::Unblocked)
            }
            GarbageStep::Delete(how) => delete(client, at, &meta, Some(&revision), how),
            GarbageStep::Release => client.merge(at, &without(&meta, &revision, FOREGROUND)),
            GarbageStep::Orphan => {
                let owner = &meta.uid;
                mutant!(
                    OrphansKeepTheirOwner,
                    self.orphan(client, &registry, owner)?,
                    ()
                );
                client.merge(at, &without(&meta, &revision, ORPHAN))
            }
        }
    }

    fn step(
        &mut self,
        client: Client<'_>,
        registry: &Registry,
        thing: &Thing,
        meta: &Meta,
    ) -> GarbageStep {
        if meta.is_deleting() {
            return judge::ending(meta, self.graph.is_blocked(&meta.uid));
        }
        if meta.owner_references.is_empty() {
            return GarbageStep::Leave;
        }
        let standings = self.standings(client, registry, thing, meta);
        judge::owned(meta, &standings, self.dependents(client, &meta.uid))
    }

    /// Lets all dependents of an owner disown it.
    fn orphan(&self, client: Client<'_>, registry: &Registry, uid: &str) -> Result<(), Failed> {
        for dependent in self.graph.dependents(uid) {
            let Some(resource) = resource_at(registry, &dependent.place) else {
                continue;
            };
            match disown(client, dependent, resource, |held| held == uid) {
                Ok(()) | Err(Failed::Absent) => {}
                failed => return failed,
            }
        }
        Ok(())
    }

    fn dependents(&self, client: Client<'_>, uid: &str) -> OwnDependents {
        if !self.graph.has_dependents(uid) {
            return OwnDependents::None;
        }
        let waits = |thing: &Thing| {
            let held = client.stored(thing);
            held.is_some_and(|held| Meta::of(&held).ends_with(FOREGROUND))
        };
        if self.graph.dependents(uid).any(waits) {
            OwnDependents::Waiting
        } else {
            OwnDependents::Some
        }
    }

    fn standings(
        &mut self,
        client: Client<'_>,
        registry: &Registry,
        thing: &Thing,
        meta: &Meta,
    ) -> Vec<Standing> {
        let mut standings = Vec::new();
        for owner in &meta.owner_references {
            let standing = self.standing(client, registry, thing, owner);
            if matches!(standing, Standing::Absent | Standing::Misplaced)
                && !self.gone.contains_key(&owner.uid)
                && is_elsewhere(client, registry, thing, owner)
                && self.told.insert((thing.clone(), owner.uid.clone()))
            {
                tell(client, registry, thing, meta, owner);
            }
            standings.push(standing);
        }
        standings
    }

    fn standing(
        &self,
        client: Client<'_>,
        registry: &Registry,
        thing: &Thing,
        owner: &Owner,
    ) -> Standing {
        let gone = self.gone.get(&owner.uid);
        let Some(resource) = registry.meant_by(&owner.api_version, &owner.kind) else {
            let known = gone.is_some_and(|gone| gone.is(owner, &thing.key.namespace));
            return if known {
                Standing::Absent
            } else {
                Standing::Unknown
            };
        };
        if resource.namespaced && thing.key.namespace.is_empty() {
            return Standing::Misplaced;
        }
        if gone.is_some() {
            return Standing::Absent;
        }
        let held = client.stored(&place_of(resource, thing, owner));
        let held = held
            .map(|held| Meta::of(&held))
            .filter(|held| mutant!(OwnersAreKnownByName, held.uid == owner.uid, true));
        match held {
            None => Standing::Absent,
            Some(held) if held.ends_with(FOREGROUND) => Standing::Ending,
            Some(_) => Standing::Solid,
        }
    }
}

/// Deletes an object, if it still is what was judged.
fn delete(
    client: Client<'_>,
    at: At<'_>,
    meta: &Meta,
    revision: Option<&str>,
    how: Deletion,
) -> Result<(), Failed> {
    let mut preconditions = json!({ "uid": meta.uid });
    if let Some(revision) = revision {
        put(&mut preconditions, "resourceVersion", revision);
    }
    let policy = match how {
        Deletion::Background => "Background",
        Deletion::Foreground | Deletion::Unblocked => "Foreground",
        Deletion::Orphan => "Orphan",
    };
    let options = json!({ "preconditions": preconditions, "propagationPolicy": policy });
    client.delete(at, &options)
}

/// Where an owner would be.
fn place_of(resource: &Resource, dependent: &Thing, owner: &Owner) -> Thing {
    let namespace = if resource.namespaced {
        &*dependent.key.namespace
    } else {
        ""
    };
    Thing {
        place: resource.place(),
        key: NamespacedName::new(namespace, &owner.name),
    }
}

/// The patch that takes a finalizer away.
fn without(meta: &Meta, revision: &str, finalizer: &str) -> Value {
    let rest: Vec<&String> = meta
        .finalizers
        .iter()
        .filter(|held| *held != finalizer)
        .collect();
    let rest = if rest.is_empty() {
        Value::Null
    } else {
        json!(rest)
    };
    json!({ "metadata": { "resourceVersion": revision, "finalizers": rest } })
}
