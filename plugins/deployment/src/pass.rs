//! One pass over a Deployment: what it reads, and what it writes.

mod steps;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use windlass_kit::claim::{Claim, claim};
use windlass_kit::template;
use windlass_sdk::{
    ChildrenQuery, Cluster, Code, Consistency, Error, Event, Failure, LabelSelector, ObjectRef,
    Patch,
};

use crate::conditions;
use crate::deployment::Deployment;
use crate::revision;
use crate::rollout;
use crate::set::{DESIRED, REVISION, ReplicaSet, oldest_first};
use crate::status::Status;

/// How many names are tried for a new set in one pass.
const TRIES: usize = 5;

/// Why a pass ends early.
pub(crate) enum Halt {
    /// Something has another version by now: read it again and decide again.
    Stale,
    /// It has failed.
    Failed(Failure),
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        match error.code {
            Code::Conflict => Self::Stale,
            _ => Self::Failed(error.into()),
        }
    }
}

impl From<serde_json::Error> for Halt {
    fn from(error: serde_json::Error) -> Self {
        Self::Failed(error.into())
    }
}

/// A pass, with what it knows so far.
pub(crate) struct Pass<'a> {
    deployment: &'a Deployment,
    cluster: &'a dyn Cluster,
    /// The time of the call.
    pub(crate) now: Timestamp,
    counts_terminating: bool,
    /// The set with the template of the Deployment.
    new: Option<ReplicaSet>,
    /// All other sets.
    old: Vec<ReplicaSet>,
    /// The status as it will be.
    pub(crate) status: Status,
    /// The number of the newest version, if the Deployment lacks it.
    revision: Option<String>,
}

impl<'a> Pass<'a> {
    /// A pass that knows nothing yet.
    pub(crate) fn new(
        deployment: &'a Deployment,
        cluster: &'a dyn Cluster,
        now: Timestamp,
        counts_terminating: bool,
    ) -> Self {
        Self {
            deployment,
            cluster,
            now,
            counts_terminating,
            new: None,
            old: Vec::new(),
            status: deployment.status.clone().unwrap_or_default(),
            revision: None,
        }
    }

    /// Takes the sets that belong to the Deployment: adopts and disowns as their labels say.
    pub(crate) fn claim(&mut self, selector: &LabelSelector) -> Result<(), Halt> {
        let query = self.children("apps/v1", "ReplicaSet").with_orphans();
        for set in self.cluster.list_children::<ReplicaSet>(&query)? {
            let (target, uid) = (set.reference(), &set.metadata.uid);
            let matches = selector.matches(&set.metadata.labels);
            match claim(&set.metadata, &self.deployment.metadata.uid, matches) {
                Claim::Keep => self.old.push(set),
                Claim::Disown => self.cluster.disown(&target, uid)?,
                Claim::Adopt => match self.cluster.adopt(&target, uid) {
                    Ok(adopted) => self.old.push(typed(adopted)?),
                    // Somebody else has it, or it is gone.
                    Err(error) if matches!(error.code, Code::Conflict | Code::NotFound) => {}
                    Err(error) => return Err(error.into()),
                },
                Claim::Leave => {}
            }
        }
        self.old.sort_by_key(oldest_first);
        Ok(())
    }

    /// Tells the set of the newest version from the old ones: the oldest with the template of the Deployment.
    pub(crate) fn split(&mut self) {
        if self.new.is_some() {
            return;
        }
        let template = &self.deployment.spec.template;
        let mut sets = self.old.iter();
        let found = sets.position(|set| template::is_same(&set.spec.template, template));
        self.new = found.map(|at| self.old.remove(at));
    }

    /// Whether the Deployment has another size than at the time when its sets were scaled. One that recreates its pods resizes
    /// the set of its template only: all others get no pods anyway.
    pub(crate) fn is_resized(&self) -> bool {
        let spec = &self.deployment.spec;
        let mut active = self.old.iter().filter(|set| set.replicas() > 0);
        let is_resized = |set: &ReplicaSet| {
            let desired = set.number(DESIRED);
            desired.is_some_and(|desired| desired != spec.replicas())
        };
        if spec.recreates() {
            let only = active.next().filter(|_| active.next().is_none());
            let is_new = |set: &&ReplicaSet| template::is_same(&set.spec.template, &spec.template);
            return only.filter(is_new).is_some_and(is_resized);
        }
        active.any(is_resized)
    }

    /// Finds the set of the newest version, and brings its annotations up to date.
    pub(crate) fn find_new_set(&mut self) -> Result<(), Halt> {
        self.split();
        let Some(set) = self.new.take() else {
            return Ok(());
        };
        let next = revision::next(&self.old);
        let lacks = revision::annotations(self.deployment, &set, next);
        let min_ready = self.deployment.spec.min_ready_seconds;
        let set = if lacks.is_empty() && set.spec.min_ready_seconds == min_ready {
            set
        } else {
            let patch = json!({
                "metadata": { "annotations": lacks, "resourceVersion": set.metadata.resource_version },
                "spec": { "minReadySeconds": min_ready },
            });
            typed(self.cluster.patch(&set.reference(), &Patch::Merge(patch))?)?
        };
        self.take_new_set(set, false);
        Ok(())
    }

