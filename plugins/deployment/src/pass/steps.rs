//! What a pass does to the sets: it scales them, and deletes old ones.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde_json::json;
use windlass_kit::pod::Pod;
use windlass_sdk::{Code, DeleteOptions, Event, Patch};

use super::{Halt, Pass, typed};
use crate::revision;
use crate::rollout;
use crate::set::{DESIRED, ReplicaSet, replicas, sizes};

impl Pass<'_> {
    /// One step of a rolling update.
    pub(crate) fn roll(&mut self) -> Result<(), Halt> {
        self.get_new_set()?;
        let spec = &self.deployment.spec;
        let Some(new) = &self.new else {
            return self.report_progress();
        };
        let size = rollout::of_new_set(spec, new, &self.old);
        if size == new.replicas() {
            let sizes = rollout::of_old_sets(spec, new, &self.old);
            if sizes.is_empty() {
                self.clean_up_when_complete()?;
            }
            self.scale_all(sizes, false)?;
        } else {
            self.scale_all(vec![(new.metadata.name.clone(), size)], false)?;
        }
        self.report_progress()
    }

    /// One step of a rollout that ends all old pods before it begins new ones.
    pub(crate) fn recreate(&mut self) -> Result<(), Halt> {
        self.find_new_set()?;
        if replicas(&self.old) > 0 {
            let active = self.old.iter().filter(|set| set.replicas() > 0);
            let sizes = active.map(|set| (set.metadata.name.clone(), 0)).collect();
            self.scale_all(sizes, false)?;
            return self.report_progress();
        }
        if self.old_pods_run()? {
            return self.report_progress();
        }
        self.get_new_set()?;
        if let Some(new) = &self.new {
            let wanted = self.deployment.spec.replicas();
            self.scale_all(vec![(new.metadata.name.clone(), wanted)], false)?;
        }
        self.clean_up_when_complete()?;
        self.report_progress()
    }

    /// Whether a pod of an old set has not ended.
    fn old_pods_run(&self) -> Result<bool, Halt> {
        for set in &self.old {
            let query = self.children("v1", "Pod").owned_by(&*set.metadata.uid);
            let pods: Vec<Pod> = self.cluster.list_children(&query)?;
            if pods.iter().any(|pod| !pod.is_terminal()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Gives the sets the sizes that follow from a new size of the Deployment.
    pub(crate) fn resize(&mut self) -> Result<(), Halt> {
        let spec = &self.deployment.spec;
        let wanted = spec.replicas();
        let all = || self.old.iter().chain(&self.new);
        let mut active = all().filter(|set| set.replicas() > 0);
        let named = |set: &ReplicaSet, size| vec![(set.metadata.name.clone(), size)];
        let has_size =
            |set: &ReplicaSet| set.replicas() == wanted && set.number(DESIRED) == Some(wanted);
        let sizes = match (active.next(), active.next()) {
            (None, _) => match self.new.as_ref().or(self.old.last()) {
                Some(newest) if !has_size(newest) => named(newest, wanted),
                _ => return Ok(()),
            },
            (Some(only), None) if has_size(only) => return Ok(()),
            (Some(only), None) => named(only, wanted),
            (Some(_), Some(_)) if self.new.as_ref().is_some_and(|new| self.is_settled(new)) => {
                let old = self.old.iter().filter(|set| set.replicas() > 0);
                old.flat_map(|set| named(set, 0)).collect()
            }
            (Some(_), Some(_)) if spec.recreates() => return Ok(()),
            (Some(_), Some(_)) => {
                let active: Vec<_> = all().filter(|set| set.replicas() > 0).cloned().collect();
                rollout::in_proportion(spec, self.status.replicas, &active)
            }
        };
        self.scale_all(sizes, true)
    }

    /// Whether the new set has all replicas, and all are available.
    fn is_settled(&self, new: &ReplicaSet) -> bool {
        let wanted = self.deployment.spec.replicas();
        new.replicas() == wanted
            && new.number(DESIRED) == Some(wanted)
            && new.status.available_replicas == wanted
    }

    /// Gives sets these sizes, and notes the size of the Deployment in those that get another one. With `notes_all`, it does so
    /// in the others too.
    fn scale_all(&mut self, all: rollout::Sizes, notes_all: bool) -> Result<(), Halt> {
        let spec = &self.deployment.spec;
        let noted = sizes(spec.replicas(), spec.most());
        for (name, size) in all {
            let mut sets = self.old.iter_mut().chain(&mut self.new);
            let Some(set) = sets.find(|set| set.metadata.name == name) else {
                continue;
            };
            let before = set.replicas();
            let mut said = noted.iter();
            let has = &set.metadata.annotations;
            let is_noted = said.all(|(name, value)| has.get(*name) == Some(value));
            if before == size && (is_noted || !notes_all) {
                continue;
            }
            // At the version that the decision was made from: a replica may have failed since.
            let version = &set.metadata.resource_version;
            let patch = json!({
                "metadata": { "resourceVersion": version, "annotations": noted },
                "spec": { "replicas": size },
            });
            let scaled = self.cluster.patch(&set.reference(), &Patch::Merge(patch))?;
            *set = typed(scaled)?;
            self.tell_size(&name, before, size);
        }
        Ok(())
    }

    /// Records an Event about a set that has another size.
    pub(super) fn tell_size(&self, name: &str, before: i64, size: i64) {
        let way = match size.cmp(&before) {
            Ordering::Equal => return,
            Ordering::Greater => "up",
            Ordering::Less => "down",
        };
        let note = format!("Scaled {way} replica set {name} from {before} to {size}");
        self.cluster
            .event(Event::normal("ScalingReplicaSet", "ScaleReplicaSet", note));
    }

    /// Deletes old sets beyond the limit, once the rollout is complete.
    fn clean_up_when_complete(&mut self) -> Result<(), Halt> {
        let status = self.observed();
        if status.is_complete(&self.deployment.spec, self.deployment.metadata.generation) {
            self.clean_up()?;
        }
        Ok(())
    }

    /// Deletes old sets beyond the limit. The status does not count them any more: nobody tells the Deployment when they
    /// have gone.
    pub(crate) fn clean_up(&mut self) -> Result<(), Halt> {
        let Some(limit) = self.deployment.spec.history() else {
            return Ok(());
        };
        let mut deleted = BTreeSet::new();
        for set in revision::surplus(&self.old, limit) {
            let options = DeleteOptions {
                uid: Some(set.metadata.uid.clone()),
                ..DeleteOptions::default()
            };
            match self.cluster.delete_with(&set.reference(), &options) {
                // It is gone, or another set has its name.
                Err(error) if matches!(error.code, Code::NotFound | Code::Conflict) => {}
                other => other?,
            }
            deleted.insert(set.metadata.uid.clone());
        }
        self.old.retain(|set| !deleted.contains(&set.metadata.uid));
        Ok(())
    }
}
