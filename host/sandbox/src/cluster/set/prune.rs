//! What an earlier set of the same primary held and this one does not: it is deleted, or released if it was adopted.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::check::Patch;
use super::super::read::{form, uri};
use super::super::retry::Repeat;
use super::super::write::object_of;
use super::super::{Call, Target};
use super::{ObjectName, member, whole};
use crate::bindings::cluster::{DeleteOptions, Error, SetError};
use windlass_base::bugs::bug;
use windlass_kube::api::{Request, Resource};
use windlass_kube::events::{Event, Severity};
use windlass_kube::object::{ApplyScope, Object, manager_of};
use windlass_policy::grants::{Access, Scope};
use windlass_view::{Saw, SentWrite};

/// How often a child is looked at again that others change.
const RACES: u32 = 5;

impl Call {
    /// Deletes what is in the set no more; nothing as long as the host may have overlooked something.
    pub(super) async fn prune(
        &mut self,
        members: &BTreeSet<ObjectName>,
    ) -> Result<(), Vec<SetError>> {
        let Some(kinds) = self.prunable(members).await.map_err(whole)? else {
            return Ok(());
        };
        let mut errors = Vec::new();
        for (target, former) in self.former(&kinds, members) {
            if let Err(error) = self.prune_one(&target, former).await {
                errors.push(SetError { index: None, error });
            }
        }
        if errors.is_empty() {
            Ok(())
        } else {
            Err(errors)
        }
    }

    /// The kinds and places that are looked through. `None` if one is not yet seen: then the key runs again
    /// once it is. It also runs again when a kind is served that is not served now: its objects may be in the set.
    async fn prunable(
        &mut self,
        members: &BTreeSet<ObjectName>,
    ) -> Result<Option<Vec<(Resource, Option<String>)>>, Error> {
        let view = self.cluster.view.clone();
        // Before anything is looked at: what is seen from now on runs the key.
        view.run_when_watched(&self.primary.key);
        let (mut kinds, mut overlooked, mut unserved) = (Vec::new(), false, false);
        let mut named: BTreeSet<_> = members
            .iter()
            .map(|(group, plural, _)| (group, plural))
            .collect();
        for ((group, plural), watched) in view.watches() {
            named.remove(&(group, plural));
            let resource = match watched {
                Some(resource) => resource,
                None => {
                    let waits = self.waits();
                    let found = self.cluster.discovery.by_plural(group, plural).await;
                    drop(waits);
                    match found {
                        Ok(Some(resource)) => resource,
                        Ok(None) => {
                            unserved = true;
                            continue;
                        }
                        Err(error) => return Err(self.failed("look up a kind", &error)),
                    }
                }
            };
            if !view.is_served(&resource) {
                let missed =
                    view.misses_kind(&self.primary.key, &resource.api_version(), &resource.kind);
                missed.map_err(|exceeded| self.exceeded(exceeded))?;
                continue;
            }
            for place in self.places(&resource) {
                overlooked |= !view.holds_all(&resource, place.as_deref());
                kinds.push((resource.clone(), place));
            }
        }
        if bug!(ListsAreNotWaitedFor, overlooked, false) {
            return Ok(None);
        }
        if !unserved {
            view.forget_waiting(&self.primary.key);
        }
        for (group, plural) in named {
            self.say_kept(&format!("{plural} of group {group:?}"), "watch");
        }
        Ok(Some(kinds))
    }

    /// Where children of a kind can be that the plugin watches.
    fn places(&self, resource: &Resource) -> Vec<Option<String>> {
        let grants = &self.cluster.grants;
        let watch = |namespace: Option<&str>| {
            let access = Access {
                verb: "watch",
                resource,
                subresource: None,
                namespace,
                name: None,
            };
            grants.allow(&access, self.primary.key.namespace.as_deref())
        };
        match &self.primary.key.namespace {
            Some(home) if resource.namespaced && watch(Some(home)) => vec![Some(home.to_string())],
            Some(_) => Vec::new(),
            None => match grants.watch_scope(&resource.group, &resource.plural, None) {
                Scope::All => vec![None],
                Scope::Namespaces(names) => names.into_iter().map(Some).collect(),
            },
        }
    }