    /// As [`Pass::find_new_set`], and makes the set if there is none.
    fn get_new_set(&mut self) -> Result<(), Halt> {
        if self.new.is_none() {
            self.find_new_set()?;
        }
        if self.new.is_some() {
            return Ok(());
        }
        let next = revision::next(&self.old);
        for _ in 0..TRIES {
            let collisions = self.status.collision_count.unwrap_or(0);
            let hash = template::hash(&self.deployment.spec.template, collisions);
            let spec = &self.deployment.spec;
            let replicas = rollout::of_new_set(spec, &ReplicaSet::none(), &self.old);
            let set = revision::new_set(self.deployment, &hash, next, replicas);
            let name = revision::set_name(self.deployment.name(), &hash);
            let refused = match self.cluster.create(set) {
                Ok(made) => {
                    self.tell_size(&name, 0, replicas);
                    self.take_new_set(typed(made)?, true);
                    return Ok(());
                }
                Err(error) => error,
            };
            match refused.code {
                Code::Conflict => {
                    // What has the name, if anything has: the store may not know it yet.
                    let namespace = self.deployment.metadata.namespace.as_deref();
                    let namespace = namespace.unwrap_or_default();
                    let target = ObjectRef::new("apps/v1", "ReplicaSet", namespace, name);
                    let found = self.cluster.get_json(&target, None, Consistency::Latest)?;
                    let found: ReplicaSet = typed(found)?;
                    if self.has_made(&found) {
                        self.take_new_set(found, false);
                        return Ok(());
                    }
                    self.status.collision_count = Some(collisions + 1);
                }
                // The Deployment or its namespace is going away.
                Code::Gone => return Ok(()),
                // Perhaps it is there: the next pass sees that.
                Code::Unavailable => return Err(refused.into()),
                _ => return self.refused(&name, &refused),
            }
        }
        self.write_status()?;
        Err(Halt::Failed(Failure::transient(
            "each name for a new ReplicaSet is taken",
        )))
    }

    /// Whether a set is the one that a pass before has made for this template.
    fn has_made(&self, set: &ReplicaSet) -> bool {
        let controller = set.metadata.controller();
        controller.is_some_and(|owner| owner.uid == self.deployment.metadata.uid)
            && template::is_same(&set.spec.template, &self.deployment.spec.template)
    }

    /// Notes the set of the newest version.
    fn take_new_set(&mut self, set: ReplicaSet, is_made: bool) {
        let conditions = &mut self.status.conditions;
        conditions::note_new_set(self.deployment, conditions, &set, is_made, self.now);
        let revision = set.metadata.annotations.get(REVISION);
        let known = self.deployment.metadata.annotations.get(REVISION);
        self.revision = revision.filter(|_| revision != known).cloned();
        self.new = Some(set);
    }

    /// Says that no set could be made.
    fn refused(&mut self, name: &str, error: &Error) -> Result<(), Halt> {
        let said = match error.status.as_deref() {
            Some(status) if !status.message.is_empty() => status.message.clone(),
            _ => error.to_string(),
        };
        let message = format!("Failed to create new replica set {name:?}: {said}");
        let reason = "ReplicaSetCreateError";
        self.cluster
            .event(Event::warning(reason, "CreateReplicaSet", &*message));
        if self.deployment.spec.deadline().is_some() {
            conditions::note_refusal(&mut self.status.conditions, reason, &message, self.now);
        }
        self.write_status()?;
        Err(Halt::Failed(Failure::transient(message)))
    }

    /// The status as far as the sets say it.
    fn observed(&self) -> Status {
        let (new, old) = (self.new.as_ref(), &self.old);
        self.status
            .after(self.deployment, new, old, self.counts_terminating, self.now)
    }

    /// Writes the status, without a judgment of the rollout's progress.
    pub(crate) fn report_size(&mut self) -> Result<(), Halt> {
        self.status = self.observed();
        self.write_status()
    }

    /// Writes the status, with a judgment of the rollout's progress.
    fn report_progress(&mut self) -> Result<(), Halt> {
        let mut status = self.observed();
        let (before, new) = (&self.status, self.new.as_ref());
        let due = conditions::judge_progress(self.deployment, before, &mut status, new, self.now);
        conditions::take_failure(&mut status.conditions, new, &self.old, self.now);
        self.status = status;
        if let Some(due) = due {
            self.cluster.wake_at(&due.to_string());
        }
        self.write_status()
    }

    /// Writes the status and the number of the newest version, if they have changed.
    pub(crate) fn write_status(&self) -> Result<(), Halt> {
        let mut patch = Map::new();
        if Some(&self.status) != self.deployment.status.as_ref() {
            patch.insert("status".to_owned(), json!(self.status));
        }
        if let Some(revision) = &self.revision {
            let metadata = json!({ "annotations": { REVISION: revision } });
            patch.insert("metadata".to_owned(), metadata);
        }
        if !patch.is_empty() {
            let target = self.deployment.reference();
            self.cluster
                .patch_subresource(&target, "status", &Patch::Merge(patch.into()))?;
        }
        Ok(())
    }

    /// The children of this kind in the namespace of the Deployment.
    fn children(&self, api_version: &str, kind: &str) -> ChildrenQuery {
        let namespace = self.deployment.metadata.namespace.as_deref();
        ChildrenQuery::all(api_version, kind).in_namespace(namespace.unwrap_or_default())
    }
}

/// An answer of the API server with its type.
fn typed<T: DeserializeOwned>(value: Value) -> Result<T, Halt> {
    Ok(serde_json::from_value(value)?)
}