    fn former(
        &self,
        kinds: &[(Resource, Option<String>)],
        members: &BTreeSet<ObjectName>,
    ) -> Vec<(Target, Object)> {
        let view = &self.cluster.view;
        let mut former = Vec::new();
        for (resource, namespace) in kinds {
            // By their owner, which is indexed: a plugin has as many members as all its primaries together.
            let mut objects = view.owned_by(resource, namespace.as_deref(), &self.primary.uid);
            objects.retain(|object| self.is_former(object));
            let saw = Saw::List {
                kind: resource.kind.clone(),
                namespace: namespace.clone(),
                owner: Some(self.primary.uid.clone()),
                selector: member::selector(&self.cluster.plugin),
                count: objects.len(),
            };
            view.saw(&self.primary.key, saw);
            for object in objects {
                let target = Target {
                    resource: resource.clone(),
                    key: object.metadata.key.clone(),
                };
                if !object.metadata.deleting && !members.contains(&target.name()) {
                    former.push((target, object));
                }
            }
        }
        former
    }

    fn is_former(&self, object: &Object) -> bool {
        member::is_in_set_of(object, &self.primary, &self.cluster.plugin)
    }

    /// Deletes the very version that was found to be in the set no more, or releases it if it was adopted, and
    /// looks again if somebody changed it.
    async fn prune_one(&mut self, target: &Target, mut former: Object) -> Result<(), Error> {
        let verb = if member::is_adopted(&former.metadata) {
            "patch"
        } else {
            "delete"
        };
        if !self.may(verb, target) {
            self.say_kept(&target.resource.to_string(), verb);
            return Ok(());
        }
        if !self.cluster.writes.is_sent() {
            return self.capture_prune(target, &former).await;
        }
        let mut races = 0;
        loop {
            let pruned = if member::is_adopted(&former.metadata) {
                self.release_one(target, &former).await
            } else {
                self.delete_one(target, &former).await
            };
            match pruned {
                Ok(()) | Err(Error::NotFound) => return Ok(()),
                Err(Error::Conflict(_)) if races < RACES => races += 1,
                Err(error) => return Err(error),
            }
            let read = Request::get(uri(target, None)?);
            let now = match self.look_up("read a former child again", read).await {
                Ok(now) => Object::parse(now.get()),
                Err(Error::NotFound) => return Ok(()),
                Err(error) => return Err(error),
            };
            match now {
                Some(now) if self.is_former(&now) && now.metadata.uid == former.metadata.uid => {
                    former = now;
                }
                _ => return Ok(()),
            }
        }
    }

    /// Notes what is not sent.
    async fn capture_prune(&mut self, target: &Target, former: &Object) -> Result<(), Error> {
        if !member::is_adopted(&former.metadata) {
            return self.capture_delete(target).await;
        }
        let Value::Object(release) = member::release(former, &self.primary) else {
            return Ok(());
        };
        let patch = Patch::Merge(release);
        self.capture_patch(target, patch).await.map(drop)
    }

    async fn delete_one(&mut self, target: &Target, former: &Object) -> Result<(), Error> {
        let options = DeleteOptions {
            uid: Some(former.metadata.uid.to_string()),
            resource_version: Some(former.metadata.resource_version.to_string()),
            propagation: None,
            grace_period_seconds: None,
        };
        self.send_delete(target, options).await
    }

    /// Lets an adopted object go: it stays, without the set's label and owner.
    async fn release_one(&mut self, target: &Target, former: &Object) -> Result<(), Error> {
        let manager = manager_of(&self.cluster.plugin);
        let parameters = form().append_pair("fieldManager", &manager).finish();
        let uri = format!("{}?{parameters}", uri(target, None)?);
        let patch = member::release(former, &self.primary);
        let (resource, key) = (&target.resource, &target.key);
        let view = self.cluster.view.clone();
        let write = view.write(resource, key, &self.primary.key, ApplyScope::Rest);
        let request = Request::merge_patch(uri, &patch);
        let answer = self
            .send_write("release a former child", request, Repeat::Harmless)
            .await?;
        let sent = SentWrite {
            object: &patch,
            answer: answer.get(),
            manager: &manager,
        };
        write.answered(&object_of(&answer)?, &sent);
        Ok(())
    }

    /// Says on the primary that children stay that a set would have taken away.
    fn say_kept(&self, what: &str, verb: &str) {
        self.cluster.events.publish(Event {
            plugin: self.cluster.plugin.clone(),
            reporter: None,
            regarding: self.primary.about(),
            related: None,
            severity: Severity::Warning,
            reason: "ChildrenKept".into(),
            action: "ApplySet".into(),
            note: format!(
                "{what} that leave the set stay, since {verb} is not granted: add it to the plugin's grants"
            ),
        });
    }
}
